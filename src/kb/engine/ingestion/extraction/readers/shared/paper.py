"""A page as people see it on a screen: how large it is drawn, on white, and with words marked as by a felt pen."""

from collections.abc import Iterable
from io import BytesIO

from PIL import Image, ImageChops

# A receipt, or a web page on a single sheet, is long; what is longer still is shown narrower than it was asked for.
MAX_HEIGHT = 4_000

Box = tuple[int, int, int, int]
"""Left, top, right and bottom, in pixels of the picture."""

_WHITE = (255, 255, 255)
# As light falls through ink: black letters stay black, white paper becomes the colour.
_FELT_PEN = (255, 214, 92)
_BORDER = (196, 120, 0)
# So many pixels beyond the letters, which would else touch the border.
_ROOM = 2


def fit(size: tuple[float, float], width: int) -> tuple[int, int]:
    """The size in pixels at which something of that size is as wide as asked for, and not too high."""
    across, down = max(size[0], 1e-3), max(size[1], 1e-3)
    scale = min(width / across, MAX_HEIGHT / down)
    return max(1, round(across * scale)), max(1, round(down * scale))


def mark(drawn: Image.Image, boxes: Iterable[Box]) -> None:
    """`drawn` is in mode RGB."""
    for box in boxes:
        left, top, right, bottom = box[0] - _ROOM, box[1] - _ROOM, box[2] + _ROOM, box[3] + _ROOM
        left, top = max(left, 0), max(top, 0)
        right, bottom = min(right, drawn.width), min(bottom, drawn.height)
        if right - left <= 2 or bottom - top <= 2:
            continue
        inside = (left + 1, top + 1, right - 1, bottom - 1)
        paper = drawn.crop(inside)
        drawn.paste(_BORDER, (left, top, right, bottom))
        drawn.paste(ImageChops.multiply(paper, Image.new("RGB", paper.size, _FELT_PEN)), inside)


def render_png(drawn: Image.Image) -> bytes:
    """What is transparent becomes white: the page around it may be dark."""
    if drawn.mode == "RGBA":
        paper = Image.new("RGB", drawn.size, _WHITE)
        paper.paste(drawn, mask=drawn)
        drawn = paper
    png = BytesIO()
    drawn.save(png, "PNG")
    return png.getvalue()
