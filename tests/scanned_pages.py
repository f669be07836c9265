"""Small pages of print as pictures, quick to read: whether and where they are read is tested, not how well."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont
from tests.reading import SAMPLES

_FONT = SAMPLES / "fonts" / "DejaVuSans.ttf"
_FONT_SIZE = 28
_PITCH = 50
_MARGIN = 30


def draw_page(lines: Sequence[str]) -> Image.Image:
    font = ImageFont.truetype(_FONT, _FONT_SIZE)
    width = max(round(font.getlength(line)) for line in lines)
    page = Image.new("L", (width + 2 * _MARGIN, _PITCH * len(lines) + _MARGIN), 255)
    draw = ImageDraw.Draw(page)
    for number, line in enumerate(lines):
        draw.text((_MARGIN, _MARGIN // 2 + _PITCH * number), line, font=font, fill=20)
    return page


def write_scan(path: Path, pages: Sequence[Sequence[str]], **options: str) -> Path:
    """Each page has these lines; TIFF or PDF, as the file is called."""
    first, *others = map(draw_page, pages)
    first.save(path, save_all=True, append_images=others, **options)
    return path
