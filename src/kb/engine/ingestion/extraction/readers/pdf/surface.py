"""What is drawn on a page of a PDF besides text: where pictures are, and whether there are drawings.

Nothing is decoded. PDFium is asked for the kind of every object of the page. Its functions are called without the
types that pypdfium2 gives them, and without letting other threads run: that takes a third of the time.
"""

import ctypes
import math
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, repeat
from typing import Any

import pypdfium2 as pdfium
from pypdfium2 import raw

# A page of a map has some ten thousand, and a page whose every letter is a picture some thousand pictures. What comes
# behind these is not seen.
MAX_OBJECTS = 100_000
MAX_IMAGES = 2_000
_MAX_DEPTH = 8
# Neighbours closer than this, in points, are pieces of one picture.
_GAP = 2.0
# An outlined letter has about fifteen, and a frame or a rule five at most.
_SEGMENTS_OF_RECTANGLE = 5
_SEGMENTS_OF_DRAWING = 100
_NEARLY_ALL = 0.75
# Larger ones are not shown page after page.
_MAX_LOGO_BYTES = 1_000_000

_ADDRESS = ctypes.c_void_p


def _without_types(function: Any, result: Any, *arguments: Any) -> Any:
    address = ctypes.cast(function, _ADDRESS).value
    return ctypes.PYFUNCTYPE(result, *arguments)(address or 0)


_get_kind = _without_types(raw.FPDFPageObj_GetType, ctypes.c_int, _ADDRESS)
_get_of_page = _without_types(raw.FPDFPage_GetObject, _ADDRESS, _ADDRESS, ctypes.c_int)
_get_of_form = _without_types(raw.FPDFFormObj_GetObject, _ADDRESS, _ADDRESS, ctypes.c_ulong)


@dataclass(frozen=True)
class Area:
    """Where a picture is shown, in the page's own coordinates."""

    left: float
    bottom: float
    right: float
    top: float
    density: float = 0.0
    """Pixels to a point, of the finest piece."""
    pieces: tuple[Any, ...] = ()
    """Its image objects. They go with their page."""

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.top - self.bottom

    @property
    def size(self) -> float:
        return self.width * self.height


def area_of(page: pdfium.PdfPage) -> Area:
    """All that is seen of the page."""
    return Area(*page.get_bbox())


def find_pictures(page: pdfium.PdfPage) -> list[Area]:
    """Always in the same order; those that a program has cut in strips or tiles are whole."""
    paper = area_of(page)
    found: list[Area] = []
    for image, matrix in islice(_find_objects(page, raw.FPDF_PAGEOBJ_IMAGE), MAX_IMAGES):
        area = _measure(image, matrix, paper)
        if area is None:
            continue
        found.append(area)
        while len(found) > 1 and _are_neighbours(*found[-2:]):
            found[-2:] = [_join(*found[-2:])]
    return found


def is_covered(page: pdfium.PdfPage, pictures: Sequence[Area]) -> bool:
    """Whether they take all of the page but its margins, as on a scan."""
    return sum(picture.size for picture in pictures) > _NEARLY_ALL * area_of(page).size


def has_drawing(page: pdfium.PdfPage) -> bool:
    """Whether there is more than frames and rules: outlined letters, a plan, a signature."""
    segments = 0
    for path, _ in _find_objects(page, raw.FPDF_PAGEOBJ_PATH):
        count = raw.FPDFPath_CountSegments(path)
        segments += count if count > _SEGMENTS_OF_RECTANGLE else 0
        if segments >= _SEGMENTS_OF_DRAWING:
            return True
    return False


def identify(area: Area) -> int | None:
    """A number that tells the picture from others, wherever they are shown; None if it is too large for a logo."""
    sizes = [raw.FPDFImageObj_GetImageDataRaw(image, None, 0) for image in area.pieces]
    if sum(sizes) > _MAX_LOGO_BYTES:
        return None
    key = 0
    for image, size in zip(area.pieces, sizes, strict=True):
        content = ctypes.create_string_buffer(size)
        raw.FPDFImageObj_GetImageDataRaw(image, content, size)
        key = zlib.crc32(content, key)
    return key


def read_pixel_size(image: Any) -> tuple[int, int]:
    """As the file tells it."""
    width, height = ctypes.c_uint(), ctypes.c_uint()
    raw.FPDFImageObj_GetImagePixelSize(image, width, height)
    return width.value, height.value


def _find_objects(page: pdfium.PdfPage, kind: int) -> Iterator[tuple[Any, pdfium.PdfMatrix]]:
    """Those of one kind, each with what takes it to the page's coordinates; those within forms come last."""
    left = MAX_OBJECTS
    forms: list[tuple[Any, int, pdfium.PdfMatrix]] = [(None, 0, pdfium.PdfMatrix())]
    for form, depth, matrix in forms:
        count = min(raw.FPDFFormObj_CountObjects(form) if form else raw.FPDFPage_CountObjects(page), left)
        left -= count
        kinds = _list_kinds(page, form, count)
        if kind not in kinds and raw.FPDF_PAGEOBJ_FORM not in kinds:
            continue
        for index, found in enumerate(kinds):
            if found == kind:
                yield _get_object(page, form, index), matrix
            elif found == raw.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
                inner = _get_object(page, form, index)
                forms.append((inner, depth + 1, _matrix_of(inner).multiply(matrix)))


def _list_kinds(page: pdfium.PdfPage, form: Any, count: int) -> bytes:
    parent = ctypes.cast(form or page.raw, _ADDRESS).value
    return bytes(map(_get_kind, map(_get_of_form if form else _get_of_page, repeat(parent), range(count))))


def _get_object(page: pdfium.PdfPage, form: Any, index: int) -> Any:
    return raw.FPDFFormObj_GetObject(form, index) if form else raw.FPDFPage_GetObject(page, index)


def _matrix_of(form: Any) -> pdfium.PdfMatrix:
    matrix = raw.FS_MATRIX()
    raw.FPDFPageObj_GetMatrix(form, matrix)
    return pdfium.PdfMatrix.from_raw(matrix)


def _measure(image: Any, matrix: pdfium.PdfMatrix, paper: Area) -> Area | None:
    """None if nothing of it is seen on the paper."""
    edges = [ctypes.c_float() for _ in range(4)]
    if not raw.FPDFPageObj_GetBounds(image, *edges):
        return None
    shown = Area(*matrix.on_rect(*(edge.value for edge in edges)))
    width, height = read_pixel_size(image)
    left, bottom = max(shown.left, paper.left), max(shown.bottom, paper.bottom)
    right, top = min(shown.right, paper.right), min(shown.top, paper.top)
    if not (left < right and bottom < top):
        return None
    # By both sides together: it may be shown on its side.
    density = math.sqrt(width * height / shown.size)
    return Area(left, bottom, right, top, density, (image,))


def _are_neighbours(one: Area, other: Area) -> bool:
    """Whether they share a whole side."""
    is_above = _is_near(one.left, other.left) and _is_near(one.right, other.right)
    is_beside = _is_near(one.bottom, other.bottom) and _is_near(one.top, other.top)
    gap_above = max(one.bottom, other.bottom) - min(one.top, other.top)
    gap_beside = max(one.left, other.left) - min(one.right, other.right)
    return (is_above and gap_above < _GAP) or (is_beside and gap_beside < _GAP)


def _is_near(one: float, other: float) -> bool:
    return abs(one - other) < _GAP


def _join(one: Area, other: Area) -> Area:
    return Area(
        left=min(one.left, other.left),
        bottom=min(one.bottom, other.bottom),
        right=max(one.right, other.right),
        top=max(one.top, other.top),
        density=max(one.density, other.density),
        pieces=one.pieces + other.pieces,
    )
