"""The process that readers are forked off. `forked_process.py` starts it, and asks it for one reader after the other.

To start Python and import what every reader needs takes ten times as long as to fork a process that has done both. This
one has no threads, is given no file and imports no parser, so each reader begins as the first one did: with nothing of
any other document. It ends with whoever started it, and its readers with it.
"""

import contextlib
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
from importlib import import_module
from typing import Any, NoReturn

# Imported for those who are forked off: its imports are theirs too.
import kb.engine.ingestion.extraction.file_child  # noqa: F401
from kb.hidden_memory import hide_memory, show_memory

IS_FORKED = b"+"
IS_NOT_FORKED = b"-"
_RECEIVED_BYTES = 65_536
# Far more than there are readers at a time, and few enough to close them all.
_MAX_DESCRIPTORS = 256


def main() -> None:
    """Its standard input is where it is asked. Every reader has a line of its own, on which its end is told; whoever
    closes the other end of that wants it dead."""
    hide_memory()
    asked = socket.socket(fileno=0)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = _MAX_DESCRIPTORS if most == resource.RLIM_INFINITY else min(_MAX_DESCRIPTORS, most)
    resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, most))
    # What is there now will never be rubbish; looking through it would make a copy of it in each reader.
    gc.freeze()
    with contextlib.closing(_Readers()) as readers:
        while True:
            ready, _, _ = select.select([asked.fileno(), readers.wakes, *readers.watched], [], [])
            readers.kill(ready)
            readers.bury()
            if asked.fileno() in ready:
                request, descriptors = _receive(asked)
                if not request:
                    return
                readers.fork_off(json.loads(request), *descriptors)


def _receive(asked: socket.socket) -> tuple[bytes, list[int]]:
    """One request is not sent before the one before it is answered; so what comes is one, and maybe not all of it."""
    request, descriptors, _, _ = socket.recv_fds(asked, _RECEIVED_BYTES, 3)
    while request and not request.endswith(b"\n"):
        more = asked.recv(_RECEIVED_BYTES)
        request = request + more if more else b""
    return request, descriptors


class _Readers:
    def __init__(self) -> None:
        self._lines: dict[int, socket.socket] = {}
        self._killed: set[int] = set()
        self.wakes, wake = os.pipe()
        for end in (self.wakes, wake):
            os.set_blocking(end, False)
        # Python has no other way to be woken by the end of a child than to be told of the signal.
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake)

    @property
    def watched(self) -> list[int]:
        return [line.fileno() for pid, line in self._lines.items() if pid not in self._killed]

    def fork_off(self, request: dict[str, Any], told: int, tells: int, line: int) -> None:
        request["task"]["confinement"]["parent"] = os.getpid()
        connection = socket.socket(fileno=line)
        try:
            pid = os.fork()
        except OSError:
            with connection:
                connection.send(IS_NOT_FORKED)
        else:
            if pid == 0:
                _be_reader(request, told, tells)
            self._lines[pid] = connection
            connection.send(IS_FORKED)
        os.close(told)
        os.close(tells)

    def kill(self, ready: list[int]) -> None:
        for pid, line in self._lines.items():
            if line.fileno() in ready:
                # Not waited for yet, so its number is nobody else's.
                os.kill(pid, signal.SIGKILL)
                self._killed.add(pid)

    def bury(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self.wakes, _RECEIVED_BYTES)
        for pid in list(self._lines):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                with self._lines.pop(pid) as line, contextlib.suppress(OSError):
                    line.send(str(os.waitstatus_to_exitcode(status)).encode())
                self._killed.discard(pid)

    def close(self) -> None:
        for pid in self._lines:
            os.kill(pid, signal.SIGKILL)


def _be_reader(request: dict[str, Any], told: int, tells: int) -> NoReturn:
    exit_code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Only until it is confined: it must write to /proc/self to lower its priority.
        show_memory()
        os.setsid()
        os.dup2(told, 0)
        os.dup2(tells, 1)
        # Above all the lines of the other readers.
        os.closerange(3, _MAX_DESCRIPTORS)
        sys.path[:] = request["paths"]
        import_module(request["module"]).main(request["task"])
        exit_code = 0
    finally:
        # Whatever was raised, there is nobody who could read a trace of it.
        os._exit(exit_code)
