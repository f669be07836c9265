"""From a picture in any colours to shades of grey: dark print on light paper, if it is print."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Grey = NDArray[np.uint8]
"""Rows of pixels, from black (0) to white."""

# What is told by a look at the whole is told by a small copy of it.
_GLANCE_PIXELS = 512
_MUCH_CLEARER = 1.5
_DARK = 110
_FAINT = 100


def to_grey(picture: Image.Image) -> Grey:
    """The picture is as `open_pictures` gives it: in mode L, RGB or RGBA, and of no more pixels than can be read."""
    if picture.mode == "L":
        grey = np.asarray(picture)
    elif picture.mode == "RGBA":
        grey = _to_clearest_channel(_lay_on_paper(picture))
    else:
        grey = _to_clearest_channel(picture)
    return _to_dark_on_light(grey)


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
