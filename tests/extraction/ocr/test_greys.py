"""Pictures of every kind become dark print on light paper."""

import numpy as np
import pytest
from PIL import Image

from kb.engine.ingestion.extraction.ocr.greys import MOST_PIXELS, to_grey

SIZE = (60, 40)
INK = (slice(10, 20), slice(10, 40))


def paint(paper: object, ink: object, mode: str = "RGB") -> Image.Image:
    picture = Image.new(mode, SIZE, paper)  # type: ignore[arg-type]  # as the mode has it
    picture.paste(ink, (10, 10, 40, 20))  # type: ignore[arg-type]
    return picture


def add_noise(picture: Image.Image) -> Image.Image:
    noise = np.random.default_rng(6).integers(0, 6, (*SIZE[::-1], 3), dtype=np.uint8)
    return Image.fromarray(np.asarray(picture) + noise)


SHADES = Image.fromarray(np.asarray(paint(255, 0, "L"), dtype=np.uint16) * 257)
PICTURES = {
    "dark on light": paint("white", "black"),
    "light on dark": paint("black", "white"),
    "yellow on white": paint("white", (255, 245, 0)),
    "red on as bright a green": add_noise(paint((0, 126, 0), (250, 0, 0))),
    "faint": paint((225, 225, 225), (205, 205, 205)),
    "one bit": paint(1, 0, "1"),
    "palette": paint("white", "black").quantize(4),
    "palette with a hole": paint((0, 0, 0, 0), (20, 20, 20, 255), "RGBA").quantize(4),
    "four inks": paint((0, 0, 0, 0), (0, 0, 0, 255), "CMYK"),
    "black on nothing": paint((0, 0, 0, 0), (0, 0, 0, 255), "RGBA"),
    "white on nothing": paint((255, 255, 255, 0), (255, 255, 255, 255), "RGBA"),
    "grey on nothing": paint((0, 0), (30, 255), "LA"),
    "sixteen bits": SHADES,
    "thirty-two bits": SHADES.convert("I"),
    "fractions": paint(1.0, 0.0, "F"),
    "luminance and colours": paint("white", "black").convert("YCbCr"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_print_is_dark_on_light(name: str) -> None:
    grey = to_grey(PICTURES[name])

    paper = np.ones(grey.shape, dtype=bool)
    paper[INK] = False
    assert grey.shape == (SIZE[1], SIZE[0])
    assert int(grey[paper].min()) - int(grey[INK].max()) >= 125


@pytest.mark.parametrize("mode", ["1", "P", "PA", "RGB", "I;16"])
def test_a_picture_larger_than_needed_is_reduced(mode: str) -> None:
    side = int(MOST_PIXELS**0.5) + 200

    grey = to_grey(Image.new(mode, (side, side)))

    assert grey.shape == (-(-side // 2), -(-side // 2))


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf"), -1e38])
def test_any_number_may_stand_for_a_shade(value: float) -> None:
    picture = Image.new("F", SIZE, value)
    picture.putpixel((3, 3), 1e38)

    assert to_grey(picture).shape == (SIZE[1], SIZE[0])
