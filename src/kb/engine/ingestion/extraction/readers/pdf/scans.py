"""Which pages of a PDF are pictures, and which pictures on the others may have words in them."""

from collections.abc import Sequence
from itertools import islice

import pypdfium2 as pdfium
from pypdfium2 import raw

from kb.engine.ingestion.extraction.readers.pdf.legibility import count_visible, is_legible, is_noise
from kb.engine.ingestion.extraction.readers.pdf.surface import Area, area_of, has_drawing, identify, is_covered

MAX_PICTURES = 300
MAX_PICTURES_ON_PAGE = 20
MAX_CANDIDATES_ON_PAGE = 200

# Fewer are a page number, a stamp, or the name of the program that has scanned the page.
_FEWEST_CHARACTERS = 25
# Not so few, whatever blanks are between them; to count them takes longer.
_NOT_FEW = 500
_POINTS_PER_CM = 72 / 2.54
_MIN_WIDTH = 1.5 * _POINTS_PER_CM
_MIN_HEIGHT = 0.8 * _POINTS_PER_CM
_MIN_PIXELS_WIDE = 80
_MIN_PIXELS_HIGH = 30
# The share of each side that is margin, where numbers, stamps and the names of archives stand.
_MARGIN = 0.1


def is_picture(page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, layer: str, pictures: Sequence[Area]) -> bool:
    """Whether the page has to be looked at to be read; not so if it is white paper.

    `layer` is the text as PDFium gives it.
    """
    if not is_legible(layer):
        return True
    if pictures and is_covered(page, pictures):
        return _count_characters(text_page, _without_margins(area_of(page))) < _FEWEST_CHARACTERS or is_noise(layer)
    if len(layer) > _NOT_FEW or (characters := count_visible(layer)) >= _FEWEST_CHARACTERS:
        return False
    shown = sum(picture.size for picture in pictures)
    return (not characters and shown > _MIN_WIDTH * _MIN_HEIGHT) or has_drawing(page)


class PicturesOfText:
    """Chooses the pictures of pages that have text, over a document: not too many, and none twice."""

    def __init__(self) -> None:
        self._known: set[int] = set()
        self._left = MAX_PICTURES

    def choose(self, text_page: pdfium.PdfTextPage, pictures: Sequence[Area]) -> list[int]:
        """The indexes of those that may have words in them which the layer has not."""
        large = (index for index, picture in enumerate(pictures) if _is_large(picture))
        wordy = (
            index
            for index in islice(large, MAX_CANDIDATES_ON_PAGE)
            if _count_characters(text_page, pictures[index]) < _FEWEST_CHARACTERS and self._is_new(pictures[index])
        )
        chosen = list(islice(wordy, min(MAX_PICTURES_ON_PAGE, self._left)))
        self._left -= len(chosen)
        return chosen

    def _is_new(self, picture: Area) -> bool:
        key = identify(picture)
        if key in self._known:
            return False
        if key is not None:
            self._known.add(key)
        return True


def _is_large(picture: Area) -> bool:
    return (
        picture.width >= _MIN_WIDTH
        and picture.height >= _MIN_HEIGHT
        and picture.width * picture.density >= _MIN_PIXELS_WIDE
        and picture.height * picture.density >= _MIN_PIXELS_HIGH
    )


def _without_margins(paper: Area) -> Area:
    across, down = _MARGIN * paper.width, _MARGIN * paper.height
    return Area(paper.left + across, paper.bottom + down, paper.right - across, paper.top - down)


def _count_characters(text_page: pdfium.PdfTextPage, area: Area) -> int:
    count: int = raw.FPDFText_GetBoundedText(text_page, area.left, area.top, area.right, area.bottom, None, 0)
    return count
