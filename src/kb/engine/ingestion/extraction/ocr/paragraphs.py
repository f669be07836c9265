"""Rows of print as text: paragraphs with a blank line between, and words that a line's end divides made whole.

A paragraph begins after a blank, or in other print, or after a sentence's end if the line above is short or the line
itself indented. One that ends in the middle of a sentence, at the foot of a column, goes on at the head of the next.
"""

from collections.abc import Sequence
from itertools import pairwise
from statistics import median

from kb.engine.ingestion.extraction.line_ends import ends_sentence, join_divided_words
from kb.engine.ingestion.extraction.ocr.tables import Row

# In heights of the line; lines that are further below each other than the widest pitch never belong together.
_WIDEST_PITCH = 2.5
_INDENT = 0.8
_DEEPEST_INDENT = 4.0
# How much further than usual the next line is, how much shorter the last one of a paragraph is than the longest, and
# how much higher a line is in other print: by more than a half, since a line may be without any letter that is high.
_APART = 1.25
_SHORTER = 0.85
_OTHER_PRINT = 1.6


def render_blocks(blocks: Sequence[Sequence[Row]]) -> str:
    """No block may be empty."""
    paragraphs: list[list[Row]] = []
    is_open = False
    for block in blocks:
        first, *others = _split_paragraphs(block)
        if is_open and not block[0].is_of_table and first[0].text[:1].islower():
            paragraphs[-1] += first
        else:
            paragraphs.append(first)
        paragraphs += others
        is_open = not block[-1].is_of_table and not ends_sentence(block[-1].text)
    return "\n\n".join(_render(rows) for rows in paragraphs)


def _render(rows: Sequence[Row]) -> str:
    text = "\n".join(row.text for row in rows)
    # A table has no divided words, but grades and blood groups that end in a minus.
    return text if rows[0].is_of_table else join_divided_words(text)


def _split_paragraphs(rows: Sequence[Row]) -> list[list[Row]]:
    pitch = median([below.middle - above.middle for above, below in pairwise(rows)] or [0.0])
    pitch = min(pitch, _WIDEST_PITCH * median(row.box.height for row in rows))
    left = median(row.box.left for row in rows)
    right = max(row.box.right for row in rows)
    paragraphs = [[rows[0]]]
    for above, below in pairwise(rows):
        is_table = above.is_of_table and below.is_of_table
        if not is_table and (_is_apart(above, below, pitch) or _ends_paragraph(above, below, left, right)):
            paragraphs.append([])
        paragraphs[-1].append(below)
    return paragraphs


def _is_apart(above: Row, below: Row, pitch: float) -> bool:
    lower, higher = sorted((above.box.height, below.box.height))
    is_far = below.middle - above.middle > _APART * pitch
    return is_far or higher > _OTHER_PRINT * lower or above.is_of_table != below.is_of_table


def _ends_paragraph(above: Row, below: Row, left: float, right: float) -> bool:
    height = below.box.height
    is_indented = _INDENT * height < below.box.left - max(left, above.box.left) < _DEEPEST_INDENT * height
    is_short = above.box.right - left < _SHORTER * (right - left)
    return ends_sentence(above.text) and (is_indented or is_short)
