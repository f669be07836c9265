"""What tells two columns, to be read one after the other, from the columns of a table, to be read by rows.

Columns stand beside one another, as the speech bubbles of a chat do not. If their lines do not stand in rows, that is
enough. If they do, as print on a grid does, both sides must look like prose; or there must be something beside most of
the lines, not only beside the first of a cell, and one side be prose beyond doubt, or both be long listings with the
same indents, as in an index.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from kb.engine.ingestion.extraction.ocr.lines import Line

_WORD = re.compile(r"[^\W\d_]{2,}")
# A dash or a star alone is what some tables have in an empty cell.
_LIST_ENTRY = re.compile(r"[\u2022\u00b7\u25cf\u25cb\u25aa\u25a0\u2023\u2013*-]\s*[^\W\d_]{2}")

_FEWEST_ROWS = 3
# Fewer misplaced rows than these may be cells that are set in the middle of higher ones.
_FEW_ROWS = 5
_MANY_ROWS = 15
# Shares of the rows of the shorter side.
_BESIDE = 0.5
_IN_ROWS = 0.7
# At what share of the rows there is something on the other side, where a table of long cells has less.
_DENSE = 0.6
# In heights of a line: how far two lines of one row may be out of line; how wide the entries of a menu are, a column
# that stands beside prose, and a line of prose; and how far apart the left edges of two columns are at least.
_SAME_ROW = 0.3
_MENU_WIDTH = 2.5
_COLUMN_WIDTH = 4.0
_LONG_LINE = 11.0
_NEXT_COLUMN = 3.0

_ALL_SIGNS = 4
_ENOUGH_SIGNS = 3
_MANY_WORDS = 4
# Shares of the lines: indented alike, with bullets, with a small letter first, and that nearly fill the column.
_INDENTED = 0.12
_BULLETED = 0.4
_RUN_ON = 0.3
_FULL = 0.5
_NEARLY = 0.75


def are_columns(left: Sequence[Line], right: Sequence[Line], height: float) -> bool:
    """Both sides are given from top to bottom; `height` is that of a usual line. Only where there is something on both
    sides does it count."""
    if not (left and right):
        return False
    top, bottom = max(left[0].box.top, right[0].box.top), min(left[-1].box.bottom, right[-1].box.bottom)
    sides = [[line for line in side if line.box.bottom > top and line.box.top < bottom] for side in (left, right)]
    rows = [_find_levels(side, height) for side in sides]
    fewer, more = sorted(rows, key=len)
    distances = [_distance_to_nearest(level, more) for level in fewer]
    if len(fewer) < _FEWEST_ROWS or sum(distance < height for distance in distances) < _BESIDE * len(fewer):
        return False
    lower, higher = sorted(_count_signs_of_prose(side, height) for side in sides)
    if sum(distance < _SAME_ROW * height for distance in distances) < _IN_ROWS * len(fewer):
        widths = [sum(line.box.width for line in side) / len(levels) for side, levels in zip(sides, rows, strict=True)]
        return min(widths) > _MENU_WIDTH * height and (len(fewer) >= _FEW_ROWS or higher >= _ENOUGH_SIGNS)
    if lower >= _ENOUGH_SIGNS:
        return True
    narrower = min(median(line.box.width for line in side) for side in sides)
    is_dense = len(fewer) > _DENSE * len(more) and narrower > _COLUMN_WIDTH * height
    is_listing = len(fewer) >= _MANY_ROWS and _have_same_indents(sides, height)
    return is_dense and (higher == _ALL_SIGNS or is_listing)


def _have_same_indents(sides: list[list[Line]], height: float) -> bool:
    """Whether lines of both are indented by the same length. Where the right half of the left side begins, that may be
    another column of a table whose columns are equally wide, so it does not count."""
    starts = [min(line.box.left for line in side) for side in sides]
    pitch = (starts[1] - starts[0]) / height
    shares = []
    for side, start in zip(sides, starts, strict=True):
        indents = [(line.box.left - start) / height for line in side]
        counts = Counter(round(indent) for indent in indents if 1 < indent < pitch / 2 - 1)
        shares.append({indent: count / len(side) for indent, count in counts.items()})
    return any(min(share, shares[1].get(indent, 0)) >= _INDENTED for indent, share in shares[0].items())


def _find_levels(lines: list[Line], height: float) -> list[float]:
    """Where the middles of its rows are."""
    levels: list[float] = []
    for line in lines:
        middle = (line.box.top + line.box.bottom) / 2
        if not levels or middle - levels[-1] > _SAME_ROW * height:
            levels.append(middle)
    return levels


def _distance_to_nearest(level: float, levels: list[float]) -> float:
    place = bisect_left(levels, level)
    return min(abs(level - other) for other in levels[max(0, place - 1) : place + 1])


def _count_signs_of_prose(lines: list[Line], height: float) -> int:
    """Of four: full lines, long ones, several words, sentences that run on. A list with bullets has enough of them."""
    if sum(_LIST_ENTRY.match(line.text) is not None for line in lines) >= _BULLETED * len(lines):
        return _ENOUGH_SIGNS
    # Chinese has neither small letters nor spaces between its words.
    has_no_case = _share_without_case(lines) > 0.5
    signs = (
        _share_of_full(lines, height) >= _FULL,
        median(line.box.width for line in lines) >= _LONG_LINE * height,
        has_no_case or median(len(_WORD.findall(line.text)) for line in lines) >= _MANY_WORDS,
        has_no_case or sum(line.text[:1].islower() for line in lines) >= _RUN_ON * len(lines),
    )
    return sum(signs)


def _share_without_case(lines: list[Line]) -> float:
    letters = [letter for line in lines for letter in line.text if letter.isalpha()]
    return sum(letter.lower() == letter.upper() for letter in letters) / max(1, len(letters))


def _share_of_full(lines: list[Line], height: float) -> float:
    """How many go nearly as far to the right as the others of their column; there may be several columns in a side."""
    ordered = sorted(lines, key=lambda line: line.box.left)
    columns = [[ordered[0]]]
    for before, line in pairwise(ordered):
        if line.box.left - before.box.left > _NEXT_COLUMN * height:
            columns.append([])
        columns[-1].append(line)
    full = 0
    for column in columns:
        left = column[0].box.left
        widths = sorted(line.box.right - left for line in column)
        usual = widths[int(0.9 * (len(widths) - 1))]
        full += sum(width >= _NEARLY * usual for width in widths)
    return full / len(lines)
