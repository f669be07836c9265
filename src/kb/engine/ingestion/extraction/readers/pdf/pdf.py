"""PDF: its text page by page, under the headings of its outline; pages without good text are pictures.

PDFium is not thread-safe: one document a process. Not read are tagged headings and tables (cells come as words
beside each other), XFA forms, ticks in boxes, attached files, and metadata that stands in XMP alone.
"""

import contextlib
import ctypes
import logging
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pypdfium2 as pdfium
from pypdfium2 import raw

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Extracted, Parts, Picture
from kb.engine.ingestion.extraction.readers.pdf.annotations import read_annotations
from kb.engine.ingestion.extraction.readers.pdf.bookmarks import Bookmarks, read_bookmarks
from kb.engine.ingestion.extraction.readers.pdf.legibility import is_legible, is_noise
from kb.engine.ingestion.extraction.readers.pdf.scans import PicturesOfText, is_picture
from kb.engine.ingestion.extraction.readers.pdf.surface import find_pictures
from kb.engine.ingestion.extraction.readers.pdf.text import lay_out
from kb.engine.ingestion.extraction.readers.shared.properties import Properties, make_properties
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt, encrypted
from kb.engine.ingestion.sections import Section

# The longest real ones, codes of law and parts catalogues, have some ten thousand; an empty page is 60 bytes of file.
# No format may have more parts; here it can be said that they are pages, and what to do about them.
MAX_PAGES = 20_000

# Its warnings (loops in an outline, no XFA) are about files, and nobody who reads the log can do anything about them.
logging.getLogger("pypdfium2").setLevel(logging.ERROR)

_TEXT_KEYS = {"title": "Title", "author": "Author", "subject": "Subject", "keywords": "Keywords"}
_DATE_KEYS = {"created": "CreationDate", "modified": "ModDate"}
# Headings that many documents begin with, and that name none of them; so does one with a number.
_COMMON_HEADING = re.compile(
    r"\d.*|(?:front |title )?(?:cover|page)|(?:table of )?contents|abstract|introduction|preface|foreword|summary",
    re.IGNORECASE,
)
_DATE = re.compile(r"\s*(?:D:)?(\d{8})(?:(\d{4}(?:\d\d)?)(Z|[+-]\d\d(?:'?\d\d)?)?)?", re.ASCII | re.IGNORECASE)


def read(path: Path) -> Extracted:
    return _read(path, _Pages)


def read_as_pictures(path: Path) -> Extracted:
    return _read(path, _PagesAsPictures)


def open_document(path: Path) -> pdfium.PdfDocument:
    """Raises `Unreadable`."""
    try:
        document = pdfium.PdfDocument(path)
    except pdfium.PdfiumError as error:
        if error.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise encrypted() from error
        raise corrupt("It may be cut short.") from error
    # Before the first page is loaded: fields have values only in a document whose form is known.
    with contextlib.suppress(pdfium.PdfiumError):
        document.init_forms()
    return document


def _read(path: Path, pages_of: Callable[[pdfium.PdfDocument, Bookmarks], Parts]) -> Extracted:
    document = open_document(path)
    if len(document) > MAX_PAGES:
        raise Unreadable(
            "extraction_limit",
            f"The PDF has {len(document):,} pages; {MAX_PAGES:,} are the most. Split it and add the parts.",
        )
    bookmarks = read_bookmarks(document)
    properties = _properties_of(document)
    return Extracted(
        parts=pages_of(document, bookmarks),
        title=_title_of(properties, bookmarks),
        metadata={"pages": len(document), **properties.metadata},
    )


class _Pages:
    """Each is read when it is asked for and closed again: memory stays flat."""

    def __init__(self, document: pdfium.PdfDocument, bookmarks: Bookmarks) -> None:
        self._document = document
        self._bookmarks = bookmarks
        self._pictures_of_text = PicturesOfText()

    def __len__(self) -> int:
        return len(self._document)

    def __getitem__(self, index: int) -> list[Section | Picture]:
        page = self._document[index]
        text_page = page.get_textpage()
        try:
            return self._read(page, text_page, index)
        finally:
            text_page.close()
            page.close()

    def _read(self, page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, index: int) -> list[Section | Picture]:
        # Not `get_text_bounded`: on rotated pages it loses lines and line ends.
        layer = text_page.get_text_range()
        pictures = find_pictures(page)
        if is_picture(page, text_page, layer, pictures):
            return self._as_picture(page, layer, index)
        texts = (lay_out(layer), read_annotations(page))
        sections = self._bookmarks.cut(index, "\n\n".join(text for text in texts if text))
        chosen = self._pictures_of_text.choose(text_page, pictures)
        return [*sections, *(self._picture(f"page {index + 1} picture {chosen + 1}", index) for chosen in chosen)]

    def _as_picture(self, page: pdfium.PdfPage, layer: str, index: int) -> list[Section | Picture]:
        """What was written on it afterwards stands behind it."""
        text = lay_out(layer) if is_legible(layer) and not is_noise(layer) else ""
        picture = replace(self._picture(f"page {index + 1}", index), is_page=True, text=text)
        return [picture, *self._bookmarks.cut(index, read_annotations(page))]

    def _picture(self, name: str, index: int) -> Picture:
        return Picture(name, index + 1, self._bookmarks.heading_at_end(index))


class _PagesAsPictures(_Pages):
    """For who does not trust the text of any."""

    def _read(self, page: pdfium.PdfPage, text_page: pdfium.PdfTextPage, index: int) -> list[Section | Picture]:
        return self._as_picture(page, text_page.get_text_range(), index)


def _title_of(properties: Properties, bookmarks: Bookmarks) -> str | None:
    heading = bookmarks.first_heading
    if properties.title or heading is None or heading.page_index != 0 or _COMMON_HEADING.fullmatch(heading.title):
        return properties.title
    return heading.title or None


def _properties_of(document: pdfium.PdfDocument) -> Properties:
    texts = {name: _read_value(document, key) for name, key in _TEXT_KEYS.items()}
    dates = {name: reshape_date(_read_value(document, key)) for name, key in _DATE_KEYS.items()}
    return make_properties({**texts, **dates, "language": _read_language(document)})


def _read_value(document: pdfium.PdfDocument, key: str) -> str:
    try:
        value: str = document.get_metadata_value(key)
    except UnicodeDecodeError:
        return ""
    return value


def _read_language(document: pdfium.PdfDocument) -> str:
    size = raw.FPDFCatalog_GetLanguage(document, None, 0)
    buffer = (ctypes.c_ushort * (size // 2))()
    raw.FPDFCatalog_GetLanguage(document, buffer, size)
    return bytes(buffer).decode("utf-16-le", errors="ignore")


def reshape_date(value: str) -> str:
    """`D:20240501120000+02'00'` as ISO 8601 has it, `20240501T120000+0200`; "" if it is nothing like that."""
    match = _DATE.match(value)
    if match is None:
        return ""
    date, time, zone = match.groups(default="")
    return f"{date}T{time}{zone}".upper().replace("'", "") if time else date
