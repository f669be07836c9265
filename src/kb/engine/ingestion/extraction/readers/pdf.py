"""PDF: its text page by page, under the headings of its outline.

PDFium is not thread-safe: one document a process. Not read are tagged headings and tables (cells come as words
beside each other), XFA forms, ticks in boxes, words that are part of a picture, attached files, and metadata that
stands in XMP alone.
"""

import contextlib
import ctypes
import logging
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, overload

import pypdfium2 as pdfium
from pypdfium2 import raw

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.pdf_annotations import read_annotations
from kb.engine.ingestion.extraction.readers.pdf_outline import Outline, read_outline
from kb.engine.ingestion.extraction.readers.pdf_text import on_one_line, read_text_layer
from kb.engine.ingestion.sections import Section

# The longest real ones, codes of law and parts catalogues, have some ten thousand; an empty page is 60 bytes of file.
MAX_PAGES = 20_000
MAX_VALUE_CHARACTERS = 500

# Its warnings (loops in an outline, no XFA) are about files, and nobody who reads the log can do anything about them.
logging.getLogger("pypdfium2").setLevel(logging.ERROR)

_TEXT_KEYS = {"author": "Author", "subject": "Subject", "keywords": "Keywords"}
_DATE_KEYS = {"created": "CreationDate", "modified": "ModDate"}
# What programs write when nobody has said anything.
_PLACEHOLDER = re.compile(r"\(?(?:untitled|anonymous|unspecified|unknown|none|null)\)?[ \d-]*|[\W_]*", re.IGNORECASE)
_RUBBISH_TITLE = re.compile(
    r"microsoft (?:word|excel|powerpoint) - .*|powerpoint presentation|(?:document|presentation|slide|page) ?\d*"
    r"|.*\.(?:docx?|dotx?|rtf|odt|pptx?|odp|xlsx?|ods|pdf|e?ps|dvi|tex|indd|qxd|pmd|fm|html?|txt|md|dwg|tiff?|jpe?g)",
    re.IGNORECASE,
)
# Headings that many documents begin with, and that name none of them; so does one with a number.
_COMMON_HEADING = re.compile(
    r"\d.*|(?:front |title )?(?:cover|page)|(?:table of )?contents|abstract|introduction|preface|foreword|summary",
    re.IGNORECASE,
)
_DATE = re.compile(
    r"(?:D:)?(\d{4})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)?(?:(Z)[\d']*|([+-]\d\d)'?(\d\d)?'?)?)?", re.ASCII | re.IGNORECASE
)


def read(path: Path) -> Extracted:
    document = _open(path)
    if len(document) > MAX_PAGES:
        raise Unreadable(
            "extraction_limit",
            f"The PDF has {len(document):,} pages; {MAX_PAGES:,} are the most. Split it and add the parts.",
        )
    # Before the first page is loaded: fields have values only in a document whose form is known.
    with contextlib.suppress(pdfium.PdfiumError):
        document.init_forms()
    outline = read_outline(document)
    return Extracted(
        parts=_Pages(document, outline), title=_title_of(document, outline), metadata=_metadata_of(document)
    )


class _Pages(Sequence[Sequence[Section]]):
    """The pages, each read when it is asked for and closed again: memory stays flat."""

    def __init__(self, document: pdfium.PdfDocument, outline: Outline) -> None:
        self._document = document
        self._outline = outline
        self._count = len(document)

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> Sequence[Section]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sequence[Section]]: ...
    def __getitem__(self, index: int | slice) -> Sequence[Section] | Sequence[Sequence[Section]]:
        if isinstance(index, slice):
            return [self._read(page_index) for page_index in range(self._count)[index]]
        return self._read(range(self._count)[index])

    def _read(self, page_index: int) -> list[Section]:
        page = self._document[page_index]
        try:
            texts = (read_text_layer(page), read_annotations(page))
        finally:
            page.close()
        return self._outline.cut(page_index, "\n\n".join(text for text in texts if text))


def _open(path: Path) -> pdfium.PdfDocument:
    try:
        return pdfium.PdfDocument(path)
    except pdfium.PdfiumError as exc:
        if exc.err_code in (raw.FPDF_ERR_PASSWORD, raw.FPDF_ERR_SECURITY):
            raise Unreadable(
                "encrypted_file", "The PDF is protected by a password. Save a copy without one and add that."
            ) from exc
        raise Unreadable(
            "corrupt_file", "The PDF is damaged or cut short. Open it in a PDF program, save it anew and add it again."
        ) from exc


def _title_of(document: pdfium.PdfDocument, outline: Outline) -> str | None:
    title = _read_value(document, "Title")
    if title and not _RUBBISH_TITLE.fullmatch(title):
        return title
    heading = outline.first_heading
    if heading is None or heading.page_index != 0 or _COMMON_HEADING.fullmatch(heading.title):
        return None
    return heading.title or None


def _metadata_of(document: pdfium.PdfDocument) -> dict[str, Any]:
    texts = {name: _read_value(document, key) for name, key in _TEXT_KEYS.items()}
    dates = {name: parse_date(_read_value(document, key)) for name, key in _DATE_KEYS.items()}
    told = {**texts, **dates, "language": _read_language(document)}
    return {"pages": len(document), **{name: value for name, value in told.items() if value}}


def _read_value(document: pdfium.PdfDocument, key: str) -> str:
    """What the document information says under the key; blank if nothing, or nothing that somebody has written."""
    try:
        value = on_one_line(document.get_metadata_value(key))[:MAX_VALUE_CHARACTERS].strip()
    except UnicodeDecodeError:
        return ""
    return "" if _PLACEHOLDER.fullmatch(value) else value


def _read_language(document: pdfium.PdfDocument) -> str:
    size = raw.FPDFCatalog_GetLanguage(document, None, 0)
    buffer = (ctypes.c_ushort * (size // 2))()
    raw.FPDFCatalog_GetLanguage(document, buffer, size)
    return on_one_line(bytes(buffer).decode("utf-16-le", errors="ignore"))[:MAX_VALUE_CHARACTERS]


def parse_date(value: str) -> str | None:
    """`D:20240501120000+02'00'` as RFC 3339; the date alone if time or zone are not told; None if it is no date."""
    match = _DATE.match(value)
    if match is None:
        return None
    year, month, day, hour, minute, second, utc, offset_hours, offset_minutes = match.groups()
    date = f"{year}-{month}-{day}"
    zone = "Z" if utc else f"{offset_hours}:{offset_minutes or '00'}" if offset_hours else ""
    told = f"{date}T{hour}:{minute}:{second or '00'}{zone}" if zone else date
    try:
        datetime.fromisoformat(told)
    except ValueError:
        return None
    return told
