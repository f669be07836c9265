"""The lines of a page in the order in which a person reads them.

A gutter is a blank with lines that begin at its right edge. Lines that run across it (headings, captions, footnotes)
cut it into stretches. In each of them the left side is read before the right side if the two are columns (`prose.py`
tells), and both may have gutters again. All else is read by rows, as a table is.

To cut the page at any blank, across and down in turn, is simpler: but that reads tables column by column, and columns
in slices wherever their paragraphs happen to end at one height.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from kb.engine.ingestion.extraction.ocr.lines import Line
from kb.engine.ingestion.extraction.ocr.paragraphs import render_blocks
from kb.engine.ingestion.extraction.ocr.prose import are_columns
from kb.engine.ingestion.extraction.ocr.tables import around, find_rows, group_rows

# Each cut leaves two parts to be cut again: three columns are two deep.
_MAX_DEPTH = 6
# How many places are tried, those first where most lines begin: an edge that only few share is no column's.
_MAX_EDGES = 16
# In heights of a line: edges that differ by less are the same one; how far a box may reach beyond its column, since the
# detector leaves some room around the letters; the widest space between two words of a line; what keeps a running head
# apart from the columns; and what parts two things that have nothing to do with each other.
_SAME_EDGE = 0.5
_OVERHANG = 0.25
_WIDE_SPACE = 1.3
_BLANK_AT_HEAD = 1.2
_BIG_BLANK = 5.0
# So many words that stand behind a wide space may begin at one place by chance.
_BY_CHANCE = 2


def arrange(lines: Sequence[Line]) -> str:
    """Their text: columns one after the other, rows of tables as lines with ` | ` between the cells, a blank line
    between paragraphs. Each line is there once; words that are divided at a line's end are made whole."""
    lines = sorted((line for line in lines if line.text.strip()), key=lambda line: (_middle(line), line.box.left))
    return render_blocks([find_rows(block) for block in _order(_mend(lines), _MAX_DEPTH)]) if lines else ""


@dataclass
class _Stretch:
    left: list[Line] = field(default_factory=list)
    right: list[Line] = field(default_factory=list)

    @property
    def lines(self) -> list[Line]:
        return sorted(self.left + self.right, key=_middle)


_Part = _Stretch | list[Line]


def _mend(lines: list[Line]) -> list[Line]:
    """Lines in one again that were detected in pieces: the blank is not too wide, and no others begin or end there."""
    height = _usual_height(lines)
    lefts = sorted(line.box.left for line in lines)
    rights = sorted(line.box.right for line in lines)
    mended: list[Line] = []
    for row in group_rows(lines):
        mended.append(row[0])
        for piece in row[1:]:
            end, start = mended[-1].box.right, piece.box.left
            shared = max(_count_near(start, lefts, height), _count_near(end, rights, height))
            if start - end < _WIDE_SPACE * height and shared <= _BY_CHANCE:
                mended[-1] = _join(mended[-1], piece)
            else:
                mended.append(piece)
    return sorted(mended, key=_middle)


def _count_near(edge: float, edges: list[float], height: float) -> int:
    reach = _SAME_EDGE * height
    return bisect_left(edges, edge + reach) - bisect_left(edges, edge - reach)


def _join(left: Line, right: Line) -> Line:
    return Line(around((left, right)), f"{left.text} {right.text}", min(left.confidence, right.confidence))


def _order(lines: list[Line], depth: int) -> Iterator[list[Line]]:
    """Blocks to be read by rows, one after the other."""
    parts = _cut_at_best_gutter(lines) if depth else []
    if not parts:
        yield lines
    for part in parts:
        for side in (part.left, part.right) if isinstance(part, _Stretch) else (part,):
            yield from _order(side, depth - 1)


def _cut_at_best_gutter(lines: list[Line]) -> list[_Part]:
    """The lines in columns as stretches, all others as they are; nothing if there are no columns."""
    height = _usual_height(lines)
    best: list[_Part] = []
    most = 0
    for edge in _find_edges(lines, height):
        parts = _cut_at(edge, lines, height)
        count = sum(len(part.lines) for part in parts if isinstance(part, _Stretch))
        if count > most:
            best, most = parts, count
    return best


def _find_edges(lines: list[Line], height: float) -> list[float]:
    """Where most lines begin, other than at the left edge of all."""
    edges: list[list[float]] = []
    for left in sorted(line.box.left for line in lines):
        if edges and left - edges[-1][0] < _SAME_EDGE * height:
            edges[-1].append(left)
        else:
            edges.append([left])
    return [edge[0] for edge in sorted(edges[1:], key=len, reverse=True)[:_MAX_EDGES] if len(edge) > 1]


def _cut_at(edge: float, lines: list[Line], height: float) -> list[_Part]:
    parts: list[_Part] = []
    for part in _find_stretches(edge, lines, height):
        others = part.lines if isinstance(part, _Stretch) else part
        if isinstance(part, _Stretch) and are_columns(part.left, part.right, height):
            parts.append(part)
        elif parts and isinstance(parts[-1], list):
            parts[-1] += others
        elif others:
            parts.append(others)
    return parts


def _find_stretches(edge: float, lines: list[Line], height: float) -> Iterator[_Part]:
    """From top to bottom, stretches and in between the lines that run across."""
    stretch = _Stretch()
    bottom, overhang = lines[0].box.bottom, _OVERHANG * height
    for line in lines:
        is_left = line.box.right < edge + overhang
        is_across = not is_left and line.box.left < edge - overhang
        if is_across or line.box.top - bottom > _BIG_BLANK * height:
            yield from _peel(stretch, height)
            stretch = _Stretch()
        if is_across:
            yield [line]
        else:
            (stretch.left if is_left else stretch.right).append(line)
        bottom = max(bottom, line.box.bottom)
    yield from _peel(stretch, height)


def _peel(stretch: _Stretch, height: float) -> Iterator[_Part]:
    """The stretch without its first and its last row if they stand apart: running heads, page numbers."""
    bands = _find_bands(stretch.lines, height)
    head = bands[0] if len(bands) > 1 and _is_one_row(bands[0]) else []
    foot = bands[-1] if len(bands) > 2 - (not head) and _is_one_row(bands[-1]) else []
    apart = {id(line) for line in head + foot}
    yield head
    yield _Stretch(*([line for line in side if id(line) not in apart] for side in (stretch.left, stretch.right)))
    yield foot


def _find_bands(lines: list[Line], height: float) -> list[list[Line]]:
    """The lines, parted by blanks from the left edge to the right one."""
    bands: list[list[Line]] = []
    bottom = float("-inf")
    for line in lines:
        if line.box.top - bottom > _BLANK_AT_HEAD * height:
            bands.append([])
        bands[-1].append(line)
        bottom = max(bottom, line.box.bottom)
    return bands


def _is_one_row(lines: list[Line]) -> bool:
    return max(line.box.top for line in lines) < min(line.box.bottom for line in lines)


def _usual_height(lines: list[Line]) -> float:
    return median(line.box.height for line in lines)


def _middle(line: Line) -> float:
    return (line.box.top + line.box.bottom) / 2
