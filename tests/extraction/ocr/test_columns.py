"""Boxes that run across a gutter are cut there, and no others."""

from dataclasses import replace
from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.ingestion.extraction.ocr.columns import split_at_gutters
from kb.engine.ingestion.extraction.ocr.lines import Box

HEIGHT = 24
PITCH = 30
WORD = 40
SPACE = 8


class Page:
    """Words are blocks of ink; each line leaves some of its height free."""

    def __init__(self, *, paper: int = 240, ink: int = 20) -> None:
        self.grey = np.full((600, 1000), paper, dtype=np.uint8)
        self.ink = ink

    def put(self, row: int, *starts: int) -> Box:
        """One box around words that begin at these places."""
        top = 20 + PITCH * row
        for start in starts:
            self.grey[top + 4 : top + HEIGHT - 4, start : start + WORD] = self.ink
        return Box(min(starts) - 3, top, max(starts) + WORD + 3, top + HEIGHT)


def words(start: int, count: int) -> range:
    return range(start, start + count * (WORD + SPACE), WORD + SPACE)


def test_a_box_is_cut_at_a_wide_blank() -> None:
    page = Page()
    box = page.put(0, *words(100, 3), *words(400, 3))

    left, right = split_at_gutters([box], page.grey)

    assert (left.left, right.right) == (box.left, box.right)
    assert 236 <= left.right < right.left <= 400
    assert (left.top, left.bottom, right.top, right.bottom) == (box.top, box.bottom) * 2


@pytest.mark.parametrize("shades", [(240, 20), (40, 225), (200, 150)])
def test_a_narrow_gutter_is_known_by_the_lines_around(shades: tuple[int, int]) -> None:
    page = Page(paper=shades[0], ink=shades[1])
    boxes = [page.put(row, *words(100, 4), *words(308, 3)) for row in range(6)]

    pieces = split_at_gutters(boxes, page.grey)

    assert len(pieces) == 12
    assert all(piece.right < 308 or piece.left > 280 for piece in pieces)


def test_lines_that_were_told_apart_are_witnesses_too() -> None:
    page = Page()
    apart = [page.put(row, *words(start, 3)) for row in range(5) for start in (100, 260)]
    joined = page.put(5, *words(100, 3), *words(260, 3))

    assert len(split_at_gutters([*apart, joined], page.grey)) == 12


def test_how_much_room_the_detector_leaves_before_a_line_does_not_matter() -> None:
    page = Page()
    apart = [page.put(row, *words(start, 3)) for row in range(5) for start in (100, 260)]
    roomy = [replace(box, left=box.left - 8) for box in apart]
    joined = page.put(5, *words(100, 3), *words(260, 3))

    assert len(split_at_gutters([*roomy, joined], page.grey)) == 12


def test_the_spaces_of_a_justified_line_are_not_gutters() -> None:
    page = Page()
    lengths = np.random.default_rng(3).integers(WORD + 10, WORD + 34, (15, 8)).tolist()
    boxes = [page.put(row, *accumulate(steps, initial=100)) for row, steps in enumerate(lengths)]

    assert split_at_gutters(boxes, page.grey) == boxes


def test_a_heading_across_the_gutter_stays_whole() -> None:
    page = Page()
    heading = page.put(0, *words(100, 9))
    boxes = [page.put(row, *words(100, 4), *words(308, 3)) for row in range(1, 6)]

    assert heading in split_at_gutters([heading, *boxes], page.grey)


def test_a_rule_between_two_columns_belongs_to_neither() -> None:
    page = Page()
    box = page.put(0, *words(100, 3), *words(400, 3))
    page.grey[:, 318:320] = page.ink

    pieces = split_at_gutters([box], page.grey)

    assert [piece.right < 318 or piece.left > 320 for piece in pieces] == [True, True]


def test_a_hyphen_at_the_end_of_a_column_is_not_cut_off() -> None:
    page = Page()
    box = page.put(0, *words(100, 3), *words(400, 3))
    page.grey[30:33, 240:250] = page.ink

    left, _ = split_at_gutters([box], page.grey)

    assert left.right >= 250


coordinates = st.floats(-50, 150, allow_nan=False)


@given(st.lists(st.tuples(coordinates, coordinates, coordinates, coordinates), max_size=8), st.integers(0, 2**32 - 1))
def test_pieces_follow_one_another_inside_their_box(edges: list[tuple[float, float, float, float]], seed: int) -> None:
    boxes = [Box(min(a, b), min(c, d), max(a, b), max(c, d)) for a, b, c, d in edges]
    grey = np.random.default_rng(seed).choice(np.array([20, 240, 240, 240], dtype=np.uint8), (100, 100))

    pieces = split_at_gutters(boxes, grey)

    assert len(pieces) >= len(boxes)
    for box in boxes:
        of_box = [one for one in pieces if (one.top, one.bottom) == (box.top, box.bottom)]
        assert any(one.left == box.left for one in of_box)
        assert any(one.right == box.right for one in of_box)
        assert all(one.width >= 0 for one in of_box)


@given(st.lists(st.booleans(), min_size=20, max_size=60))
def test_no_ink_is_lost(pattern: list[bool]) -> None:
    grey = np.full((40, 20 * len(pattern)), 240, dtype=np.uint8)
    for place, is_ink in enumerate(pattern):
        if is_ink:
            grey[14:30, 20 * place : 20 * place + 20] = 20

    pieces = split_at_gutters([Box(0, 10, grey.shape[1], 34)], grey)

    columns = {column for piece in pieces for column in range(int(piece.left), int(np.ceil(piece.right)))}
    assert set(np.flatnonzero((grey < 100).any(axis=0))) <= columns
