"""CSV and its kin: records, whatever stands between their cells.

Rows are numbered by record, as a spreadsheet shows them: a cell of several lines does not count as several rows, and
a blank line counts as one.
"""

import csv
import re
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path

from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.tables.rows import (
    Table,
    TableParts,
    cut_into_sections,
    find_tables,
    make_row,
    part_of,
)
from kb.engine.ingestion.extraction.readers.text.plain_text import read_text
from kb.engine.ingestion.sections import Section

_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
# The line by which some files tell spreadsheet programs what stands between their cells.
_TOLD_DELIMITER = re.compile(r"sep=(.)\n", re.IGNORECASE)
# In the order of preference: a comma stands inside cells too, in numbers and sentences.
_DELIMITERS = "\t;|,"
_SAMPLE_CHARACTERS = 50_000
_SAMPLE_RECORDS = 100
# No text has it. After the last line it is a record by itself, unless a quote before it was never closed.
_END = "\x1e"


@dataclass(frozen=True)
class _Form:
    delimiter: str
    has_quotes: bool = True


def read(path: Path) -> Extracted:
    text = read_text(path)
    # The library's limit on a cell guards against a quote that is never closed; we look for that ourselves.
    csv.field_size_limit(len(text) + 1)
    told = _TOLD_DELIMITER.match(text)
    start = told.end() if told else 0
    form = _Form(told[1] if told else _guess_delimiter(text[:_SAMPLE_CHARACTERS]))
    [(count, last)] = deque(enumerate(_parse(text, start, form)), maxlen=1)
    if last != [_END]:
        form = _Form(form.delimiter, has_quotes=False)
        count = sum(1 for _ in _parse(text, start, form)) - 1
    table = Table(partial(_read_sections, text, start, form), range(part_of(count) + 1))
    return Extracted(TableParts([table]), unit="part")


def _read_sections(text: str, start: int, form: _Form) -> Iterator[tuple[int, Section]]:
    records = enumerate(_parse(text, start, form), start=1)
    rows = (make_row(number, cells) for number, cells in records if cells != [_END])
    return cut_into_sections(find_tables(rows))


def _parse(text: str, start: int, form: _Form) -> Iterator[list[str]]:
    """The records, and after them one that holds `_END` alone if all quotes are closed."""
    lines = (line[0] for line in _LINE.finditer(text, start))
    return csv.reader(
        chain(lines, [_END]), delimiter=form.delimiter, quoting=csv.QUOTE_MINIMAL if form.has_quotes else csv.QUOTE_NONE
    )


def _guess_delimiter(sample: str) -> str:
    """The one that cuts the most records into the same number of cells, more than one."""

    def regularity(delimiter: str) -> float:
        records = islice(filter(None, csv.reader(sample.splitlines(), delimiter=delimiter)), _SAMPLE_RECORDS)
        widths = Counter(map(len, records))
        return max((times / widths.total() for width, times in widths.items() if width > 1), default=0.0)

    return max(_DELIMITERS, key=regularity)
