"""How wide print is made to be read."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from tests.extraction.ocr.printed_pages import FONTS, SANS

from kb.engine.ingestion.extraction.ocr.greys import Grey
from kb.engine.ingestion.extraction.ocr.recogniser import Recogniser, Wording, choose_stretch


def wordings(*steps: float, confidence: float = 0.98) -> list[Wording]:
    return [Wording("text", confidence, each) for each in steps]


def test_wide_print_is_squeezed_and_narrow_print_stretched() -> None:
    assert choose_stretch(wordings(1.9, 2.0, 2.6)) == pytest.approx(0.8)
    assert choose_stretch(wordings(1.28)) == pytest.approx(1.25)


def test_print_is_not_squeezed_or_stretched_beyond_recognition() -> None:
    assert choose_stretch(wordings(2.9)) == pytest.approx(0.6)
    assert choose_stretch(wordings(0.5)) == pytest.approx(1.5)


def test_ideographs_and_what_was_hardly_read_keep_their_width() -> None:
    assert choose_stretch(wordings(4.1, 4.3)) == 1
    assert choose_stretch(wordings(2.4, confidence=0.6)) == 1
    assert choose_stretch([]) == 1


@pytest.fixture(scope="module")
def recogniser() -> Recogniser:
    return Recogniser()


def draw(text: str, *, size: int) -> Grey:
    face = ImageFont.truetype(FONTS / SANS, size)
    picture = Image.new("L", (round(face.getlength(text)) + size, round(1.5 * size)), 255)
    ImageDraw.Draw(picture).text((size // 2, round(0.2 * size)), text, font=face, fill=0)
    return np.asarray(picture)


def test_a_line_that_was_squeezed_too_much_is_read_again(recogniser: Recogniser) -> None:
    text = "All bottles of the cellar will be collected still."
    line = draw(text, size=32)

    crowded = recogniser.read(line, 0.55)

    assert crowded.text != text
    assert recogniser.improve(None, line, 0.55).text == text
    assert recogniser.improve(crowded, line, 0.55).text == text


def test_a_line_too_wide_to_be_read_in_one_go_is_read_in_pieces(recogniser: Recogniser) -> None:
    text = " ".join(f"berth {number}" for number in range(100, 160))

    assert recogniser.read(draw(text, size=16)).text == text


def test_a_line_of_nothing_has_no_words(recogniser: Recogniser) -> None:
    for shape in ((1, 1), (4, 900), (300, 2)):
        assert recogniser.improve(None, np.full(shape, 255, dtype=np.uint8), 1.0).text == ""
