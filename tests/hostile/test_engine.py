"""An engine that is given hostile files goes on as if nothing had been."""

import signal
import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from tests.amounts import IS_FULL, Tell, amount
from tests.engine_program import EngineProgram
from tests.hostile.all_files import FROM_SAMPLES, GENERATED, spread
from tests.hostile.hostile_file import LIMIT, READ, TIMEOUT, HostileFile
from tests.hostile.watched_engine import (
    KNOWN_WORD,
    add_known_document,
    assert_calls_are_harmless,
    code_of,
    list_outside,
    open_engine,
    submit,
    wait_until_finished,
)
from tests.hostile.watching import find_readers, find_worker, megabytes, traced, watching
from tests.waiting import wait_until

# To put so many marks on one letter in order takes longer than a document may, on any machine.
ENDLESS = ("e" + "\u0301\u0323" * 1_000_000).encode()
# A longer text that is read would only have the embedding measured.
SHORT_BYTES = 20_000
MAY_GROW_MEGABYTES = 30
WORKER_MAY_GROW_MEGABYTES = 150
# The machine may be busy with other tests.
SEARCH_WITHIN_SECONDS = 5.0


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, model_folder: Path, cache_dir: Path) -> Iterator[EngineProgram]:
    with open_engine(tmp_path_factory.mktemp("hostile"), cache_dir) as program:
        yield program


@pytest.fixture
def http(engine: EngineProgram) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{engine.url}/api/v1", trust_env=False, timeout=60) as client:
        yield client


def choose_files() -> list[HostileFile]:
    """Those that end soon: bombs, locked and broken files, and short ones."""
    chosen: list[HostileFile] = []
    for list_files in (GENERATED | FROM_SAMPLES).values():
        files = [file for file in list_files() if not file.is_slow and _ends_soon(file)]
        chosen += spread(files, amount(selection=3, full=25))
    return chosen


def _ends_soon(file: HostileFile) -> bool:
    return READ not in file.ends or len(file.make()) <= SHORT_BYTES


@pytest.mark.usefixtures("strace")
def test_hostile_files_fail_one_by_one_and_nothing_else_does(
    engine: EngineProgram, http: httpx.Client, tmp_path: Path, tell: Tell
) -> None:
    """I5, E2: right codes, searches answered, memory flat, nothing written elsewhere, no network, no process left."""
    add_known_document(http)
    worker, log = find_worker(engine), tmp_path / "calls"
    files, outside = choose_files(), list_outside(engine)
    before, worker_before = megabytes(psutil.Process(engine.process.pid)), megabytes(worker)

    with watching(engine, KNOWN_WORD, pause_seconds=0.2) as watched, traced(worker, log):
        jobs = [submit(http, file.filename, file.make()) for file in files]
        ends = [code_of(wait_until_finished(http, job)) for job in jobs]

    assert [(file.filename, end) for file, end in zip(files, ends, strict=True) if end not in file.ends] == []
    assert watched.refused == []
    assert max(watched.waits) < SEARCH_WITHIN_SECONDS
    assert watched.most_megabytes < before + MAY_GROW_MEGABYTES
    # It takes in their text, and keeps the memory that embedding it took.
    assert megabytes(worker) < worker_before + WORKER_MAY_GROW_MEGABYTES
    wait_until(lambda: find_readers(worker) == [], "no reader is left")
    assert all(child.status() != psutil.STATUS_ZOMBIE for child in worker.children())
    assert list_outside(engine) == outside
    assert_calls_are_harmless(log.read_text(), engine.data_dir)
    assert http.get("/integrity").json()["problems"] == []
    tell(
        f"{len(files)} hostile files in an engine: {dict(Counter(ends))}; {len(watched.waits)} searches meanwhile "
        f"({statistics.median(watched.waits):.3f} s median, {max(watched.waits):.2f} s longest); "
        f"engine {before:.0f} MB before, {watched.most_megabytes:.0f} MB at most; "
        f"worker {worker_before:.0f} MB before, {megabytes(worker):.0f} MB after"
    )


# One that is stopped is given as long as an honest one.
@pytest.mark.parametrize(("name", "code"), [("SIGKILL", LIMIT)] + [("SIGSTOP", TIMEOUT)] * IS_FULL)
def test_a_reader_that_is_disturbed_fails_its_job_alone(
    engine: EngineProgram, http: httpx.Client, name: str, code: str
) -> None:
    """I5"""
    job = submit(http, "endless.txt", ENDLESS)
    worker = find_worker(engine)
    wait_until(lambda: find_readers(worker) != [], "it is being read")

    find_readers(worker)[0].send_signal(signal.Signals[name])

    assert code_of(wait_until_finished(http, job)) == code
    wait_until(lambda: find_readers(worker) == [], "no reader is left")
    add_known_document(http)
    assert find_worker(engine) == worker


def test_a_reader_dies_with_the_worker_that_started_it(engine: EngineProgram, http: httpx.Client) -> None:
    """I5, E24"""
    job = submit(http, "endless.txt", ENDLESS)
    worker = find_worker(engine)
    wait_until(lambda: find_readers(worker) != [], "it is being read")
    (reader,) = find_readers(worker)
    # By then it has long been confined.
    wait_until(lambda: reader.cpu_times().user > 1, "the reader is at work")

    worker.kill()

    wait_until(lambda: is_gone(reader), "the reader is gone")
    http.post(f"/jobs/{job['id']}/cancel")


def is_gone(process: psutil.Process) -> bool:
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.mark.parametrize("filename", ["a" * 4_000 + ".txt", "ä" * 2_000 + ".txt", "../" * 1_000 + "up.txt"])
def test_a_name_cannot_do_what_its_content_cannot(engine: EngineProgram, http: httpx.Client, filename: str) -> None:
    """I5, E4"""
    outside = list_outside(engine)

    job = wait_until_finished(http, submit(http, filename, b"word"))

    assert code_of(job) in {READ, "invalid_request", "unsupported_format"}
    assert list_outside(engine) == outside
