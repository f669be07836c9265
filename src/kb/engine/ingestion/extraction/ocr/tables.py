"""Lines that stand beside one another, put together as rows: those of a table, a receipt or a form.

A row of a table has a blank where the row above or below it has one. Where the columns can be told apart, an empty cell
stays empty, and a cell of several lines becomes one again: its later lines follow at the distance of lines, where rows
keep a wider one, or leave the first column empty.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from statistics import median

from kb.engine.ingestion.extraction.ocr.lines import Box, Line

_CELL_SEPARATOR = " | "
# In heights of a line: a blank that parts cells where the row above or below has one too, and anywhere.
_BLANK_IN_TABLE = 0.3
_BLANK_ALONE = 2.5
_SAME_ROW = 0.5
# How far below each other the middles of two lines of one cell are at most, and those of two rows that are set apart.
_LINE_PITCH = 1.4
_ROW_PITCH = 1.6

_Span = tuple[float, float]


@dataclass(frozen=True)
class Row:
    box: Box
    text: str
    is_of_table: bool

    @property
    def middle(self) -> float:
        return (self.box.top + self.box.bottom) / 2


def find_rows(lines: Sequence[Line]) -> list[Row]:
    """From top to bottom, as the lines are given."""
    rows: list[Row] = []
    for is_table, group in groupby(_tell_tables(list(group_rows(lines))), key=lambda pair: pair[1]):
        pieces = [row for row, _ in group]
        columns = _find_columns(pieces) if is_table else []
        if columns:
            rows += _render_table(pieces, columns)
        else:
            rows += [Row(around(row), _join_pieces(row, is_table=is_table), is_table) for row in pieces]
    return rows


def group_rows(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """The pieces of each row, from left to right."""
    row: list[Line] = []
    for line in lines:
        if row and not _is_beside(line, row):
            yield sorted(row, key=lambda piece: piece.box.left)
            row = []
        row.append(line)
    if row:
        yield sorted(row, key=lambda piece: piece.box.left)


def _is_beside(line: Line, row: list[Line]) -> bool:
    box, last = line.box, row[-1].box
    reach = _SAME_ROW * min(box.height, last.height)
    is_level = abs((box.top + box.bottom) - (last.top + last.bottom)) / 2 < reach
    return is_level and all(box.left > piece.box.right - reach or box.right < piece.box.left + reach for piece in row)


def _tell_tables(rows: list[list[Line]]) -> Iterator[tuple[list[Line], bool]]:
    """Each row, and whether it is one of a table."""
    entries: list[list[list[Line]]] = []
    for row in rows:
        if entries and _goes_on(entries[-1], row):
            entries[-1].append(row)
        else:
            entries.append([row])
    blanks = [_find_blanks(entry[0]) for entry in entries]
    shared = [_share_a_blank(above, below) for above, below in pairwise(blanks)]
    for entry, has_like_above, has_like_below in zip(entries, [False, *shared], [*shared, False], strict=True):
        for row in entry:
            yield row, has_like_above or has_like_below


def _goes_on(entry: list[list[Line]], row: list[Line]) -> bool:
    """Whether a line alone can be the next one of a cell."""
    cells, above, box = entry[0], entry[-1][0].box, row[0].box
    over = [cell for cell in cells if cell.box.left < box.right and box.left < cell.box.right]
    return len(row) == len(over) == 1 < len(cells) and _pitch(above, box) < _LINE_PITCH * above.height


def _pitch(above: Box, below: Box) -> float:
    return (below.top + below.bottom - above.top - above.bottom) / 2


def _find_blanks(row: list[Line]) -> list[_Span]:
    least = _BLANK_IN_TABLE * median(piece.box.height for piece in row)
    gaps = ((one.box.right, other.box.left) for one, other in pairwise(row))
    return [(start, end) for start, end in gaps if end - start >= least]


def _share_a_blank(above: list[_Span], below: list[_Span]) -> bool:
    return any(start < other_end and other_start < end for start, end in above for other_start, other_end in below)


def _find_columns(table: list[list[Line]]) -> list[_Span]:
    """From where to where each column goes, by all rows, or if one of their cells reaches across by the fullest ones;
    none if they cannot be told apart."""
    most = max(map(len, table))
    fullest = [row for row in table if len(row) == most]
    return next((spans for rows in (table, fullest) if len(spans := _find_spans(rows)) >= most), [])


def _find_spans(rows: list[list[Line]]) -> list[_Span]:
    spans: list[_Span] = []
    for left, right in sorted((piece.box.left, piece.box.right) for row in rows for piece in row):
        if spans and left < spans[-1][1]:
            spans[-1] = (spans[-1][0], max(right, spans[-1][1]))
        else:
            spans.append((left, right))
    return spans


def _sort_into(columns: list[_Span], row: list[Line]) -> list[str]:
    """The text of each cell, in the column that it overlaps most, or is nearest to."""
    cells = [""] * len(columns)
    for piece in row:
        overlaps = [min(right, piece.box.right) - max(left, piece.box.left) for left, right in columns]
        place = overlaps.index(max(overlaps))
        cells[place] = f"{cells[place]} {piece.text}".lstrip()
    return cells


def _render_table(table: list[list[Line]], columns: list[_Span]) -> Iterator[Row]:
    height = median(piece.box.height for row in table for piece in row)
    boxes = [around(row) for row in table]
    pitches = [_pitch(above, below) / height for above, below in pairwise(boxes)]
    are_rows_apart = max(pitches, default=0) > _ROW_PITCH and min(pitches, default=0) < _LINE_PITCH
    cells: list[str] = []
    merged: list[Line] = []
    for row, pitch in zip(table, [_ROW_PITCH, *pitches], strict=True):
        texts = _sort_into(columns, row)
        if pitch < _LINE_PITCH and (are_rows_apart or not texts[0]) and _can_go_on(cells, texts):
            cells = [f"{cell} {text}".strip() for cell, text in zip(cells, texts, strict=True)]
            merged += row
            continue
        if merged:
            yield Row(around(merged), _join_cells(cells), is_of_table=True)
        cells, merged = texts, list(row)
    yield Row(around(merged), _join_cells(cells), is_of_table=True)


def _can_go_on(cells: list[str], texts: list[str]) -> bool:
    """Whether the texts can be next lines of the cells: words below words, but not in every cell."""
    below = [(cell, text) for cell, text in zip(cells, texts, strict=True) if text]
    return len(below) < sum(map(bool, cells)) and all(cell and any(map(str.isalpha, text)) for cell, text in below)


def _join_cells(cells: list[str]) -> str:
    while not cells[-1]:
        cells = cells[:-1]
    return _CELL_SEPARATOR.join(cells).replace(f":{_CELL_SEPARATOR}", ": ").strip()


def _join_pieces(row: list[Line], *, is_table: bool) -> str:
    least = (_BLANK_IN_TABLE if is_table else _BLANK_ALONE) * median(piece.box.height for piece in row)
    cells = [row[0].text]
    for piece, after in pairwise(row):
        if after.box.left - piece.box.right >= least:
            cells.append(after.text)
        else:
            cells[-1] += " " + after.text
    return _join_cells(cells)


def around(row: Sequence[Line]) -> Box:
    boxes = [piece.box for piece in row]
    return Box(
        min(box.left for box in boxes),
        min(box.top for box in boxes),
        max(box.right for box in boxes),
        max(box.bottom for box in boxes),
    )
