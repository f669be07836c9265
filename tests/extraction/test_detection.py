"""I1: the type of a file is decided by its content, then by its name."""

import codecs
import io
import struct
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.errors import UnsupportedFormat
from kb.engine.ingestion.extraction.detection import detect_format
from kb.engine.ingestion.extraction.formats import READER_OF, supported_formats
from kb.engine.ingestion.extraction.zip_listing import list_names

Detect = Callable[[str, bytes], str]

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504)
PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
MAIL = b"Received: by mx\r\n\tfor <b@example.org>\r\nFrom: Ann <a@example.org>\r\nSubject: x\r\n\r\nHello: not a header"
HTML = b"<!-- saved -->\n<!DOCTYPE html>\n<title>x</title>"
SVG = b"<?xml version='1.0'?>\n<!-- by hand -->\n<svg xmlns='http://www.w3.org/2000/svg'/>"


def zip_of(*names: str, comment: bytes = b"") -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.comment = comment
        for name in names:
            archive.writestr(name, "<x/>")
    return packed.getvalue()


def zip_with_type(media_type: str, method: int = zipfile.ZIP_STORED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        # Without the time of day, which would become part of a test's name.
        archive.writestr(zipfile.ZipInfo("mimetype"), media_type, compress_type=method)
        archive.writestr("META-INF/container.xml", "<x/>")
        archive.writestr("content.xml", "<x/>")
    return packed.getvalue()


DOCX = zip_of("[Content_Types].xml", "_rels/.rels", "word/document.xml")
PPTX = zip_of("[Content_Types].xml", "ppt/presentation.xml", "ppt/embeddings/word/document.xml")
XLSX = zip_of("xl/workbook.xml", "[Content_Types].xml", comment=b"made by a program" * 100)
ODT = zip_with_type("application/vnd.oasis.opendocument.text")
EPUB = zip_with_type("application/epub+zip")
ODS = zip_with_type("application/vnd.oasis.opendocument.spreadsheet")


@pytest.fixture
def detect(tmp_path: Path) -> Detect:
    def detect_content(filename: str, content: bytes) -> str:
        file = tmp_path / "file"
        file.write_bytes(content)
        return detect_format(filename, file)

    return detect_content


@pytest.mark.parametrize(
    ("filename", "format"),
    [
        ("notes.md", "md"),
        ("NOTES.MARKDOWN", "md"),
        ("a.txt", "txt"),
        ("server.log", "txt"),
        ("README", "txt"),
        (".env", "txt"),
        ("folder.d/Makefile", "txt"),
        ("C:\\docs\\a.md", "md"),
        ("a.py", "code"),
        ("a.SQL", "code"),
        ("a.yaml", "code"),
        ("a.csv", "csv"),
        ("a.ipynb", "json"),
        ("a.htm", "html"),
        ("a.eml", "eml"),
    ],
)
def test_text_is_told_apart_by_its_name(detect: Detect, filename: str, format: str) -> None:
    """I1"""
    assert detect(filename, b"some text") == format


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "pdf"),
        (b"\xef\xbb\xbf\n%PDF-1.4\n", "pdf"),
        (DOCX, "docx"),
        (PPTX, "pptx"),
        (XLSX, "xlsx"),
        (b"PK\x03\x04 something put before" + DOCX, "docx"),
        (ODT, "odt"),
        (EPUB, "epub"),
        (zip_with_type("application/epub+zip", zipfile.ZIP_DEFLATED), "epub"),
        (b"{\\rtf1\\ansi hello}", "rtf"),
        (PNG, "png"),
        (b"\xff\xd8\xff\xe0", "jpg"),
        (b"RIFF1234WEBPVP8 ", "webp"),
        (b"II*\0\x08\0\0\0", "tiff"),
        (b"MM\0*\0\0\0\x08", "tiff"),
        (b"II+\0\x08\0\0\0", "tiff"),
        (b"MM\0+\0\x08\0\0", "tiff"),
    ],
)
@pytest.mark.parametrize("filename", ["a.jpg", "a.txt", "a.zip", "a.md", "a.xyz", "a", "a.pdf", "a.docx"])
def test_content_wins_over_the_name(detect: Detect, filename: str, content: bytes, format: str) -> None:
    """I1"""
    assert detect(filename, content) == format


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"GIF89a", "as PNG or JPEG"),
        (b"BM\x36\x10\0\0\0\0\0\0", "as PNG or JPEG"),
        (b"\x00\x00\x00\x18ftypheic", "as PNG or JPEG"),
        (b"\x00\x00\x00\x18ftypmif1", "as PNG or JPEG"),
        (b"\x00\x00\x00\x1cftypavif", "as PNG or JPEG"),
        (b"\x1f\x8b\x08rest", "archive"),
        (zip_of("a.txt", "word/letter.txt"), "archive"),
        (zip_of(), "archive"),
        (zip_of("[Content_Types].xml", "xl/workbook.bin"), ".xlsx"),
        (ODS, "OpenDocument"),
        (OLE, "today's format"),
        (b"\x7fELF\x02", "program"),
        (b"SQLite format 3\x00", "database"),
        (b"\x00\x00\x00\x18ftypmp42", "sound or video"),
        (b"text with a \x00 in it", "binary"),
        ("wide text".encode("utf-16-le"), "binary"),
    ],
)
@pytest.mark.parametrize("filename", ["a.txt", "a.py", "a", "a.html", "a.doc", "a.xyz"])
def test_what_is_no_document_is_refused_whatever_its_name(
    detect: Detect, filename: str, content: bytes, said: str
) -> None:
    """I1"""
    with pytest.raises(UnsupportedFormat) as refused:
        detect(filename, content)

    assert said in refused.value.message


@pytest.mark.parametrize(
    ("filename", "content"),
    [
        ("a.docx", OLE),
        ("a.xlsm", OLE),
        ("a.docx", DOCX[:-30]),
        ("a.epub", EPUB[:20]),
        ("a.odt", b"PK\x03\x04"),
        ("a.pptx", zip_of("something.xml")),
        ("a.pdf", b"\x00\x01\x02"),
        ("a.xlsx", b"\x00PK"),
        ("a.pdf", b"not a PDF at all"),
        ("a.png", b"not a picture at all"),
        ("a.tiff", b"\x00\x01\x02"),
        ("a.jpg", b"\xff\xd8"),
        ("a.webp", b"RIFF\x00"),
        ("a.pdf", b"HTTP/1.1 200 OK\r\nServer: x\r\n\r\n%PDF-1.5\r\n"),
    ],
)
def test_a_damaged_or_encrypted_document_is_what_its_name_says(detect: Detect, filename: str, content: bytes) -> None:
    """I1: its job then fails with a code that says more than a refusal could."""
    assert detect(filename, content) == filename[2:].replace("xlsm", "xlsx")


@pytest.mark.parametrize(
    ("filename", "content", "format"),
    [
        ("a.txt", HTML, "html"),
        ("a", b"  <html lang='en'>", "html"),
        ("a.asp", HTML, "html"),
        ("report.pdf", HTML, "html"),
        ("a.txt", codecs.BOM_UTF16_LE + HTML.decode().encode("utf-16-le"), "html"),
        ("a.txt", SVG, "svg"),
        ("a.html", SVG, "svg"),
        ("a.txt", b"<p>no more than a snippet</p>", "txt"),
        ("a.txt", b"<!-- " * 10_000, "txt"),
        ("a.md", HTML, "md"),
        ("a.xml", SVG, "code"),
        ("a.vue", HTML, "code"),
        ("a.txt", MAIL, "eml"),
        ("a", MAIL, "eml"),
        ("a.dat", MAIL, "eml"),
        ("a.md", MAIL, "md"),
        ("a.txt", b"From: me\nTo: you\nSubject: a note\n\ntext", "txt"),
        ("a.txt", b"Received: a parcel\nno header", "txt"),
        ("a.md", b"# PDF\n\nA PDF file begins with %PDF-1.7.", "md"),
        ("a.txt", b"log " * 2_000 + b"\x00" * 10, "txt"),
    ],
)
def test_a_text_that_is_unmistakable_is_not_called_plain(
    detect: Detect, filename: str, content: bytes, format: str
) -> None:
    """I1"""
    assert detect(filename, content) == format


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32", "utf-8-sig"])
@pytest.mark.parametrize(("filename", "format"), [("a.txt", "txt"), ("a.csv", "csv"), ("a.py", "code")])
def test_wide_text_with_a_byte_order_mark_is_text(detect: Detect, filename: str, format: str, encoding: str) -> None:
    assert detect(filename, "a, b".encode(encoding)) == format


def test_an_unknown_extension_is_refused_with_what_is_supported(detect: Detect) -> None:
    """I1"""
    with pytest.raises(UnsupportedFormat) as refused:
        detect("a.xyz", b"text")

    assert refused.value.details == {"supported_formats": supported_formats(), "filename": "a.xyz"}


@pytest.mark.parametrize("names", [[], ["a"], ["a.txt", "ü/ß.xml", "b" * 300]])
@pytest.mark.parametrize("comment", [b"", b"PK\x05\x06 in a comment", b"c" * 65_535])
def test_the_names_in_an_archive_are_listed(names: list[str], comment: bytes) -> None:
    packed = zip_of(*names, comment=comment)

    assert list_names(io.BytesIO(packed)) == names
    assert list_names(io.BytesIO(b"something before" + packed)) == names
    assert list_names(io.BytesIO(packed[: -len(comment) - 5])) is None


def test_an_archive_of_a_million_members_costs_next_to_nothing(tmp_path: Path) -> None:
    """I5"""
    member = struct.pack("<4s24xHHH12x", b"PK\x01\x02", 1, 0, 0) + b"a"
    members = member * 1_000_000
    file = tmp_path / "many"
    file.write_bytes(b"PK\x03\x04" + members + struct.pack("<4s8xLLH", b"PK\x05\x06", len(members), 4, 0))

    tracemalloc.start()
    try:
        with file.open("rb") as opened:
            names = list_names(opened)
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert names == ["a"] * 10_000
    assert peak_bytes < 10_000_000


@given(
    start=st.sampled_from([b"", b"PK\x03\x04", DOCX[:300], EPUB[:40], b"<!--", b"%PDF", b"From: "]),
    content=st.binary(max_size=300),
    end=st.sampled_from([b"", DOCX[-60:], DOCX[-22:], b"PK\x05\x06" + b"\xff" * 18, b"PK\x01\x02"]),
    filename=st.sampled_from(["a", "a.docx", "a.txt", "a.xyz", "..."]),
)
def test_any_bytes_are_a_format_or_refused(
    tmp_path_factory: pytest.TempPathFactory, start: bytes, content: bytes, end: bytes, filename: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "any-bytes"
    file.write_bytes(start + content + end)

    with suppress(UnsupportedFormat):
        assert detect_format(filename, file) in READER_OF
