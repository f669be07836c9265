"""Lines of print are found wherever in a picture they are, however large it is. The real network looks at it."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from tests.extraction.ocr.printed_pages import FONTS, SANS

from kb.engine.ingestion.extraction.ocr.detector import Detector


@pytest.fixture(scope="module")
def detector() -> Detector:
    return Detector(threads=1)


def rows_of_lines(detector: Detector, size: tuple[int, int], rows: list[int], letters: int) -> list[int]:
    """In which of the rows a line is found, on white paper that has one in each."""
    paper = Image.new("L", size, 255)
    face = ImageFont.truetype(FONTS / SANS, letters)
    for row in rows:
        ImageDraw.Draw(paper).text((20, row), "oars are worn as seas rise", font=face, fill=0, anchor="lm")
    lines = detector.find_lines(np.asarray(paper))
    return [row for row in rows if any(abs(line.y - row) < letters for line in lines)]


@pytest.mark.parametrize("size", [(5000, 5000), (110, 220_000)])
def test_of_the_largest_pictures_all_is_looked_at_though_the_print_is_tiny(
    detector: Detector, size: tuple[int, int]
) -> None:
    """I3"""
    bottom = size[1] - 20
    rows = [20, 40, 60, bottom - 40, bottom - 20, bottom]

    assert rows_of_lines(detector, size, rows, letters=6) == rows


def test_one_line_of_small_print_is_found_below_a_large_title(detector: Detector) -> None:
    """I3: there are too few lines of either to tell how large the print is."""
    paper = Image.new("L", (2500, 3125), 255)
    pen = ImageDraw.Draw(paper)
    pen.text((100, 800), "HAR", font=ImageFont.truetype(FONTS / SANS, 700), fill=0, anchor="lm")
    pen.text(
        (300, 2900),
        "The harbour office opens at seven.",
        font=ImageFont.truetype(FONTS / SANS, 28),
        fill=0,
        anchor="lm",
    )

    found = sorted(round(line.y, -2) for line in detector.find_lines(np.asarray(paper)))

    assert found == [800, 2900]
