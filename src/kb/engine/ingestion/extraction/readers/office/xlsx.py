"""Workbooks: each sheet as its tables, with the numbers that its rows have on the screen.

Cells are read by calamine, which is fast, but holds a sheet as one block from its first to its last cell: two cells in
opposite corners make it abort the process. So the corners are looked for first. Such a sheet, and one that calamine
cannot read, is left to openpyxl, which is slow, but reads row by row. A cell that holds an error (#DIV/0!) is empty.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property, partial
from io import BytesIO
from pathlib import Path
from typing import Any

import python_calamine

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.cleaning import clean
from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.office.package import (
    find_main_part,
    read_relationships,
    relationship_id,
)
from kb.engine.ingestion.extraction.readers.office.properties import read_office_properties
from kb.engine.ingestion.extraction.readers.office.sheet_remarks import read_remarks
from kb.engine.ingestion.extraction.readers.shared.archive import Archive, open_archive
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt
from kb.engine.ingestion.extraction.readers.shared.xml_trees import local_name, parse_xml
from kb.engine.ingestion.extraction.readers.tables.rows import (
    ROWS_PER_PART,
    Row,
    Table,
    TableParts,
    cut_into_sections,
    find_tables,
    make_row,
    part_of,
)
from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.titles import MAX_HEADING_CHARACTERS, shorten

# A sheet that is not larger when unpacked than an archive may hold has fewer cells; more are a void.
MAX_CELLS = 10_000_000
# No program allows more. For one cell far beyond these, the parser would make all rows and columns before it.
MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384
# Empty cells before the last cell of each row count too.
MAX_CELLS_ROW_BY_ROW = 5 * MAX_CELLS
MAX_NAMES_TOLD = 100

# Written so by every program; a search for this takes a tenth of the time that one for all of XML's ways takes.
_ROW = re.compile(rb' r="([0-9]{1,20})"(?![^<>]{0,200}/>)')
_COLUMN = re.compile(rb' r="([A-Z]{1,20})[0-9]{1,20}"(?![^<>]{0,200}/>)')
_SCANNED_BYTES = 1024 * 1024
_OVERLAP = 300
_ERRORS = frozenset(("#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!", "#SPILL!", "#CALC!"))


@dataclass(frozen=True)
class _Sheet:
    name: str
    """As the file has it; the libraries know the sheet by it."""
    number: int
    parts: Sequence[int]
    is_void: bool
    """Whether it is nearly nothing between two cells far apart."""
    remarks: str

    @cached_property
    def heading(self) -> str:
        return shorten(clean(self.name), MAX_HEADING_CHARACTERS)


def read(path: Path) -> Extracted:
    with open_archive(path) as archive:
        properties = read_office_properties(archive)
        sheets = _find_sheets(archive)
    workbook = _Workbook(path)
    tables = [Table(partial(_read_sheet, workbook, sheet), sheet.parts) for sheet in sheets]
    names = [sheet.heading for sheet in sheets[:MAX_NAMES_TOLD]]
    return Extracted(
        TableParts(tables),
        title=properties.title,
        metadata={**properties.metadata, "sheets": len(sheets), "sheet_names": names},
        unit="sheet" if all(len(sheet.parts) <= 1 for sheet in sheets) else "part",
    )


def _find_sheets(archive: Archive) -> list[_Sheet]:
    main = find_main_part(archive)
    relationships = read_relationships(archive, main)
    listed = [element for element in parse_xml(archive.read(main)).iter() if local_name(element) == "sheet"]
    sheets = []
    for number, element in enumerate(listed, start=1):
        relationship = relationships.get(relationship_id(element))
        part = relationship.part if relationship else ""
        content = archive.read(part) if part in archive else b""
        remarks = read_remarks(archive, part)
        parts, is_void = _measure(content)
        sheets.append(_Sheet(element.get("name", ""), number, parts, is_void, remarks))
    return sheets


def _measure(content: bytes) -> tuple[Sequence[int], bool]:
    """The parts of the sheet that seem to have rows, and whether it is too large to be held as one block.

    Raises `Unreadable` if a cell is beyond the last row or column that a sheet may have.
    """
    rows: set[bytes] = set()
    columns: set[bytes] = set()
    for start in range(0, len(content), _SCANNED_BYTES):
        end = start + _SCANNED_BYTES + _OVERLAP
        rows.update(_ROW.findall(content, start, end))
        columns.update(_COLUMN.findall(content, start, end))
    # A row needs no number if it follows the one before it.
    count = content.count(b"<row")
    numbers = {1, *map(int, rows)}
    width = max(map(_column_number, columns), default=0)
    _check_size(max(numbers), width)
    parts = {*map(part_of, numbers), *range(part_of(count) + 1)}
    return sorted(parts), max(count, max(numbers)) * width > MAX_CELLS


def _column_number(letters: bytes) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + letter - ord("A") + 1
    return number


def _check_size(rows: int, columns: int) -> None:
    if rows > MAX_ROWS or columns > MAX_COLUMNS:
        raise corrupt(f"A sheet has a cell beyond row {MAX_ROWS:,} or column XFD, the last that a sheet may have.")


def _too_many_cells() -> Unreadable:
    reason = f"A sheet has more than {MAX_CELLS_ROW_BY_ROW:,} cells, nearly all of them empty."
    return Unreadable("extraction_limit", f"{reason} Delete the empty columns, save the file, and add it again.")


class _Workbook:
    """The cells of a workbook. Neither library is told its name: both would judge the file by its extension."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read_rows(self, sheet: _Sheet) -> Iterator[Row]:
        """All rows except those without any cell: a sheet may have a million of these."""
        count = 0
        for number, cells in enumerate(self._read_cells(sheet), start=1):
            _check_size(number, len(cells))
            count += len(cells)
            if count > MAX_CELLS_ROW_BY_ROW:
                raise _too_many_cells()
            if cells:
                yield make_row(number, map(_render, cells))

    def _read_cells(self, sheet: _Sheet) -> Iterable[Sequence[Any]]:
        if not sheet.is_void:
            try:
                found = self._fast.get_sheet_by_name(sheet.name)
            except python_calamine.CalamineError:
                pass
            else:
                # Measuring the sheet does not find references that are written in an unusual way.
                _check_size(*((last + 1 for last in found.end) if found.end else (0, 0)))
                return found.iter_rows()
        worksheet = self._patient[sheet.name]
        # What the sheet says of its size is not to be trusted, and would fill every row up to it.
        worksheet.reset_dimensions()
        rows: Iterable[Sequence[Any]] = worksheet.iter_rows(values_only=True)
        return rows

    @cached_property
    def _fast(self) -> python_calamine.CalamineWorkbook:
        return python_calamine.load_workbook(BytesIO(self._path.read_bytes()))

    @cached_property
    def _patient(self) -> Any:
        # Seldom needed, and slow to import.
        from openpyxl import load_workbook

        return load_workbook(BytesIO(self._path.read_bytes()), read_only=True, data_only=True)


def _read_sheet(workbook: _Workbook, sheet: _Sheet) -> Iterator[tuple[int, Section]]:
    yield from cut_into_sections(find_tables(workbook.read_rows(sheet), sheet.heading), sheet.number)
    if sheet.remarks:
        yield (sheet.parts[-1] + 1) * ROWS_PER_PART, Section(sheet.remarks, sheet.heading, sheet.number)


def _render(value: object) -> str:
    """The cell as it would be written down, whatever format it is shown in."""
    if value is None or value in _ERRORS:
        return ""
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, float):
        # A spreadsheet keeps fifteen digits; the rest is noise.
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime):
        rounded = (value + timedelta(microseconds=500_000)).replace(microsecond=0)
        return rounded.date().isoformat() if rounded.time() == time.min else rounded.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"
    return str(value)
