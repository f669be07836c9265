"""Pages of a PDF as they are shown to people, with the words marked that they look for.

What a page says is told letter by letter as PDFium knows it, so that a stretch of it can be found again on the paper.
"""

import ctypes
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pypdfium2 as pdfium
from PIL import Image
from pypdfium2 import raw

from kb.engine.ingestion.extraction.readers.pdf.pdf import open_document
from kb.engine.ingestion.extraction.readers.pdf.pictures import check_sizes
from kb.engine.ingestion.extraction.readers.pdf.surface import find_pictures
from kb.engine.ingestion.extraction.readers.shared.paper import Box, fit, mark, render_png

# A page of a newspaper has some thirty thousand.
MAX_LETTERS = 200_000
MAX_BOXES = 2_000
# What is not seen, and the hyphen of a word that goes on in the next line: PDFium gives it as U+0002 if it has joined
# the lines itself.
_LEFT_OUT = re.compile(
    r"(?P<hyphen>\x02|[-\u2010\u00ad](?<=\w.)\r?\n)(?=[^\W\d_])"
    r"|[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u200b\ufeff\ufffe]"
)


def open_pages(path: Path) -> "_Pages":
    return _Pages(open_document(path))


class _Pages:
    def __init__(self, document: pdfium.PdfDocument) -> None:
        self._document = document

    def __len__(self) -> int:
        return len(self._document)

    def __getitem__(self, index: int) -> "_Page":
        return _Page(self._document[index])


class _Page:
    def __init__(self, page: pdfium.PdfPage) -> None:
        self._page = page
        self._letters: pdfium.PdfTextPage | None = None
        self._places: list[int] = []

    def read(self) -> str:
        self._letters = self._page.get_textpage()
        count = min(raw.FPDFText_CountChars(self._letters), MAX_LETTERS)
        text = "".join(_letter(raw.FPDFText_GetUnicode(self._letters, place)) for place in range(count))
        self._places = list(_list_kept(text))
        return "".join(text[place] for place in self._places)

    def draw(self, width: int, stretches: Sequence[tuple[int, int]]) -> bytes:
        # Judged before any is decoded.
        check_sizes(find_pictures(self._page))
        drawn = self._draw(fit(self._page.get_size(), width))
        mark(drawn, self._find_boxes(drawn.size, stretches))
        return render_png(drawn)

    def _draw(self, size: tuple[int, int]) -> Image.Image:
        """At most of that size: PDFium is told a scale, and pypdfium2 rounds up what comes of it."""
        across, down = ((pixels - 0.5) / points for pixels, points in zip(size, self._page.get_size(), strict=True))
        drawn: Image.Image = self._page.render(scale=min(across, down), rev_byteorder=True).to_pil()
        return drawn.convert("RGB")

    def _find_boxes(self, size: tuple[int, int], stretches: Sequence[tuple[int, int]]) -> Iterator[Box]:
        """A stretch that goes on in the next line has two."""
        left = MAX_BOXES
        for start, end in stretches:
            first, last = self._places[start], self._places[end - 1]
            count = min(raw.FPDFText_CountRects(self._letters, first, last - first + 1), left)
            left -= count
            for number in range(count):
                yield self._find_box(size, number)

    def _find_box(self, size: tuple[int, int], number: int) -> Box:
        edges = [ctypes.c_double() for _ in range(4)]
        raw.FPDFText_GetRect(self._letters, number, *edges)
        left, top, right, bottom = (edge.value for edge in edges)
        corners = (self._locate(size, left, top), self._locate(size, right, bottom))
        (left_most, right_most), (top_most, bottom_most) = (sorted(side) for side in zip(*corners, strict=True))
        return left_most, top_most, right_most + 1, bottom_most + 1

    def _locate(self, size: tuple[int, int], x: float, y: float) -> tuple[int, int]:
        """A place on the page, which may be turned, in pixels."""
        across, down = ctypes.c_int(), ctypes.c_int()
        raw.FPDF_PageToDevice(self._page, 0, 0, *size, 0, x, y, across, down)
        return across.value, down.value


def _letter(code: int) -> str:
    """Rare signs PDFium gives in two halves; nobody looks for those."""
    return " " if 0xD800 <= code <= 0xDFFF or code > sys.maxunicode else chr(code)


def _list_kept(text: str) -> Iterator[int]:
    start = 0
    for left_out in _LEFT_OUT.finditer(text):
        # That of X-Ray and Lucene-BM25 belongs to the name.
        if left_out["hyphen"] and not text[left_out.end()].islower():
            continue
        yield from range(start, left_out.start())
        start = left_out.end()
    yield from range(start, len(text))
