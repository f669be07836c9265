"""A child that reads one file (`file_child.py`), or the pictures in it (`ocr/child.py`), or draws a page of it
(`page_child.py`), as its parent sees it: something to be told, to be heard, and to be killed."""

import contextlib
import fcntl
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.forked_process import fork_off

# Whoever cancels a job waits two seconds at most.
LOOK_UP_EVERY_SECONDS = 0.25
# The child goes on reading until so much text is waiting to be embedded.
PIPE_BYTES = 1024 * 1024
DIE_WITHIN_SECONDS = 1.0

_ADVICE = "If it is an honest document, split it and add the pieces."
TOO_SLOW = ("extraction_timeout", f"Reading the file takes longer than a document may. {_ADVICE}")
TOO_MUCH = ("extraction_limit", f"The file holds more, or takes more memory to read, than a document may. {_ADVICE}")
CRASHED = (
    "corrupt_file",
    "The file is damaged in such a way that it cannot be read safely. Open it in the program that it comes from, save "
    "it again, and add that.",
)


@dataclass(frozen=True)
class Limits:
    """What one document may take: far beyond what honest ones do, and little enough to be borne."""

    memory_bytes: int = 1536 * 1024 * 1024
    cpu_seconds: int = 600
    seconds_to_open: float = 180
    """Until its head is there. Many formats are read in one go."""
    seconds_a_part: float = 60
    seconds: float = 3_600
    """For all of it. Times are counted while its parent waits for it, not while it waits for its parent."""
    parts: int = 20_000
    characters: int = 250_000_000
    """More than the largest text may have that is accepted by default, and than its rows have with bars between."""
    characters_ahead: int = 1_000_000
    """The most characters of parts that the parent has not asked for yet. Each part, and each section in it, counts as
    a hundred characters more than it has."""
    line_bytes: int = 64 * 1024 * 1024


class ReaderDied(Exception):
    """It will say no more, or nothing that could be believed."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.reason = Unreadable(code, message)


class ReaderProcess:
    def __init__(self, module: str, task: dict[str, Any], *, watch: Callable[[], None], limits: Limits) -> None:
        """Runs the module's `main` with the task, which says what to read."""
        self._watch = watch
        self._limits = limits
        confinement = {"memory_bytes": limits.memory_bytes, "cpu_seconds": limits.cpu_seconds}
        self._process = fork_off(module, {**task, "confinement": confinement})
        self._pipe = self._process.tells.fileno()
        if sys.platform == "linux":
            # There may be no more room for pipes; then it is as long as any.
            with contextlib.suppress(OSError):
                fcntl.fcntl(self._pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self._poll = select.poll()
        self._poll.register(self._pipe, select.POLLIN)
        self._heard = bytearray()
        self._waited_seconds = 0.0
        self._looked_up_at = time.monotonic()

    def tell(self, words: object) -> None:
        """Ask for something more, by what JSON can say. Whether it still listens, its answer shows.

        So little that a pipe holds it: one that does not listen would keep us waiting.
        """
        self._process.tell(json.dumps(words).encode() + b"\n")

    def hear(self, *, within_seconds: float) -> bytes:
        """The next line; raises `ReaderDied` if there will be none, and what `watch` raises."""
        began_at = time.monotonic()
        give_up_at = began_at + min(within_seconds, self._limits.seconds - self._waited_seconds)
        searched = 0
        while (end := self._heard.find(b"\n", searched)) < 0:
            searched = len(self._heard)
            self._bound(searched)
            if time.monotonic() > give_up_at:
                raise ReaderDied(*TOO_SLOW)
            self._hear_more()
        self._bound(end)
        self._waited_seconds += time.monotonic() - began_at
        line = bytes(self._heard[:end])
        del self._heard[: end + 1]
        return line

    def kill(self) -> None:
        self._process.kill()

    def _bound(self, line_bytes: int) -> None:
        if line_bytes > self._limits.line_bytes:
            raise ReaderDied(*TOO_MUCH)

    def _hear_more(self) -> None:
        has_news = self._poll.poll(LOOK_UP_EVERY_SECONDS * 1000)
        if time.monotonic() > self._looked_up_at + LOOK_UP_EVERY_SECONDS:
            self._watch()
            self._looked_up_at = time.monotonic()
        if not has_news:
            return
        heard = os.read(self._pipe, PIPE_BYTES)
        if not heard:
            raise ReaderDied(*self._find_cause_of_death())
        self._heard += heard

    def _find_cause_of_death(self) -> tuple[str, str]:
        ended_with = self._process.wait(within_seconds=DIE_WITHIN_SECONDS)
        if ended_with == -signal.SIGXCPU:
            return TOO_SLOW
        # Libraries abort when they get no more memory; the system kills whoever takes too much of it.
        return TOO_MUCH if ended_with in (-signal.SIGABRT, -signal.SIGKILL) else CRASHED
