"""Processes that were forked off another one (`forker.py`), as the one sees them that asked for them."""

import atexit
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from typing import Any

from kb.engine.errors import Unavailable
from kb.engine.ingestion.extraction.forker import IS_FORKED, IS_NOT_FORKED

# Nothing of the environment or the current folder matters to it: -I, -S. It imports what its parent imports.
_COMMAND = (sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c")
_PROGRAM = """
import sys
sys.path[:] = sys.argv[1:]
from kb.engine.ingestion.extraction.forker import main
main()
"""
# Libraries that compute start a thread a core, and hold memory for each, even if they are to use one.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"}
_STATUS_BYTES = 16
# To start it takes a tenth of a second, and to fork a hundredth; but the machine may be busy.
_FORK_WITHIN_SECONDS = 30.0
_DIE_WITHIN_SECONDS = 5.0


class _IsGone(Unavailable):
    """The process that would fork one off has died, or hangs."""


class Forked:
    """A process that can be told something, heard and killed. It dies with this one."""

    def __init__(self, told: int, tells: int, line: socket.socket) -> None:
        self._told = open(told, "wb", buffering=0)  # noqa: SIM115 - closed when it is killed
        self.tells = open(tells, "rb", buffering=0)  # noqa: SIM115
        self._line = line

    def tell(self, words: bytes) -> None:
        """Whether it still listens, its answer shows."""
        with contextlib.suppress(BrokenPipeError):
            self._told.write(words)

    def wait(self, *, within_seconds: float) -> int | None:
        """Its exit code, or less than 0 the signal that killed it; None if it has not ended. Raises `Unavailable` if
        nobody is left who knows."""
        self._line.settimeout(within_seconds)
        try:
            status = self._line.recv(_STATUS_BYTES)
        except TimeoutError:
            return None
        if not status:
            raise Unavailable("The process that reads files was ended from outside; trying again.")
        return int(status)

    def kill(self) -> None:
        """Once this returns, it is gone, unless the system itself hangs."""
        # It may have been killed before, or the one that it was forked off may be gone.
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_WR)
            self._line.settimeout(_DIE_WITHIN_SECONDS)
            while self._line.recv(_STATUS_BYTES):
                pass
        for opened in (self._line, self._told, self.tells):
            opened.close()


class _Forker:
    """Started with the first that is asked for, and anew if it was killed."""

    def __init__(self) -> None:
        self._asking = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        atexit.register(self.close)

    def fork_off(self, module: str, task: dict[str, Any]) -> Forked:
        request = json.dumps({"module": module, "task": task, "paths": [*filter(None, sys.path)]}).encode() + b"\n"
        with self._asking:
            try:
                return _ask(self._line or self._start(), request)
            except _IsGone:
                # Somebody has killed it since it was last asked.
                self._end()
                return _ask(self._start(), request)

    def close(self) -> None:
        with self._asking:
            self._end()

    def _end(self) -> None:
        if self._line is not None and self._process is not None:
            self._line.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_DIE_WITHIN_SECONDS)
            self._process.kill()
            self._process.wait()
        self._line = self._process = None

    def _start(self) -> socket.socket:
        self._line, its_end = socket.socketpair()
        with its_end:
            self._process = subprocess.Popen(  # noqa: S603 - a module of our own
                [*_COMMAND, _PROGRAM, *filter(None, sys.path)],
                stdin=its_end.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=_ENVIRONMENT,
                start_new_session=True,
            )
        return self._line


_FORKER = _Forker()
fork_off = _FORKER.fork_off
"""Have a process forked off which runs `main` of a module with the task. Raises `Unavailable`."""


def _ask(forker: socket.socket, request: bytes) -> Forked:
    hears, told = os.pipe()
    tells, says = os.pipe()
    line, its_end = socket.socketpair()
    forked = Forked(told, tells, line)
    with its_end, contextlib.suppress(BrokenPipeError, ConnectionResetError):
        socket.send_fds(forker, [request], [hears, says, its_end.fileno()])
    os.close(hears)
    os.close(says)
    line.settimeout(_FORK_WITHIN_SECONDS)
    answer = b""
    with contextlib.suppress(TimeoutError):
        answer = line.recv(len(IS_FORKED))
    if answer == IS_FORKED:
        return forked
    forked.kill()
    if answer == IS_NOT_FORKED:
        raise Unavailable("The machine has no room for a process that reads the file; trying again.")
    raise _IsGone("No process can be started to read the file; trying again.")
