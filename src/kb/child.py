"""A program of kb as the child of another: told what to do, started again when it dies, never left alone.

Parent and child share one pipe, the child's standard input. The first line tells the child what it works on;
each further byte is a nudge; the end of the pipe means "stop". The pipe ends when the parent stops the child,
and just so when the parent is killed: a child never outlives its parent.
"""

import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import IO, Any

from kb.hidden_memory import hide_memory

log = logging.getLogger(__name__)

RESTART_AFTER_SECONDS = 0.5
# A child that dies at once would otherwise fill the log and the processor with its attempts.
LONGEST_PAUSE_SECONDS = 5.0
# Longer than any one step of the work; after that the child is killed.
STOP_WITHIN_SECONDS = 10.0


class Child:
    """Starts a module as a process, nudges it, and starts another when it dies."""

    def __init__(self, name: str, module: str, options: Mapping[str, Any], *, pass_fds: tuple[int, ...] = ()) -> None:
        self._name = name
        self._module = module
        self._options = json.dumps(options, default=str).encode() + b"\n"
        self._pass_fds = pass_fds
        self._stopping = threading.Event()
        self._process = self._start()
        self._watch = threading.Thread(target=self._keep_alive, name=f"{name}-watch", daemon=True)
        self._watch.start()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def nudge(self) -> None:
        try:
            _pipe_to(self._process).write(b".")
        except (BrokenPipeError, ValueError):
            log.debug("The %s is not there to be nudged; it will look by itself when it is back.", self._name)

    def stop(self) -> None:
        self._stopping.set()
        self._watch.join()
        _pipe_to(self._process).close()
        try:
            self._process.wait(STOP_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("The %s does not stop; killing it.", self._name)
            self._process.kill()
            self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        # -P: a file called email.py in the current folder must not become a part of the child.
        command = [sys.executable, "-P", "-m", self._module]
        # All that it has to know it is told. Settings hold keys, and others can see a process's environment.
        given = os.environ.items()  # noqa: TID251 - to pass it on, without what is kb's own
        environment = {name: value for name, value in given if not name.startswith("KB_")}
        process = subprocess.Popen(  # noqa: S603 - a module of our own
            command, stdin=subprocess.PIPE, bufsize=0, pass_fds=self._pass_fds, env=environment
        )
        # A full pipe holds nudges enough; nobody must wait to add one.
        os.set_blocking(_pipe_to(process).fileno(), False)
        _pipe_to(process).write(self._options)
        return process

    def _keep_alive(self) -> None:
        started_at, pause = time.monotonic(), 0.0
        while not self._stopping.wait(RESTART_AFTER_SECONDS):
            if self.is_alive or time.monotonic() < started_at + pause:
                continue
            lived_long = time.monotonic() > started_at + LONGEST_PAUSE_SECONDS
            pause = 0.0 if lived_long else min(pause + RESTART_AFTER_SECONDS, LONGEST_PAUSE_SECONDS)
            log.warning("The %s ended with %s; starting another.", self._name, self._process.returncode)
            started_at = time.monotonic()
            try:
                _pipe_to(self._process).close()
                self._process = self._start()
            except OSError:
                log.exception("No %s could be started; trying again.", self._name)


def read_options() -> dict[str, Any]:
    """In the child: returns the options from the parent, with the keys. Ends the program if the parent is gone."""
    hide_memory()
    line = b""
    # Byte by byte: a buffer would swallow the nudges behind the line.
    while not line.endswith(b"\n"):
        byte = os.read(sys.stdin.fileno(), 1)
        if not byte:
            sys.exit(0)
        line += byte
    options: dict[str, Any] = json.loads(line)
    return options


def listen_to_parent(on_nudge: Callable[[], None], on_end: Callable[[], None]) -> None:
    """In the child: have the parent heard by a thread of its own."""

    def listen() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            on_nudge()
        on_end()

    threading.Thread(target=listen, name="pipe", daemon=True).start()


def _pipe_to(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdin is not None  # noqa: S101 - it was started with a pipe
    return process.stdin
