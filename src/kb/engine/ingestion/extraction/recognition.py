"""The pictures of a document being read, several at a time, each by a process of its own (`ocr/child.py`).

A process reads picture after picture, so that the models are loaded once, and is replaced after some: what the models
take of memory grows. One that dies, or says nothing for too long, is replaced too; a picture that kills twice, or takes
too long, is left out. They run at the lowest priority: all that somebody waits for comes first, and an idle machine
works with all it has.
"""

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Picture
from kb.engine.ingestion.extraction.messages import Nonsense, parse, parse_reading
from kb.engine.ingestion.extraction.ocr.reading import OCR_FAILED, Reading
from kb.engine.ingestion.extraction.reader_process import CRASHED, TOO_SLOW, Limits, ReaderDied, ReaderProcess

# A day's work for two cores, and a book of many volumes.
MAX_PAGES = 5_000
# Those that stand on pages.
MAX_PICTURES = 300
# Each takes some 600 MB.
MAX_PROCESSES = 4
PICTURES_PER_PROCESS = 20
# Each process has the next picture at hand when it is done with one.
ASKED_PER_PROCESS = 2
MAX_DEATHS = 3
DEFAULT_LIMITS = Limits(
    memory_bytes=2560 * 1024 * 1024,
    # For all that it reads: a minute a picture. A single one may take more of it (`ocr/child.py`).
    cpu_seconds=60 * PICTURES_PER_PROCESS,
    # Whoever comes last may have to wait long for a processor. This is for those that wait for nothing.
    seconds_a_part=1_800,
    seconds=float("inf"),
    line_bytes=4 * 1024 * 1024,
)

_MODULE = "kb.engine.ingestion.extraction.ocr.child"


class Recognition:
    """Names are asked for, and answered in the same order."""

    def __init__(
        self,
        format: str,
        path: Path,
        *,
        watch: Callable[[], None],
        limits: Limits = DEFAULT_LIMITS,
        processes: int | None = None,
    ) -> None:
        """As many processes as there are cores, if nothing else is said."""
        self._format = format
        self._path = path
        self._watch = watch
        self._limits = limits
        self._lanes = [_Lane(self._start) for _ in range(processes or min(_count_cores(), MAX_PROCESSES))]
        self._asked: deque[_Lane] = deque()
        self._names: set[str] = set()
        self._counts = {True: 0, False: 0}
        self._deaths = 0

    def ask(self, picture: Picture) -> bool:
        """False, and it is not read, if it was asked for before, or if there are too many that are no pages. Raises
        `Unreadable` if there are too many pages."""
        count = self._counts[picture.is_page]
        if picture.name in self._names or (count == MAX_PICTURES and not picture.is_page):
            return False
        if count == MAX_PAGES:
            raise Unreadable(
                "extraction_limit",
                f"It has more than {MAX_PAGES:,} pages that are pictures. Split it and add the pieces.",
            )
        self._counts[picture.is_page] += 1
        self._names.add(picture.name)
        lane = self._lanes[len(self._names) % len(self._lanes)]
        lane.ask(picture.name)
        self._asked.append(lane)
        return True

    def answer(self) -> Reading:
        """What stands in the first picture that was asked for and not answered yet. Raises `Unreadable`."""
        if self._deaths > MAX_DEATHS:
            self._asked.popleft().give_up()
            raise Unreadable(*OCR_FAILED)
        for lane in self._lanes:
            lane.set_to_work()
        lane = self._asked.popleft()
        try:
            return self._hear(lane)
        except Nonsense as error:
            self._deaths += 1
            raise Unreadable(*OCR_FAILED) from error
        except ReaderDied as death:
            self._deaths += 1
            is_crash = death.reason.code == CRASHED[0]
            raise (Unreadable(*OCR_FAILED) if is_crash else death.reason) from death

    def _hear(self, lane: "_Lane") -> Reading:
        patience = self._limits.seconds_a_part
        try:
            return lane.answer(within_seconds=patience)
        except ReaderDied as death:
            if death.reason.code == TOO_SLOW[0]:
                raise
        # The system kills for want of memory whoever has most, and that need not be the picture's fault.
        lane.ask_again()
        lane.set_to_work()
        return lane.answer(within_seconds=patience)

    def close(self) -> None:
        for lane in self._lanes:
            lane.close()

    def _start(self) -> ReaderProcess:
        # A single picture is read sooner by all cores together; several are, taken together, by a core each.
        is_alone = len(self._asked) <= 1
        task = {
            "format": self._format,
            "path": str(self._path.absolute()),
            "threads": len(self._lanes) if is_alone else 1,
        }
        return ReaderProcess(_MODULE, task, watch=self._watch, limits=self._limits)


class _Lane:
    """One process at a time, and the pictures that it is to read."""

    def __init__(self, start: Callable[[], ReaderProcess]) -> None:
        self._start = start
        self._process: ReaderProcess | None = None
        self._waiting: deque[str] = deque()
        self._latest = ""
        self._told = 0
        self._answered = 0

    def ask(self, name: str) -> None:
        self._waiting.append(name)

    def set_to_work(self) -> None:
        if self._process is None and self._waiting:
            self._process = self._start()
            self._told = self._answered = 0
        # It must not happen that it is told more than it listens to.
        at_hand = min(len(self._waiting), ASKED_PER_PROCESS)
        while self._process and self._told < PICTURES_PER_PROCESS and self._told - self._answered < at_hand:
            self._process.tell(self._waiting[self._told - self._answered])
            self._told += 1

    def answer(self, *, within_seconds: float) -> Reading:
        assert self._process is not None  # noqa: S101 - it was set to work
        self._latest = self._waiting.popleft()
        self._answered += 1
        try:
            return parse_reading(parse(self._process.hear(within_seconds=within_seconds)))
        except (ReaderDied, Nonsense):
            self.close()
            raise
        finally:
            if self._answered == PICTURES_PER_PROCESS:
                self.close()

    def ask_again(self) -> None:
        """For the picture that was to be answered last, before all others."""
        self._waiting.appendleft(self._latest)

    def give_up(self) -> None:
        self._waiting.popleft()
        self.close()

    def close(self) -> None:
        """Whatever it was told and has not answered, the next process is told again."""
        if self._process is not None:
            self._process.kill()
            self._process = None


def _count_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
