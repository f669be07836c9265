"""Pictures in any colours become dark print on light paper."""

import numpy as np
import pytest
from PIL import Image

from kb.engine.ingestion.extraction.ocr.greys import to_grey

SIZE = (60, 40)
INK = (slice(10, 20), slice(10, 40))


def paint(paper: object, ink: object, mode: str = "RGB") -> Image.Image:
    picture = Image.new(mode, SIZE, paper)  # type: ignore[arg-type]  # as the mode has it
    picture.paste(ink, (10, 10, 40, 20))  # type: ignore[arg-type]
    return picture


def add_noise(picture: Image.Image) -> Image.Image:
    noise = np.random.default_rng(6).integers(0, 6, (*SIZE[::-1], 3), dtype=np.uint8)
    return Image.fromarray(np.asarray(picture) + noise)


PICTURES = {
    "dark on light": paint("white", "black"),
    "light on dark": paint("black", "white"),
    "yellow on white": paint("white", (255, 245, 0)),
    "red on as bright a green": add_noise(paint((0, 126, 0), (250, 0, 0))),
    "grey on light": paint(255, 30, "L"),
    "faint": paint((225, 225, 225), (205, 205, 205)),
    "black on nothing": paint((0, 0, 0, 0), (0, 0, 0, 255), "RGBA"),
    "white on nothing": paint((255, 255, 255, 0), (255, 255, 255, 255), "RGBA"),
}


@pytest.mark.parametrize("name", PICTURES)
def test_print_is_dark_on_light(name: str) -> None:
    grey = to_grey(PICTURES[name])

    paper = np.ones(grey.shape, dtype=bool)
    paper[INK] = False
    assert grey.shape == (SIZE[1], SIZE[0])
    assert int(grey[paper].min()) - int(grey[INK].max()) >= 125
