"""Pictures of print, read by the real networks. They are small: a line takes a tenth of a second."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from tests.extraction.ocr.printed_pages import CHINESE, FONTS, SANS

from kb.engine.ingestion.extraction.ocr.page import PageReader
from kb.engine.ingestion.extraction.ocr.reading import Reading

HARBOUR = ("The harbour office opens at seven.", "Boats pay nine crowns a night.", "Ask the warden for a key.")
NOTHING = Reading("", 0.0)


@pytest.fixture(scope="module")
def reader() -> PageReader:
    return PageReader(threads=1)


def draw(
    *lines: str, paper: object = 255, ink: object = 0, mode: str = "L", font: str = SANS, size: int = 26
) -> Image.Image:
    face = ImageFont.truetype(FONTS / font, size)
    width = round(max(face.getlength(line) for line in lines)) + 2 * size
    picture = Image.new(mode, (width, round((1.7 * len(lines) + 1) * size)), paper)  # type: ignore[arg-type]
    for number, line in enumerate(lines):
        ImageDraw.Draw(picture).text((size, round((0.7 + 1.7 * number) * size)), line, font=face, fill=ink)  # type: ignore[arg-type]
    return picture


def words(reading: Reading) -> list[str]:
    return reading.text.split()


EXPECTED = " ".join(HARBOUR).split()


@pytest.mark.parametrize("angle", [0, 90, 180, 270])
def test_a_page_is_read_whichever_way_it_was_laid_down(reader: PageReader, angle: int) -> None:
    """I3"""
    reading = reader.read(draw(*HARBOUR).rotate(angle, expand=True))

    assert words(reading) == EXPECTED
    assert 0.95 < reading.confidence <= 1


@pytest.mark.parametrize("angle", [-15, 7, 97])
def test_a_skewed_page_is_read(reader: PageReader, angle: int) -> None:
    """I3"""
    picture = draw(*HARBOUR).rotate(angle, Image.Resampling.BICUBIC, expand=True, fillcolor=255)

    assert words(reader.read(picture)) == EXPECTED


def test_white_print_on_black_or_on_nothing_is_read(reader: PageReader) -> None:
    """I3"""
    assert words(reader.read(draw(*HARBOUR[:2], paper=0, ink=255))) == " ".join(HARBOUR[:2]).split()

    clear = draw(HARBOUR[2], paper=(255, 255, 255, 0), ink="white", mode="RGBA")
    assert words(reader.read(clear)) == HARBOUR[2].split()


def test_a_picture_of_one_small_word_is_read(reader: PageReader) -> None:
    picture = draw("Harbour", size=13).crop((10, 6, 72, 26))

    assert reader.read(picture).text == "Harbour"


def test_letters_as_large_as_the_picture_are_read(reader: PageReader) -> None:
    assert reader.read(draw("STOP", size=600)).text == "STOP"


def test_no_line_of_a_long_screenshot_is_lost(reader: PageReader) -> None:
    """It is looked at in bands, and cut where there is no print."""
    lines = [f"Berth {number}" for number in range(101, 110)]
    picture = Image.new("L", (1000, 2500), 245)
    for number, line in enumerate(lines):
        picture.paste(draw(line, paper=245, size=20), (40, 5 + 280 * number))

    assert words(reader.read(picture)) == " ".join(lines).split()


def test_fine_print_is_looked_at_more_closely(reader: PageReader) -> None:
    """Seen as a whole, on a large screen, its lines would run into one another."""
    picture = Image.new("L", (2480, 1800), 255)
    picture.paste(draw(*HARBOUR, size=14), (900, 700))

    assert words(reader.read(picture)) == EXPECTED


@pytest.mark.parametrize(("size", "grain"), [(28, 0), (14, 0), (20, 9)])
def test_one_line_on_empty_paper_is_read(reader: PageReader, size: int, grain: int) -> None:
    """I3: however small, and however coarse the paper"""
    picture = Image.new("L", (2500, 3125), 250)
    picture.paste(draw(HARBOUR[0], paper=250, size=size), (300, 1700))
    shades = np.asarray(picture) + np.random.default_rng(6).normal(0, grain, (3125, 2500))

    assert reader.read(Image.fromarray(shades.clip(0, 255).astype(np.uint8))).text == HARBOUR[0]


def test_accents_and_chinese_are_read(reader: PageReader) -> None:
    assert reader.read(draw("Größe über façade señor")).text == "Größe über façade señor"
    assert reader.read(draw("本馆每天上午九点开门", font=CHINESE)).text == "本馆每天上午九点开门"


def test_a_picture_without_print_has_no_text(reader: PageReader) -> None:
    """I3: what might be a letter, among noise and clouds, is not taken for one."""
    noise = Image.fromarray(np.random.default_rng(6).integers(0, 256, (300, 400, 3), dtype=np.uint8))
    clouds = [
        Image.fromarray(np.random.default_rng(seed).integers(0, 256, (12, 16), dtype=np.uint8)) for seed in (1, 2, 3)
    ]

    for picture in (Image.new("RGB", (500, 400), "teal"), noise, *(cloud.resize((320, 240)) for cloud in clouds)):
        assert reader.read(picture) == NOTHING


@pytest.mark.parametrize("size", [(1, 1), (3, 40_000), (40_000, 7)])
def test_a_picture_of_any_shape_is_borne(reader: PageReader, size: tuple[int, int]) -> None:
    """I5"""
    picture = Image.new("L", size, 255)
    picture.putpixel((size[0] // 2, size[1] // 2), 0)

    assert reader.read(picture) == NOTHING
