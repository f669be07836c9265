"""Pages of a PDF, and parts of them, drawn as pictures.

A picture on a page is not taken out of the file but drawn where it stands: so it is whole if it was cut in strips, and
has its mask, its colours and the words that were set upon it.
"""

import ctypes
import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pypdfium2 as pdfium
from PIL import Image
from pypdfium2 import raw

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.pdf.pdf import open_document
from kb.engine.ingestion.extraction.readers.pdf.surface import Area, area_of, find_pictures, is_covered, read_pixel_size
from kb.engine.ingestion.extraction.readers.shared.pixels import MAX_PIXELS

_POINTS_PER_INCH = 72
# Print of six points is legible at 300 dots an inch. Below 150 letters are too small for the recogniser, even if that
# is all that was scanned.
_FEWEST_DOTS = 150
_ENOUGH_DOTS_OF_PAGE = 300
# A screenshot is often shown at half its size.
_ENOUGH_DOTS_OF_PICTURE = 600
# A receipt, or a web page on a single sheet, is narrow and long; longer ones than this are no paper.
_MAX_SIDE = 15_000
_MAX_DRAWN_PIXELS = 20_000_000
# Of a picture in black and white PDFium keeps a bit a pixel.
_BILEVEL_FILTERS = (b"CCITTFaxDecode", b"JBIG2Decode")
_MAX_BILEVEL_PIXELS = 8 * MAX_PIXELS

_NAME = re.compile(r"page (\d{1,6})(?: picture (\d{1,6}))?", re.ASCII)
# Places on the page are asked for in these shares of its sides.
_STEPS = 10_000


def open_pictures(path: Path) -> Callable[[str], Image.Image]:
    return partial(_load, open_document(path))


def _load(document: pdfium.PdfDocument, name: str) -> Image.Image:
    """In grey. The name is "page 3", or "page 3 picture 2" for the second that `find_pictures` finds there."""
    match = _NAME.fullmatch(name)
    if match is None:
        raise KeyError(name)
    page = document[int(match[1]) - 1]
    try:
        pictures = find_pictures(page)
        if match[2] is None:
            dots = _dots_of(pictures, _ENOUGH_DOTS_OF_PAGE) if is_covered(page, pictures) else _ENOUGH_DOTS_OF_PAGE
            return _draw(page, area_of(page), pictures, dots)
        pictures = [pictures[int(match[2]) - 1]]
        return _draw(page, pictures[0], pictures, _dots_of(pictures, _ENOUGH_DOTS_OF_PICTURE))
    finally:
        page.close()


def _dots_of(pictures: Sequence[Area], enough: int) -> float:
    """Dots an inch to draw them with: as many as they have, within reason."""
    return min(max(_FEWEST_DOTS, *(picture.density * _POINTS_PER_INCH for picture in pictures)), enough)


def _draw(page: pdfium.PdfPage, area: Area, pictures: Sequence[Area], dots: float) -> Image.Image:
    """The area as it is seen. Its size is bounded whatever the page's is, and `pictures`, which lie on it, are judged
    before any is decoded."""
    check_sizes(pictures)
    crop = _measure_crop(page, area)
    width = page.get_width() - crop[0] - crop[2]
    height = page.get_height() - crop[1] - crop[3]
    scale = min(
        dots / _POINTS_PER_INCH, _MAX_SIDE / max(width, height), math.sqrt(_MAX_DRAWN_PIXELS / (width * height))
    )
    drawn: Image.Image = page.render(scale=scale, crop=crop, grayscale=True).to_pil()
    return drawn


def _measure_crop(page: pdfium.PdfPage, area: Area) -> tuple[float, float, float, float]:
    """How far the area is from the left, bottom, right and top of the page as it is shown, which may be turned."""
    corners = (_locate(page, area.left, area.bottom), _locate(page, area.right, area.top))
    (left, right), (top, bottom) = (sorted(side) for side in zip(*corners, strict=True))
    across, down = page.get_width() / _STEPS, page.get_height() / _STEPS
    return left * across, (_STEPS - bottom) * down, (_STEPS - right) * across, top * down


def _locate(page: pdfium.PdfPage, x: float, y: float) -> tuple[int, int]:
    across, down = ctypes.c_int(), ctypes.c_int()
    raw.FPDF_PageToDevice(page, 0, 0, _STEPS, _STEPS, 0, x, y, across, down)
    return across.value, down.value


def check_sizes(pictures: Sequence[Area]) -> None:
    """Raises `Unreadable` if it would cost too much to decode one of them."""
    for picture in pictures:
        for image in picture.pieces:
            _check_size(image)


def _check_size(image: Any) -> None:
    width, height = read_pixel_size(image)
    if width * height > (_MAX_BILEVEL_PIXELS if _is_bilevel(image) else MAX_PIXELS):
        raise Unreadable(
            "extraction_limit",
            f"A picture in the PDF has {width:,} x {height:,} pixels, too many to be read. Scan it with less detail.",
        )


def _is_bilevel(image: Any) -> bool:
    last = raw.FPDFImageObj_GetImageFilterCount(image) - 1
    name = ctypes.create_string_buffer(32)
    raw.FPDFImageObj_GetImageFilter(image, last, name, len(name))
    return name.value in _BILEVEL_FILTERS
