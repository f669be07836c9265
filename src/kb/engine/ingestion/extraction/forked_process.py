"""Processes that were forked off another one (`fork_server.py`), as the one sees them that asked for them."""

import atexit
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from io import FileIO
from typing import Any

from kb.engine.errors import Unavailable
from kb.engine.ingestion.extraction.fork_server import IS_FORKED, IS_NOT_FORKED

# Nothing of the environment or the current folder matters to it: -I, -S. It imports what its parent imports.
_COMMAND = (sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c")
_PROGRAM = """
import sys
sys.path[:] = sys.argv[1:]
from kb.engine.ingestion.extraction.fork_server import main
main()
"""
# Libraries that compute start a thread a core, and hold memory for each, even if they are to use one.
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ORT_DISABLE_TELEMETRY": "1"}
_NO_ROOM = "The machine has no room for a process that reads the file; trying again."
_STATUS_BYTES = 16
# To start it takes a tenth of a second, and to fork a hundredth; but the machine may be busy.
_FORK_WITHIN_SECONDS = 30.0
_DIE_WITHIN_SECONDS = 5.0


class _IsGone(Unavailable):
    """The process that would fork one off has died, or hangs."""


class Forked:
    """A process that can be told something, heard and killed. It dies with this one."""

    def __init__(self, told: FileIO, tells: FileIO, line: socket.socket) -> None:
        self._told = told
        self.tells = tells
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


class _ForkServer:
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
                return self._ask(request)
            except _IsGone:
                # Somebody has killed it since it was last asked.
                self._end()
                return self._ask(request)

    def _ask(self, request: bytes) -> Forked:
        try:
            return _ask(self._line or self._start(), request)
        except OSError as error:
            raise Unavailable(_NO_ROOM) from error

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
        line, its_end = socket.socketpair()
        with its_end, contextlib.ExitStack() as undo:
            undo.callback(line.close)
            self._process = subprocess.Popen(  # noqa: S603 - a module of our own
                [*_COMMAND, _PROGRAM, *filter(None, sys.path)],
                stdin=its_end.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env=_ENVIRONMENT,
                start_new_session=True,
            )
            undo.pop_all()
        self._line = line
        return line


_FORK_SERVER = _ForkServer()
fork_off = _FORK_SERVER.fork_off
"""Have a process forked off which runs `main` of a module with the task. Raises `Unavailable`."""


def _ask(server: socket.socket, request: bytes) -> Forked:
    answer = b""
    with contextlib.ExitStack() as ours:
        with contextlib.ExitStack() as its_ends:
            hears, told = _open_pipe()
            its_ends.enter_context(hears), ours.enter_context(told)
            tells, says = _open_pipe()
            its_ends.enter_context(says), ours.enter_context(tells)
            line, its_line = socket.socketpair()
            its_ends.enter_context(its_line), ours.enter_context(line)
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                socket.send_fds(server, [request], [hears.fileno(), says.fileno(), its_line.fileno()])
        line.settimeout(_FORK_WITHIN_SECONDS)
        with contextlib.suppress(TimeoutError):
            answer = line.recv(len(IS_FORKED))
        if answer == IS_FORKED:
            ours.pop_all()
            return Forked(told, tells, line)
    if answer == IS_NOT_FORKED:
        raise Unavailable(_NO_ROOM)
    raise _IsGone("No process can be started to read the file; trying again.")


def _open_pipe() -> tuple[FileIO, FileIO]:
    """The end to read from, and the one to write to."""
    read_from, written_to = os.pipe()
    return FileIO(read_from, "r"), FileIO(written_to, "w")
