"""From a picture of any kind to shades of grey: dark print on light paper, if it is print."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Grey = NDArray[np.uint8]
"""Rows of pixels, from black (0) to white."""

# A sheet of A3 at 400 dots per inch has 31 million; no print needs more to be read.
MOST_PIXELS = 40_000_000
# What is told by a look at the whole is told by a small copy of it.
_GLANCE_PIXELS = 512
_MUCH_CLEARER = 1.5
_DARK = 110
_FAINT = 100


def to_grey(picture: Image.Image) -> Grey:
    picture = _reduce(picture)
    if picture.mode in ("L", "1"):
        grey = np.asarray(picture.convert("L"))
    elif picture.mode == "F" or picture.mode.startswith("I"):
        grey = _spread(np.asarray(picture, dtype=np.float32))
    elif picture.has_transparency_data:
        grey = _to_clearest_channel(_lay_on_paper(picture.convert("RGBA")))
    else:
        grey = _to_clearest_channel(picture.convert("RGB"))
    return _to_dark_on_light(grey)


def _reduce(picture: Image.Image) -> Image.Image:
    factor = 1
    while (picture.width // factor) * (picture.height // factor) > MOST_PIXELS:
        factor += 1
    if factor == 1:
        return picture
    # Means can be taken of shades, not of entries in a palette.
    if picture.mode == "1":
        picture = picture.convert("L")
    elif picture.mode in ("P", "PA"):
        picture = picture.convert("RGBA" if picture.has_transparency_data else "RGB")
    elif picture.mode.startswith("I;"):
        picture = picture.convert("I")
    return picture.reduce(factor)


def _spread(values: np.ndarray) -> Grey:
    """The least becomes black and the most white."""
    least, most = float(values.min()), float(values.max())
    if not np.isfinite(most - least) or most == least:
        return np.full(values.shape, 255, dtype=np.uint8)
    return ((values - least) * (255 / (most - least))).astype(np.uint8)


def _lay_on_paper(picture: Image.Image) -> Image.Image:
    """White letters on nothing are meant for something dark."""
    glance = np.asarray(_glance_at(picture), dtype=np.float32)
    weights = glance[..., 3]
    shade = float((glance[..., :3].mean(axis=2) * weights).sum() / max(1.0, float(weights.sum())))
    paper = Image.new("RGBA", picture.size, "white" if shade < 160 else "black")
    paper.alpha_composite(picture)
    return paper.convert("RGB")


def _to_clearest_channel(picture: Image.Image) -> Grey:
    """As the eye sees it, unless one of its colours shows much more: yellow on white, red on green."""
    glance = _glance_at(picture)
    contrast = float(np.std(np.asarray(glance.convert("L"))))
    by_channel = [float(np.std(np.asarray(channel))) for channel in glance.split()]
    clearest = int(np.argmax(by_channel))
    if by_channel[clearest] > _MUCH_CLEARER * contrast:
        return np.asarray(picture.getchannel(clearest))
    return np.asarray(picture.convert("L"))


def _to_dark_on_light(grey: Grey) -> Grey:
    glance = np.asarray(_glance_at(Image.fromarray(grey)))
    if np.median(glance) < _DARK:
        grey, glance = 255 - grey, 255 - glance
    darkest, lightest = int(glance.min()), int(glance.max())
    if 0 < lightest - darkest < _FAINT:
        shades = (np.arange(256) - darkest) * (255 / (lightest - darkest))
        stretched: Grey = np.clip(shades, 0, 255).astype(np.uint8)[grey]
        return stretched
    return grey


def _glance_at(picture: Image.Image) -> Image.Image:
    """Without mixing neighbours: fine print must not fade."""
    scale = min(1.0, _GLANCE_PIXELS / max(picture.size))
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.NEAREST)
