"""Detected boxes that run across the gutter between two columns, cut there before they are read.

Where lines of two columns stand side by side at a small distance, the detector takes them for one. The page itself
tells: there is no ink in the gutter, from the top of the line to its bottom. A wide blank parts columns or cells. A
narrow one may be the space between two words of a justified line, so the lines above and below are asked as well: they
have a blank, or begin, at the same place.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kb.engine.ingestion.extraction.ocr.lines import Box

# In heights of the box, which the detector makes somewhat higher than its letters.
_WIDE_BLANK = 1.5
_NARROW_BLANK = 0.4
_SAME_PLACE = 0.25
# What is left of the blank on either side: a letter is read better with some room around it.
_MARGIN = 0.1
# How far above and below lines are asked, and how many at most: as many as there are on a crowded page.
_NEAR = 8.0
_MOST_ASKED = 64
_FEWEST_WITNESSES = 3
# Of those that have ink at that place, how many may be headings and the like.
_OBJECTIONS = 0.3
# How much darker (or lighter) than its surroundings ink is, and what share of a column of dots may be dirt.
_INK_CONTRAST = 0.5
_DIRT = 0.05
# A line of print leaves some of its box free above and below; a rule between two columns does not.
_RULE = 0.9


@dataclass(frozen=True)
class _Print:
    box: Box
    start: float
    """Where its first letter is: the detector leaves more or less room before it."""
    blanks: list[tuple[float, float]]
    """From the left, those that are wide enough for a gutter."""

    @property
    def middle(self) -> float:
        return (self.box.top + self.box.bottom) / 2


def split_at_gutters(boxes: Sequence[Box], grey: np.ndarray) -> list[Box]:
    """The same boxes, but those in pieces that have a gutter in them. No ink is lost."""
    prints = sorted((_look_at(box, grey) for box in boxes), key=lambda one: one.middle)
    middles = [one.middle for one in prints]
    return [piece for place, one in enumerate(prints) for piece in _split(one, _find_near(place, prints, middles))]


def _find_near(place: int, prints: list[_Print], middles: list[float]) -> list[_Print]:
    reach = _NEAR * prints[place].box.height
    first = max(bisect_left(middles, middles[place] - reach), place - _MOST_ASKED // 2)
    last = min(bisect_left(middles, middles[place] + reach), place + _MOST_ASKED // 2)
    return prints[first:place] + prints[place + 1 : last]


def _split(one: _Print, near: list[_Print]) -> Iterator[Box]:
    box = one.box
    left, margin = box.left, _MARGIN * box.height
    for start, end in one.blanks:
        if end - start >= _WIDE_BLANK * box.height or _is_gutter(start, end, _SAME_PLACE * box.height, near):
            yield Box(left, box.top, start + margin, box.bottom)
            left = end - margin
    yield Box(left, box.top, box.right, box.bottom)


def _is_gutter(start: float, end: float, reach: float, near: list[_Print]) -> bool:
    witnesses = objections = 0
    for other in near:
        begins = [other.start, *(blank_end for _, blank_end in other.blanks)]
        if any(abs(begin - end) < reach for begin in begins):
            witnesses += 1
        elif other.box.left < start and other.box.right > end:
            objections += 1
    return witnesses >= _FEWEST_WITNESSES and objections <= _OBJECTIONS * witnesses


def _look_at(box: Box, grey: np.ndarray) -> _Print:
    first_column = max(0, int(box.left))
    dots = grey[max(0, int(box.top)) : max(0, int(box.bottom)), first_column : max(0, int(box.right))]
    if dots.size == 0:
        return _Print(box, box.left, [])
    contrast = np.abs(dots.astype(np.int16) - np.int16(np.median(dots)))
    share = (contrast > _INK_CONTRAST * np.percentile(contrast, 99)).mean(axis=0)
    inked = first_column + np.flatnonzero((share > _DIRT) & (share < _RULE))
    ends = np.flatnonzero(np.diff(inked) > _NARROW_BLANK * box.height)
    blanks = [(float(inked[end] + 1), float(inked[end + 1])) for end in ends]
    return _Print(box, float(inked[0]) if inked.size else box.left, blanks)
