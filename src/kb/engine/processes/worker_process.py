"""The worker as a process of its own, and the engine's care for it.

Engine and worker share the data directory and one pipe, the worker's standard input. The first line tells the
worker what it works on; each further byte means "there may be work"; the end of the pipe means "stop". The pipe
ends when the engine stops it, and just so when the engine is killed: a worker never outlives its engine.
"""

import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO

from kb.engine.ingestion.worker import Worker
from kb.engine.wiring import EngineOptions, open_parts

log = logging.getLogger(__name__)

# A retry's delay and a dead worker's lease end without anybody sending a byte.
LOOK_EVERY_SECONDS = 0.5
RESTART_AFTER_SECONDS = 0.5
# Longer than any one step of a job; after that it is killed, and its job is taken up again.
STOP_WITHIN_SECONDS = 10.0
# Searches come first when there are not enough cores for both.
NICENESS = 5


def run_worker(options: EngineOptions, stopping: threading.Event, woken: threading.Event) -> None:
    """Work until `stopping` is set; `woken` says that there may be work."""

    def wait() -> None:
        woken.wait(LOOK_EVERY_SECONDS)
        woken.clear()

    with open_parts(options) as parts:
        Worker(parts.pipeline).work_until(stopping, wait)


class WorkerProcess:
    """Starts the worker, wakes it, and starts another when it dies."""

    def __init__(self, options: EngineOptions) -> None:
        self._options = options
        self._stopping = threading.Event()
        self._process = self._start()
        self._watch = threading.Thread(target=self._keep_alive, name="worker-watch", daemon=True)
        self._watch.start()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def wake(self) -> None:
        try:
            _pipe_to(self._process).write(b".")
        except (BrokenPipeError, ValueError):
            log.debug("The worker is not there to be woken; it will look by itself when it is back.")

    def stop(self) -> None:
        self._stopping.set()
        self._watch.join()
        _pipe_to(self._process).close()
        try:
            self._process.wait(STOP_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("The worker does not stop; killing it. Its job will be taken up at the next start.")
            self._process.kill()
            self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: a file called email.py in the current folder must not become a part of the worker.
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "kb.engine.processes.worker_process"],
            stdin=subprocess.PIPE,
            bufsize=0,
        )
        # A full pipe holds wake-ups enough; nobody must wait to add one.
        os.set_blocking(_pipe_to(process).fileno(), False)
        _pipe_to(process).write(json.dumps(asdict(self._options), default=str).encode() + b"\n")
        return process

    def _keep_alive(self) -> None:
        while not self._stopping.wait(RESTART_AFTER_SECONDS):
            if self.is_alive:
                continue
            log.warning("The worker ended with %s; starting another.", self._process.returncode)
            try:
                _pipe_to(self._process).close()
                self._process = self._start()
            except OSError:
                log.exception("No worker could be started; trying again.")


def _pipe_to(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None  # noqa: S101 - it was started with a pipe
    return process.stdin


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s worker  %(levelname)s %(message)s")
    # Ctrl-C goes to every process of the terminal; the engine decides when its worker stops.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    told = json.loads(_read_line(sys.stdin.fileno()))
    options = EngineOptions(
        data_dir=Path(told["data_dir"]),
        model_folder=Path(told["model_folder"]),
        graph_dir=Path(told["graph_dir"]),
        max_file_bytes=told["max_file_bytes"],
        threads=told["threads"],
    )
    stopping, woken = threading.Event(), threading.Event()
    threading.Thread(target=_listen_to_engine, args=(stopping, woken), name="pipe", daemon=True).start()
    run_worker(options, stopping, woken)


def _listen_to_engine(stopping: threading.Event, woken: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):
        woken.set()
    stopping.set()
    woken.set()
    # The job under way may be finished, but a worker without an engine does not stay for it.
    time.sleep(STOP_WITHIN_SECONDS)
    os._exit(1)


def _read_line(descriptor: int) -> bytes:
    """Byte by byte: a buffer would swallow the wake-ups behind the line."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(descriptor, 1)
        if not byte:
            sys.exit(0)
        line += byte
    return line


if __name__ == "__main__":
    main()
