"""Thousands of files that are almost right, by every way into a running engine. None does more than fail."""

import contextlib
import os
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import httpx
import psutil
import pytest
from tests.amounts import IS_FULL, Tell, amount
from tests.consistency import assert_base_is_consistent, assert_originals_are_those_in_use
from tests.engine_program import EngineProgram
from tests.hostile.fuzz_corpus import fuzzed_file, has_pictures
from tests.hostile.fuzz_routes import REFUSED, Routes, Sent
from tests.hostile.hostile_file import CODES, READ
from tests.hostile.watched_engine import (
    KNOWN_WORD,
    add_known_document,
    assert_calls_are_harmless,
    code_of,
    list_outside,
    open_engine,
)
from tests.hostile.watching import Watched, find_readers, find_worker, traced, watching, watching_processes
from tests.mcp_clients import RawClient
from tests.waiting import wait_until

NUMBERS = [number for number in range(amount(selection=42, full=5_000)) if IS_FULL or not has_pictures(number)]
BATCH_FILES = amount(selection=20, full=50)
# Whoever is traced takes twice as long.
TRACED_EVERY = 10
BATCH_WITHIN_SECONDS = 1_200
# On a machine that does nothing else.
HANG_SECONDS = 60
SEARCH_WITHIN_SECONDS = 10.0
# Whatever a request is refused for before it becomes a job.
REFUSED_FOR = CODES | {"invalid_request", "invalid_parameter", "file_too_large", "payload_too_large", REFUSED}
MOST_MEGABYTES = {"engine": 600, "worker": 900, "reader": 1536, "reader of pictures": 2560}
A_FAILURE = re.compile(r"^Traceback|(?:ERROR|CRITICAL|WARNING) |failed unexpectedly", re.MULTILINE)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, model_folder: Path, cache_dir: Path) -> Iterator[EngineProgram]:
    with open_engine(tmp_path_factory.mktemp("fuzz"), cache_dir) as program:
        yield program


@pytest.fixture(scope="module")
def http(engine: EngineProgram) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{engine.url}/api/v1", trust_env=False, timeout=300) as client:
        yield client


@pytest.mark.usefixtures("strace")
def test_files_that_are_almost_right_fail_one_by_one_and_nothing_else_does(
    engine: EngineProgram, http: httpx.Client, tmp_path: Path, tell: Tell
) -> None:
    """I5, E2: nothing crashes, hangs, grows, is left over or goes out; searches are answered."""
    add_known_document(http)
    outside, programs = list_outside(engine), _list_programs(engine)

    with watching(engine, KNOWN_WORD, pause_seconds=0.2) as watched, watching_processes(engine) as megabytes:
        ends = _send_all(engine, http, tmp_path)

    tell(_describe(ends, watched, megabytes))
    assert [_tell(end) for end in ends if not _is_told_well(end)] == []
    assert _list_programs(engine) == programs
    assert A_FAILURE.findall(engine.log.read_text()) == []
    assert watched.refused == []
    assert max(watched.waits) < SEARCH_WITHIN_SECONDS
    assert {kind: most for kind, most in megabytes.items() if most > MOST_MEGABYTES.get(kind, 300)} == {}
    assert list_outside(engine) == outside
    _assert_base_is_whole(engine, http)


def _list_programs(engine: EngineProgram) -> set[psutil.Process]:
    """The engine, its worker and the MCP server; once no reader is left."""
    worker = find_worker(engine)
    wait_until(lambda: find_readers(worker) == [], "no reader is left")
    root = psutil.Process(engine.process.pid)
    programs = {root, *root.children(recursive=True)}
    assert [one for one in programs if one.status() == psutil.STATUS_ZOMBIE] == []
    return programs


def _send_all(engine: EngineProgram, http: httpx.Client, folder: Path) -> list[Sent]:
    """The file `ends` in the folder tells of each how it ended. What is slow because the machine is busy is not held
    against it."""
    ends: list[Sent] = []
    slow: list[str] = []
    files = engine.data_dir.parent / "files"
    with RawClient(engine.mcp_url) as agent:
        agent.http.timeout = httpx.Timeout(300)
        routes = Routes(engine, files, http, agent)
        for first in range(0, len(NUMBERS), BATCH_FILES):
            is_traced = first // BATCH_FILES % TRACED_EVERY == 0
            with _traced(engine, folder / "calls") if is_traced else contextlib.nullcontext():
                sent = routes.send([fuzzed_file(number) for number in NUMBERS[first : first + BATCH_FILES]])
                ends += _wait_for_ends(http, sent)
            with (folder / "ends").open("a") as told:
                told.writelines(f"{_tell(end)}\n" for end in ends[first:])
            slow += [_tell(end) for end in ends[first:] if end.seconds > HANG_SECONDS * _crowding()]
            for file in files.iterdir():
                file.unlink()
    assert slow == []
    return ends


def _crowding() -> float:
    """How many processes there were for each core, if there were more than cores."""
    return max(1.0, max(os.getloadavg()) / (os.cpu_count() or 1))


@contextlib.contextmanager
def _traced(engine: EngineProgram, log: Path) -> Iterator[None]:
    with traced(find_worker(engine), log):
        yield
    assert_calls_are_harmless(log.read_text(), engine.data_dir)


def _wait_for_ends(http: httpx.Client, sent: Sequence[Sent]) -> list[Sent]:
    def is_idle() -> bool:
        return all(http.get("/jobs", params={"status": one}).json()["total"] == 0 for one in ("queued", "running"))

    wait_until(
        is_idle, f"the jobs of {sent[0].file.number} to {sent[-1].file.number}", within_seconds=BATCH_WITHIN_SECONDS
    )
    return [_look_up(http, one) for one in sent]


def _look_up(http: httpx.Client, sent: Sent) -> Sent:
    if sent.job is None:
        return sent
    job = http.get(f"/jobs/{sent.job}").raise_for_status().json()
    message = job["error"]["message"] if job["error"] else ""
    return replace(sent, code=code_of(job), message=message, seconds=job["elapsed_seconds"])


def _is_told_well(end: Sent) -> bool:
    """It was read; or it was not, for a reason that has a stable code, in sentences for a person."""
    if end.code == READ:
        return True
    if end.job is None:
        return end.code in REFUSED_FOR and end.message != ""
    return end.code in CODES and end.message.count(". ") >= 1 and end.message.endswith(".")


def _tell(end: Sent) -> str:
    return f"{end.file.filename} by {end.route}: {end.code} after {end.seconds:.1f} s: {end.message}"


def _assert_base_is_whole(engine: EngineProgram, http: httpx.Client) -> None:
    assert http.get("/integrity").json()["problems"] == []
    engine.stop()
    assert_base_is_consistent(engine.data_dir / "kb.sqlite")
    assert_originals_are_those_in_use(engine.data_dir)


def _describe(ends: Sequence[Sent], watched: Watched, megabytes: dict[str, float]) -> str:
    routes = ", ".join(f"{count} by {route}" for route, count in Counter(end.route for end in ends).most_common())
    codes = ", ".join(f"{count} {code}" for code, count in Counter(end.code for end in ends).most_common())
    longest = max(ends, key=lambda end: end.seconds)
    memory = ", ".join(f"{kind} {most:.0f} MB" for kind, most in megabytes.items())
    return (
        f"{len(ends)} mutated files: {routes}. Ends: {codes}. Longest: {_tell(longest)}. At most: {memory}. "
        f"{len(watched.waits)} searches meanwhile ({statistics.median(watched.waits):.3f} s median, "
        f"{max(watched.waits):.2f} s longest)"
    )
