"""Reading strangers' files without being harmed by them: each is read by a child process, and its text is all we take.

The child is started for one document, confined before it imports any parser, and gone when the document is read, when
it is given up, or when this process dies. It sends the text part by part, so a part that kills it is known: another
child goes on behind it, and the document tells which parts are missing. What it sends is bounded here, since a child
that was taken over by its file may send anything.

Pictures are read by children of another kind (`recognition.py`), which take a thousand times as long. While the first
of them is waited for, the file is read on, so that there is something to do for each.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TypeVar

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Picture
from kb.engine.ingestion.extraction.messages import Head, Message, Nonsense, parse, parse_head, parse_part
from kb.engine.ingestion.extraction.ocr.findings import Findings
from kb.engine.ingestion.extraction.reader_process import CRASHED, TOO_MUCH, Limits, ReaderDied, ReaderProcess
from kb.engine.ingestion.extraction.recognition import Recognition
from kb.engine.ingestion.extraction.workload import Workload
from kb.engine.ingestion.sections import Section

log = logging.getLogger(__name__)

MAX_RESTARTS = 3
DEFAULT_LIMITS = Limits()
# They are held in memory.
MAX_PARTS_AHEAD = 100

_MODULE = "kb.engine.ingestion.extraction.child"

Heard = TypeVar("Heard")
Part = tuple[int, Sequence[Section | Picture]]


class Extraction:
    """A document being read: what is known of the whole of it at once, its text as `parts` goes on."""

    def __init__(
        self, format: str, path: Path, *, force_ocr: bool, watch: Callable[[], None], limits: Limits = DEFAULT_LIMITS
    ) -> None:
        self._task = {"format": format, "path": str(path.absolute()), "force_ocr": force_ocr}
        self._watch = watch
        self._limits = limits
        self._restarts = 0
        self._recognition = Recognition(format, path, watch=watch)
        self.unread: list[int] = []
        """Which parts, counted from 1, could not be read so far."""
        self.findings = Findings()
        """What was read in pictures so far."""
        self._reader = self._start(first_part=0)
        try:
            self.head = self._hear_head()
        except BaseException:
            self.close()
            raise
        self.workload = Workload(self.head.part_count)

    def close(self) -> None:
        self._reader.kill()
        self._recognition.close()

    def parts(self) -> Iterator[list[Section]]:
        """Each part's sections; none of one that is blank or cannot be read. Raises `Unreadable` if most cannot be."""
        characters = 0
        to_come = iter(range(1, self.head.part_count + 1))
        ahead: deque[Part] = deque()
        for number in to_come:
            ahead.append(self._hear_part(number))
            while ahead:
                # Takes from those to come.
                self._read_ahead(ahead, to_come)
                sections = self._read_pictures(*ahead.popleft())
                characters += sum(map(_count_characters, sections))
                if characters > self._limits.characters:
                    raise Unreadable(*TOO_MUCH)
                yield sections

    def _read_ahead(self, ahead: deque[Part], to_come: Iterator[int]) -> None:
        _, items = ahead[0]
        if not any(isinstance(item, Picture) for item in items):
            return
        while self._recognition.has_room and len(ahead) <= MAX_PARTS_AHEAD:
            number = next(to_come, None)
            if number is None:
                return
            ahead.append(self._hear_part(number))

    def _hear_part(self, number: int) -> Part:
        items: Sequence[Section | Picture] = ()
        try:
            items = self._hear(parse_part, within_seconds=self._limits.seconds_a_part)
        except Unreadable as reason:
            self._leave_out(number, reason)
        except ReaderDied as death:
            self._leave_out(number, death.reason)
            self._go_on_behind(number, death)
        pictures = [item for item in items if isinstance(item, Picture)]
        for picture in pictures:
            self._recognition.ask(picture.name)
        self.workload.add(pictures=len(pictures))
        return number, items

    def _read_pictures(self, number: int, items: Sequence[Section | Picture]) -> list[Section]:
        sections: list[Section] = []
        for item in items:
            if isinstance(item, Section):
                sections.append(item)
                continue
            try:
                text = self.findings.note(item, self._recognition.answer())
            except Unreadable as reason:
                if item.is_page:
                    self._leave_out(number, reason)
                else:
                    log.info("A picture on part %d of a document cannot be read: %s", number, reason.message)
                text = item.text
            sections.append(Section(text, item.heading, item.page_num))
        self.workload.finish()
        return sections

    def _start(self, first_part: int) -> ReaderProcess:
        task = {**self._task, "first_part": first_part}
        return ReaderProcess(_MODULE, task, watch=self._watch, limits=self._limits)

    def _hear_head(self) -> Head:
        try:
            head = self._hear(parse_head, within_seconds=self._limits.seconds_to_open)
        except ReaderDied as death:
            raise death.reason from death
        if head.part_count > self._limits.parts:
            raise Unreadable(*TOO_MUCH)
        if not head.is_confined:
            _warn_that_nothing_confines()
        return head

    def _hear(self, parse_message: Callable[[Message], Heard], *, within_seconds: float) -> Heard:
        try:
            return parse_message(parse(self._reader.hear(within_seconds=within_seconds)))
        except Nonsense as error:
            raise ReaderDied(*CRASHED) from error

    def _leave_out(self, number: int, reason: Unreadable) -> None:
        log.info("Part %d of a document cannot be read: %s", number, reason.message)
        if number not in self.unread[-1:]:
            self.unread.append(number)
        # A document of which most is missing would only look like one.
        if len(self.unread) * 2 > self.head.part_count:
            raise reason

    def _go_on_behind(self, number: int, death: ReaderDied) -> None:
        self._reader.kill()
        if number == self.head.part_count:
            return
        if self._restarts == MAX_RESTARTS:
            raise death.reason from death
        self._restarts += 1
        self._reader = self._start(first_part=number)
        self._hear_head()


@contextmanager
def open_extraction(
    format: str,
    path: Path,
    *,
    watch: Callable[[], None],
    force_ocr: bool = False,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Extraction]:
    """Have the file read; raises `Unreadable` if it cannot be.

    `watch` is called several times a second while there is nothing to do but wait. What it raises ends the reading.
    """
    extraction = Extraction(format, path, force_ocr=force_ocr, watch=watch, limits=limits)
    try:
        yield extraction
    finally:
        extraction.close()


def _count_characters(section: Section) -> int:
    return len(section.text) + len(section.heading or "") + (len(section.rows.header) if section.rows else 0)


@cache
def _warn_that_nothing_confines() -> None:
    log.warning("This system does not keep the process that reads files from using the network or changing files.")
