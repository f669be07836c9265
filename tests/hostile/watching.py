"""An engine watched while strangers' files are read: its searches, its memory, its processes, and what they ask of the
system."""

import contextlib
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psutil
from tests.engine_program import EngineProgram
from tests.needs import need_right
from tests.reading import FILE_READER, PICTURE_READER, find_readers_of
from tests.waiting import wait_until

WORKER = "kb.engine.processes.worker_process"
KINDS = {FILE_READER: "reader", PICTURE_READER: "reader of pictures"}
WAIT_SECONDS = 30
_TRACED = "%network,open,openat,creat,mkdir,mkdirat,link,linkat,symlink,symlinkat,rename,renameat,renameat2,execve"
_CHANGES = re.compile(r"O_WRONLY|O_RDWR|O_CREAT| (?:creat|mkdir|link|symlink|rename)(?:at|at2)?\(")
_QUOTED = re.compile(r'"([^"]*)"')
_MOST_MEMORY = re.compile(r"VmHWM:\s+(\d+) kB")
_MEGABYTE = 1024 * 1024


def find_worker(engine: EngineProgram) -> psutil.Process:
    return next(one for one in psutil.Process(engine.process.pid).children() if _runs(one, WORKER))


def find_readers(worker: psutil.Process) -> list[psutil.Process]:
    return find_readers_of(worker, FILE_READER)


def _runs(process: psutil.Process, module: str) -> bool:
    try:
        return any(module in argument for argument in process.cmdline())
    except psutil.NoSuchProcess:
        return False


def megabytes(process: psutil.Process) -> float:
    return float(process.memory_info().rss) / _MEGABYTE


@dataclass
class Watched:
    waits: list[float] = field(default_factory=list)
    """Of each search, in seconds."""
    refused: list[str] = field(default_factory=list)
    most_megabytes: float = 0
    """Of the engine's own process."""


@contextlib.contextmanager
def watching(engine: EngineProgram, word: str, *, pause_seconds: float = 0.05) -> Iterator[Watched]:
    """Search for `word`, which one document holds, again and again."""
    watched, done = Watched(), threading.Event()
    process = psutil.Process(engine.process.pid)

    def watch() -> None:
        with httpx.Client(base_url=engine.url, trust_env=False, timeout=WAIT_SECONDS) as http:
            while not done.is_set():
                asked_at = time.monotonic()
                answer = http.post("/api/v1/search", json={"query": word})
                watched.waits.append(time.monotonic() - asked_at)
                if not (answer.is_success and word in answer.text):
                    watched.refused.append(f"{answer.status_code} {answer.text}")
                watched.most_megabytes = max(watched.most_megabytes, megabytes(process))
                # The worker has the same two cores to read with.
                done.wait(pause_seconds)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield watched
    finally:
        done.set()
        thread.join()


@contextlib.contextmanager
def watching_processes(engine: EngineProgram) -> Iterator[dict[str, float]]:
    """The most megabytes that a process of each kind has taken, as far as it was seen."""
    most: dict[str, float] = {}
    done = threading.Event()

    def watch() -> None:
        root = psutil.Process(engine.process.pid)
        while not done.wait(0.2):
            for process in [root, *root.children(recursive=True)]:
                with contextlib.suppress(psutil.NoSuchProcess, ProcessLookupError, FileNotFoundError):
                    kind = "engine" if process == root else _kind_of(process)
                    most[kind] = max(most.get(kind, 0), _most_megabytes(process))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield most
    finally:
        done.set()
        thread.join()


def _kind_of(process: psutil.Process) -> str:
    return "worker" if _runs(process, WORKER) else KINDS.get(process.name(), "other")


def _most_megabytes(process: psutil.Process) -> float:
    """Since it began."""
    found = _MOST_MEMORY.search(Path(f"/proc/{process.pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0


@contextlib.contextmanager
def traced(process: psutil.Process, log: Path) -> Iterator[None]:
    """Write down what the process and its children ask of the system, as far as it concerns network and files."""
    need_right(os.geteuid() == 0, "only root can trace the processes of kb")
    at_work = [option for one in (process, *process.children(recursive=True)) for option in ("-p", str(one.pid))]
    with subprocess.Popen(
        ["strace", "-f", *at_work, "-o", str(log), "-e", f"trace={_TRACED}", "-s", "4096"],
        stderr=subprocess.DEVNULL,
    ) as strace:
        wait_until(lambda: _is_traced(process), "the worker is traced")
        try:
            yield
        finally:
            strace.terminate()


def _is_traced(process: psutil.Process) -> bool:
    statuses = Path(f"/proc/{process.pid}/task").glob("*/status")
    return all("TracerPid:\t0\n" not in status.read_text() for status in statuses)


def find_changes(log: str) -> set[str]:
    """Every path that was to be written, made or renamed. An unnamed file, as SQLite takes for a long statement, has
    none."""
    changed: set[str] = set()
    for line in log.splitlines():
        if _CHANGES.search(line) and "O_TMPFILE" not in line:
            changed.update(_QUOTED.findall(line))
    return changed


def calls_of_readers(log: str) -> str:
    """The lines of the processes that confined themselves."""
    lines = log.splitlines()
    readers = {line.partition(" ")[0] for line in lines if "/proc/self/autogroup" in line}
    return "\n".join(line for line in lines if line.partition(" ")[0] in readers)
