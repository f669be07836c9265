"""Source code and settings: a section for each definition, under the path of names that leads to it.

What belongs to a definition is told by indentation, as a reader's eye does it, which holds in languages with and
without braces alike.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.text.definitions import Definition, find_definition, find_table_header
from kb.engine.ingestion.extraction.readers.text.plain_text import read_text
from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.titles import render_path

MAX_DEPTH = 4
"""What is defined deeper is a detail of what it stands in."""
SMALL_CHARACTERS = 200
"""Definitions shorter than this share a section with those beside them: alone they say too little to be found."""

_TAB_WIDTH = 8
# Comments, decorators and attributes: what stands right above a definition and belongs to it.
_LEAD = re.compile(r"[@#*%]|//|/\*|--|;;|\[.*\]$|template\b")
_TYPE_ALONE = re.compile(r"[A-Za-z_][\w\s*&:<>,]*$")
_ANNOTATION = re.compile(r"@|#?\[")
# Lines that go on with a definition though they are not indented.
_GOES_ON = re.compile(
    r"[)\]}{$]|(?:end|begin|then|else|elif|except|rescue|finally|catch|ensure|do|done|where)\b(?!\s*=)"
    r"|(?:public|private|protected|signals|public slots)\s*:",
    re.IGNORECASE,
)
_QUOTES = ('"""', "'''")
_BRACKET_FIRST = re.compile(r"^[^\S\n]*+\[", re.MULTILINE)
# A line that is taken apart costs a hundred bytes, and there may be millions of them.
_STRETCH = 1_000_000

Find = Callable[[Sequence[str], int, Definition | None], Definition | None]


@dataclass(frozen=True)
class _Piece:
    path: tuple[str, ...]
    text: str

    @property
    def is_small(self) -> bool:
        return len(self.text) < SMALL_CHARACTERS


@dataclass(frozen=True)
class _Open:
    indent: int
    definition: Definition


def read(path: Path) -> Extracted:
    return Extracted([sections_of_code(read_text(path))])


def sections_of_code(text: str) -> list[Section]:
    """The text cut in front of its definitions; nothing is lost. What lies outside of any has no heading."""
    pieces = _Cutter(text, find_definition).cut()
    if not any(piece.path for piece in pieces) and _BRACKET_FIRST.search(text):
        pieces = _Cutter(text, find_table_header).cut()
    return [Section(piece.text, render_path(piece.path)) for piece in _join_small(_join_heads(pieces))]


class _Cutter:
    """Positions are those of lines in the text."""

    def __init__(self, text: str, find: Find) -> None:
        self._text = text
        self._find = find
        self._pieces: list[_Piece] = []
        self._start = 0
        self._open: list[_Open] = []
        self._lead: int | None = None
        self._annotation_indent: int | None = None
        self._closing_quote: str | None = None

    def cut(self) -> list[_Piece]:
        position = 0
        for stretch in _stretches(self._text):
            lines = stretch.splitlines(keepends=True)
            bare = [line.strip() for line in lines]
            for number, line in enumerate(bare):
                if self._is_quoted(line):
                    pass
                elif line:
                    self._take(position, _indent_of(lines[number]), bare, number)
                else:
                    self._lead = self._annotation_indent = None
                position += len(lines[number])
        self._end_piece(position)
        return self._pieces

    def _is_quoted(self, line: str) -> bool:
        """Whether it goes on with a comment or string of several lines; one that begins here ends in another."""
        if self._closing_quote:
            if self._closing_quote in line:
                self._closing_quote = None
            return True
        if line.startswith("/*"):
            self._closing_quote = None if "*/" in line else "*/"
        elif ('"""' in line or "'''" in line) and not line.startswith(("#", "//", "--")):
            self._closing_quote = next((quote for quote in _QUOTES if line.count(quote) % 2), None)
        return False

    def _take(self, position: int, indent: int, lines: Sequence[str], number: int) -> None:
        around = [above for above in self._open if above.indent < indent]
        found = self._find(lines, number, around[-1].definition if around else None)
        ended = self._open[len(around) :]
        if found and len(around) < MAX_DEPTH:
            self._begin_piece(position, [*around, _Open(indent, found)])
        elif self._is_lead(lines[number], indent):
            self._lead = position if self._lead is None else self._lead
        elif ended and not ended[0].definition.goes_on and not _GOES_ON.match(lines[number]):
            self._begin_piece(position, around)
        else:
            self._lead = None

    def _is_lead(self, line: str, indent: int) -> bool:
        if _ANNOTATION.match(line):
            self._annotation_indent = indent
            return True
        if self._annotation_indent is not None and (indent > self._annotation_indent or line[0] in ")]"):
            return True
        self._annotation_indent = None
        is_type = indent == 0 and _TYPE_ALONE.match(line) is not None and not _GOES_ON.match(line)
        return is_type or _LEAD.match(line) is not None

    def _begin_piece(self, position: int, path: list[_Open]) -> None:
        self._end_piece(position if self._lead is None else self._lead)
        self._open = path
        self._lead = self._annotation_indent = None

    def _end_piece(self, end: int) -> None:
        if end > self._start:
            path = tuple(above.definition.name for above in self._open)
            self._pieces.append(_Piece(path, self._text[self._start : end]))
            self._start = end


def _stretches(text: str) -> Iterator[str]:
    """The text in whole lines, cut before a blank one if there is any, for no signature goes on over it."""
    start = 0
    while len(text) - start > _STRETCH:
        end = start + _STRETCH
        cuts = (text.rfind("\n\n", start, end), text.rfind("\n", start, end), text.find("\n", end))
        cut = next((cut + 1 for cut in cuts if cut >= 0), len(text))
        yield text[start:cut]
        start = cut
    yield text[start:]


def _indent_of(line: str) -> int:
    width = len(line) - len(line.lstrip())
    return len(line[:width].expandtabs(_TAB_WIDTH)) if "\t" in line else width


def _join_heads(pieces: list[_Piece]) -> list[_Piece]:
    """The first line of a class, with little below it, begins the section of the class's first member."""
    joined: list[_Piece] = []
    for piece in pieces:
        head = joined[-1] if joined else None
        if head and head.is_small and (head.path or head.text.isspace()) and piece.path[: len(head.path)] == head.path:
            joined[-1] = _Piece(piece.path, head.text + piece.text)
        else:
            joined.append(piece)
    return joined


def _join_small(pieces: list[_Piece]) -> list[_Piece]:
    """Small ones side by side in the same thing, or one in the other, become one piece of what they lie in."""
    groups: list[tuple[tuple[str, ...], list[_Piece]]] = []
    for piece in pieces:
        path, group = groups[-1] if groups else ((), [])
        shared = _shared_path(path, piece.path)
        are_near = len(shared) >= max(len(path), len(piece.path)) - 1
        # Those that were joined stay what they are: they are not small any more.
        fits = shared == path if len(group) > 1 else bool(group) and group[0].is_small
        if are_near and fits and piece.is_small:
            group.append(piece)
            groups[-1] = (shared, group)
        else:
            groups.append((piece.path, [piece]))
    return [_Piece(path, "".join(piece.text for piece in group)) for path, group in groups]


def _shared_path(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    length = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    return one[:length]
