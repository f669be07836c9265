"""Reading strangers' files without being harmed by them: each is read by a child process, and its text is all we take.

The child (`file_child.py`) is started for one document, confined before it imports any parser, and gone when the
document is read, when it is given up, or when this process dies. It sends the text part by part, so a part that kills
it is known: another child goes on behind it, and the document tells which parts are missing. What it sends is bounded
here, since a child that was taken over by its file may send anything.

Pictures are read by children of another kind (`recognition.py`, `ocr/child.py`), which take a thousand times as long.
The file is read far ahead of what is asked for, so that there is something to do for each of them.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Picture
from kb.engine.ingestion.extraction.findings import PictureFindings
from kb.engine.ingestion.extraction.messages import Head, Message, Nonsense, parse, parse_head, parse_part
from kb.engine.ingestion.extraction.reader_process import CRASHED, TOO_MUCH, Limits, ReaderDied, ReaderProcess
from kb.engine.ingestion.extraction.recognition import Recognition
from kb.engine.ingestion.extraction.workload import Workload
from kb.engine.ingestion.sections import Section

log = logging.getLogger(__name__)

MAX_RESTARTS = 3
DEFAULT_LIMITS = Limits()
_CHARACTERS_OF_NOTHING = 100

_MODULE = "kb.engine.ingestion.extraction.file_child"

Heard = TypeVar("Heard")


@dataclass(frozen=True)
class _Part:
    number: int
    items: Sequence[Section | Picture]

    @property
    def pictures(self) -> list[Picture]:
        return [item for item in self.items if isinstance(item, Picture)]

    @property
    def characters(self) -> int:
        # Even a blank one takes some memory.
        return _CHARACTERS_OF_NOTHING + sum(map(_count_characters, self.items))

    @property
    def weight(self) -> int:
        """The memory that it takes, in characters: a blank section takes some memory too."""
        return self.characters + _CHARACTERS_OF_NOTHING * len(self.items)


class Extraction:
    """A document being read: what is known of the whole of it at once, its text as `parts` goes on."""

    def __init__(self, format: str, path: Path, *, force_ocr: bool, watch: Callable[[], None], limits: Limits) -> None:
        self._task = {"format": format, "path": str(path.absolute()), "force_ocr": force_ocr}
        self._watch = watch
        self._limits = limits
        self._restarts = 0
        self._characters = self._characters_ahead = 0
        self._unread: set[int] = set()
        self.findings = PictureFindings()
        """What was read in pictures so far."""
        self._recognition = Recognition(format, path, watch=watch)
        self._reader = self._start(first_part=0)
        try:
            self.head = self._hear_head()
        except BaseException:
            self.close()
            raise
        self.workload = Workload(self.head.part_count)

    @property
    def unread(self) -> list[int]:
        """Which parts, counted from 1, could not be read so far."""
        return sorted(self._unread)

    def close(self) -> None:
        self._reader.kill()
        self._recognition.close()

    def parts(self) -> Iterator[list[Section]]:
        """Each part's sections; none of one that is blank or cannot be read. Raises `Unreadable` if most cannot be."""
        to_come = iter(range(1, self.head.part_count + 1))
        ahead: deque[_Part] = deque()
        for number in to_come:
            ahead.append(self._hear_part(number))
            while ahead:
                # Takes from those to come.
                self._read_ahead(ahead, to_come)
                yield self._read_pictures(ahead.popleft())

    def _read_ahead(self, ahead: deque[_Part], to_come: Iterator[int]) -> None:
        """So far that pictures can be read several at a time, and that it is known what is to be done."""
        while self._characters_ahead < self._limits.characters_ahead:
            number = next(to_come, None)
            if number is None:
                return
            ahead.append(self._hear_part(number))

    def _hear_part(self, number: int) -> _Part:
        items: list[Section | Picture] = []
        try:
            items = self._hear(parse_part, within_seconds=self._limits.seconds_a_part)
        except Unreadable as reason:
            self._leave_out(number, reason)
        except ReaderDied as death:
            self._leave_out(number, death.reason)
            self._go_on_behind(number, death)
        # A reader that goes on where another died may name what that has named.
        part = _Part(number, [item for item in items if isinstance(item, Section) or self._recognition.ask(item)])
        self._bound(part.characters)
        self._characters_ahead += part.weight
        self.workload.add(pictures=len(part.pictures))
        return part

    def _read_pictures(self, part: _Part) -> list[Section]:
        sections: list[Section] = []
        pages_read = lost = 0
        reason: Unreadable | None = None
        for item in part.items:
            if isinstance(item, Section):
                sections.append(item)
                continue
            text = item.text
            try:
                text = self.findings.note(item, self._recognition.answer())
                pages_read += item.is_page
            except Unreadable as refused:
                log.info("A picture in part %d of a document cannot be read: %s", part.number, refused.message)
                lost += 1
                reason = refused if item.is_page and not text else reason
            if text:
                sections.append(Section(text, item.heading, item.page_num))
                self._bound(len(text))
        if reason and not pages_read:
            self._leave_out(part.number, reason)
        else:
            self.findings.unread_pictures += lost
        self.workload.finish()
        self._characters_ahead -= part.weight
        return sections

    def _bound(self, characters: int) -> None:
        self._characters += characters
        if self._characters > self._limits.characters:
            raise Unreadable(*TOO_MUCH)

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
        self._unread.add(number)
        # A document of which most is missing would only look like one.
        if len(self._unread) * 2 > self.head.part_count:
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


def _count_characters(item: Section | Picture) -> int:
    header = item.rows.header if isinstance(item, Section) and item.rows else ""
    return len(item.text) + len(item.heading or "") + len(header)


@cache
def _warn_that_nothing_confines() -> None:
    log.warning("This system does not keep the process that reads files from using the network or changing files.")
