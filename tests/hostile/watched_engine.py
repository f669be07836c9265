"""An engine that has a home of its own, so that what it leaves behind can be seen; and what is asked of it."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from tests.engine_program import EngineProgram
from tests.hostile.hostile_file import READ
from tests.hostile.markup import FOREIGN_FILE
from tests.hostile.watching import calls_of_readers, find_changes
from tests.waiting import wait_for_job

KNOWN_WORD = "zymurgy"
OWN_PRIORITY = "/proc/self/autogroup"
JOB_WITHIN_SECONDS = 120


@contextlib.contextmanager
def open_engine(folder: Path, cache_dir: Path) -> Iterator[EngineProgram]:
    """With a home, a folder for temporary files, and one for files that agents may have read, all within `folder`."""
    homes = {"HOME": folder / "home", "TMPDIR": folder / "temporary", "KB_MCP_FILE_ROOTS": folder / "files"}
    for home in homes.values():
        home.mkdir()
    settings = {name: str(home) for name, home in homes.items()} | {"XDG_CACHE_HOME": str(cache_dir.parent)}
    with EngineProgram(folder, settings).running() as program:
        yield program


def submit(http: httpx.Client, filename: str, content: bytes) -> dict[str, Any]:
    """The job; or, of a file that is refused at once, one that failed with the code."""
    answer = http.post("/jobs", files={"file": (filename, content)})
    body: dict[str, Any] = answer.json()
    if answer.status_code == httpx.codes.ACCEPTED:
        return body
    assert answer.status_code in (415, 422), answer.text
    return {"status": "failed", "error": {"code": body["code"], "message": body["detail"]}}


def wait_until_finished(http: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    """The job as it ended; one that was refused at once has no id, and stays as it is."""
    return job if "id" not in job else wait_for_job(http, job["id"], within_seconds=JOB_WITHIN_SECONDS)


def code_of(job: dict[str, Any]) -> str:
    return READ if job["status"] == "completed" else str(job["error"]["code"])


def list_outside(engine: EngineProgram) -> set[Path]:
    """Whatever lies about the engine, less its data directory."""
    places = [engine.data_dir.parent / "home", engine.data_dir.parent / "temporary"]
    return {path for place in places for path in place.rglob("*")} | set(Path.cwd().iterdir())


def add_known_document(http: httpx.Client) -> None:
    job = submit(http, "known.txt", f"The word is {KNOWN_WORD}.".encode())
    assert code_of(wait_until_finished(http, job)) == READ


def assert_calls_are_harmless(log: str, data_dir: Path) -> None:
    of_readers = calls_of_readers(log)
    assert "openat(" in of_readers
    # By which those that read pictures come last.
    assert find_changes(of_readers) <= {OWN_PRIORITY}
    assert [
        path for path in find_changes(log) - {os.devnull, OWN_PRIORITY} if not Path(path).is_relative_to(data_dir)
    ] == []
    assert "AF_INET" not in log
    assert FOREIGN_FILE not in log
