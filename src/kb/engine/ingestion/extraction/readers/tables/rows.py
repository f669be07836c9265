"""Rows of cells, as sheets and files of records have them: found to be tables with headers, and read in parts.

A row is a line of its section. A table's header is not: it stands in `Rows`, and so at the head of every chunk.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, islice

from kb.engine.ingestion.extraction.cleaning import clean
from kb.engine.ingestion.sections import Rows, Section
from kb.engine.ingestion.titles import render_path

ROWS_PER_PART = 1_000

# A header is looked for this far from where a table may begin; above it stand titles and remarks.
_LOOKED_AT_ROWS = 10
_LONGEST_LABEL = 100
# It is repeated with every part of its table, so a few megabytes of it would become gigabytes.
MAX_HEADER_CHARACTERS = 10_000
_YEAR = re.compile(r"(?:19|20)\d\d")
_WIDE_CELLS = 100


@dataclass(frozen=True)
class Row:
    number: int
    """In its sheet or file, from 1; rows with nothing in them are counted."""
    cells: list[str]
    """Without line breaks, and with nothing around them."""


@dataclass(frozen=True)
class Head:
    """What the rows of a table have in common."""

    header: str
    heading: str | None = None


@dataclass(frozen=True)
class Table:
    """A sheet, or all of a file, which can be read from its beginning as often as need be."""

    open: Callable[[], Iterator[tuple[int, Section]]]
    """Its sections, each with the number of its first row, in order."""
    parts: Sequence[int]
    """The numbers of those parts (`part_of`) that seem to hold something, in order. Rows elsewhere are read too."""


class TableParts:
    """The sections of tables in parts of about a thousand rows. In their order they are read in one go."""

    def __init__(self, tables: Iterable[Table]) -> None:
        self._places = [(table, parts) for table in tables for parts in _share_out(table.parts)]
        self._opened: Table | None = None
        self._sections: Iterator[tuple[int, Section]] = iter(())
        self._next: tuple[int, Section] | None = None
        self._next_part = 0
        self._failure: Exception | None = None

    def __len__(self) -> int:
        return len(self._places)

    def __getitem__(self, index: int) -> list[Section]:
        table, parts = self._places[index]
        if self._opened is not table or parts.start < self._next_part:
            self._opened, self._sections, self._failure = table, table.open(), None
            self._read_on()
        self._next_part = parts.stop
        sections = []
        while self._next is not None and part_of(self._next[0]) < parts.stop:
            if part_of(self._next[0]) >= parts.start:
                sections.append(self._next[1])
            self._read_on()
        # After a failure nothing more can be read: all later parts are missing too, not blank.
        if self._failure is not None:
            raise self._failure
        return sections

    def _read_on(self) -> None:
        try:
            self._next = next(self._sections, None)
        except Exception as error:  # noqa: BLE001 - whatever a parser raises, the file is to blame
            self._next, self._failure = None, error


def _share_out(parts: Sequence[int]) -> list[range]:
    """All parts that a table could have: those before a listed one go with it, and those after the last with that."""
    stops = [*(part + 1 for part in parts[:-1]), sys.maxsize]
    return [range(start, stop) for start, stop in zip([0, *stops], stops, strict=False)]


def part_of(number: int) -> int:
    return (number - 1) // ROWS_PER_PART


def make_row(number: int, cells: Iterable[str]) -> Row:
    tidied = [" ".join(cell.split()) for cell in cells]
    while tidied and not tidied[-1]:
        tidied.pop()
    if len(tidied) > _WIDE_CELLS:
        filled = [cell for cell in tidied if cell]
        # A few cells far apart would be lost between the bars.
        tidied = filled if len(filled) * 10 < len(tidied) else tidied
    return Row(number, tidied)


def render_row(row: Row) -> str:
    return " | ".join(row.cells)


def cut_into_sections(rows: Iterable[tuple[Head, Row]], page_num: int | None = None) -> Iterator[tuple[int, Section]]:
    """Each section with the number of its first row; none lies in two tables or two parts. No row may be blank."""
    for (head, _), group in groupby(rows, lambda placed: (placed[0], part_of(placed[1].number))):
        block = [row for _, row in group]
        numbers = tuple(row.number for row in block)
        yield numbers[0], Section("\n".join(map(render_row, block)), head.heading, page_num, Rows(head.header, numbers))


def find_tables(rows: Iterable[Row], heading: str | None = None) -> Iterator[tuple[Head, Row]]:
    """The tables that lie one below another in a sheet or file, and what stands around them. Blank rows are dropped.

    A table begins at the first row or after a blank one, with a header. What stands above the header has none, and
    its last line is the table's caption, which joins the heading; so is a line alone between blank rows. Rows after a
    blank one that have no header of their own go on with the table before them.
    """
    head = Head("", heading)
    alone: list[Row] = []
    for island in _islands(row for row in rows if row.cells):
        first = list(islice(island, _LOOKED_AT_ROWS))
        found = _find_header(first, needs_contrast=bool(head.header))
        if found is not None:
            above, header, first = first[:found], first[found], first[found + 1 :]
            yield from ((Head("", heading), row) for row in above)
            head = Head(clean(render_row(header)), _join_caption(heading, above or alone))
        alone = first if len(first) == 1 and found is None else []
        yield from ((head, row) for row in chain(first, island))


def _islands(rows: Iterable[Row]) -> Iterator[Iterator[Row]]:
    """Runs of rows with no blank row between them, each to be used up before the next."""
    for _, run in groupby(enumerate(rows), lambda counted: counted[1].number - counted[0]):
        yield (row for _, row in run)


def _find_header(rows: list[Row], *, needs_contrast: bool) -> int | None:
    """Which row is the header: the first that is about as wide as the rows below it, if it holds only names."""
    widths = [sum(map(bool, row.cells)) for row in rows]
    for index, row in enumerate(rows[:-1]):
        if widths[index] >= 2 and widths[index] * 3 > max(widths[index + 1 :]) * 2:
            below = (cell for other in rows[index + 1 :] for cell in other.cells if cell)
            is_contrast = not needs_contrast or not all(map(_is_label, below))
            is_short = len(render_row(row)) <= MAX_HEADER_CHARACTERS
            return index if is_contrast and is_short and _are_names(row.cells) else None
    return None


def _are_names(cells: list[str]) -> bool:
    names = [cell for cell in cells if cell]
    return len(set(names)) == len(names) and all(map(_is_label, names))


def _is_label(cell: str) -> bool:
    """Whether it may name a column: words, a sign like `#`, a year; not an amount, a date, or a paragraph."""
    if len(cell) > _LONGEST_LABEL:
        return False
    has_digit, has_letter = any(map(str.isdigit, cell)), any(map(str.isalpha, cell))
    return has_letter or not has_digit or _YEAR.fullmatch(cell) is not None


def _join_caption(heading: str | None, above: list[Row]) -> str | None:
    caption = [cell for cell in above[-1].cells if cell] if above else []
    return render_path([heading or "", clean(caption[0]) if len(caption) == 1 else ""])
