"""Which way is up, told by where the lines are and how well they are read."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.ingestion.extraction.ocr.detector import Slanted, runs_down
from kb.engine.ingestion.extraction.ocr.greys import Grey
from kb.engine.ingestion.extraction.ocr.lines import Box
from kb.engine.ingestion.extraction.ocr.orientation import find_quarter_turns, find_skew, straighten, turn
from kb.engine.ingestion.extraction.ocr.recogniser import Wording


def line(*, width: float = 300, height: float = 20, angle: float = 0, x: float = 200, y: float = 100) -> Slanted:
    return Slanted(x, y, width, height, angle)


class Legible:
    """Lines with a light dot above at their left end, which can be read if that is where it is."""

    def __init__(self, *, turned_by: int, best: float = 0.95) -> None:
        upright = np.zeros((10, 40), dtype=np.uint8)
        upright[0, 0] = 255
        self.crops = [np.rot90(upright, -turned_by)]
        self.best = best
        self.tries = 0

    def read(self, crop: Grey) -> Wording:
        self.tries += 1
        is_upright = crop.shape == (10, 40) and crop[0, 0] == 255
        return Wording("text", self.best if is_upright else 0.3, 2.0)


def test_most_of_the_print_decides_whether_it_runs_down() -> None:
    down = line(width=20, height=300)

    assert runs_down([down, down, line()])
    assert not runs_down([down, line(), line()])
    assert not runs_down([line(width=20, height=20)])


def test_long_lines_decide_on_the_skew() -> None:
    letters = [line(width=15, angle=angle) for angle in (-30, -20, 40, 44, 43, 41, 42)]

    assert find_skew([line(angle=6.9), line(angle=7), line(angle=7.1), *letters]) == 7


def test_a_page_that_is_straight_is_left_as_it_is() -> None:
    page = np.zeros((200, 400), dtype=np.uint8)

    straight, boxes = straighten(page, [line(angle=0.2)])

    assert straight is page
    assert boxes[0].width == pytest.approx(300, abs=1)


@pytest.mark.parametrize("angle", [-15, -4, 0.5, 7, 15])
def test_a_skewed_line_ends_up_in_its_box(angle: float) -> None:
    page = np.full((300, 400), 255, dtype=np.uint8)
    right, down = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    for step in range(-120, 121):
        x, y = round(150 + step * right), round(180 + step * down)
        page[y - 3 : y + 4, x - 3 : x + 4] = 0

    straight, (box,) = straighten(page, [line(width=256, height=16, angle=angle, x=150, y=180)])

    rows, columns = np.nonzero(straight < 128)
    assert box.left <= columns.min() <= box.left + 12
    assert box.right - 12 <= columns.max() <= box.right
    assert box.top <= rows.min()
    assert rows.max() <= box.bottom
    assert box.height == pytest.approx(16)


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_lines_are_turned_until_they_can_be_read(turns: int) -> None:
    lines = Legible(turned_by=turns)

    found, wordings = find_quarter_turns(lines.crops, lines.read, runs_down=turns in (1, 3))

    assert found == turns
    assert wordings == [Wording("text", 0.95, 2.0)]
    assert lines.tries <= 2


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_lines_as_high_as_wide_are_turned_all_ways(turns: int) -> None:
    lines = Legible(turned_by=turns)

    found, _ = find_quarter_turns(lines.crops, lines.read, runs_down=turns in (0, 2))

    assert found == turns


def test_poor_print_that_runs_across_is_not_read_sideways() -> None:
    lines = Legible(turned_by=2, best=0.7)

    found, _ = find_quarter_turns(lines.crops, lines.read, runs_down=False)

    assert found == 2
    assert lines.tries == 2


@given(st.integers(0, 3), st.integers(0, 50), st.integers(0, 30), st.integers(1, 10), st.integers(1, 10))
def test_a_box_is_turned_with_its_page(quarters: int, left: int, top: int, width: int, height: int) -> None:
    page = np.zeros((40, 60), dtype=np.uint8)
    page[top : top + height, left : left + width] = 255

    turned, (box,) = turn(page, [Box(left, top, left + width, top + height)], quarters)

    inside = turned[int(box.top) : int(box.bottom), int(box.left) : int(box.right)]
    assert inside.all()
    assert np.count_nonzero(turned) == inside.size == width * height
