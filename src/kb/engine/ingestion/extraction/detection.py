"""What a file is: by its content, and only among kinds of text by its name.

This runs in the engine, on files from strangers. It reads the beginning of a file and, of a zip archive, the list of
its members; both are bounded, and nothing is unpacked.
"""

import codecs
import re
import struct
from pathlib import Path, PureWindowsPath
from typing import BinaryIO

from kb.engine.errors import UnsupportedFormat
from kb.engine.ingestion.extraction.formats import BY_EXTENSION, PICTURE_FORMATS, supported_formats
from kb.engine.ingestion.extraction.readers.shared.charsets import WIDE_MARKS
from kb.engine.ingestion.extraction.zip_listing import list_names

_HEAD_BYTES = 64 * 1024
# Logs get stray NUL bytes when a machine crashes; a binary file has some at once.
_NUL_WITHIN = 4096
_PDF = re.compile(rb"%PDF-\d")
_PDF_STARTS_WITHIN = 1024
# A text may speak of PDF files near its beginning, but not with its first word.
_NO_TEXT_BEFORE = 16
_ZIP = re.compile(rb"PK(?:\x03\x04|\x05\x06|\x07\x08)")
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_RTF = re.compile(rb"(?:\xef\xbb\xbf)?\s*\{\\rtf")
_OFFICE = ("docx", "pptx", "xlsx")
_ZIPPED = (*_OFFICE, "odt", "epub")
_PICTURES = re.compile(
    rb"(?P<png>\x89PNG\r\n)|(?P<jpg>\xff\xd8\xff)|(?P<tiff>II[*+]\0|MM\0[*+])|(?P<webp>RIFF.{4}WEBP)", re.DOTALL
)
_REFUSED = (
    (
        re.compile(rb"GIF8[79]a|BM.{4}\0{4}|\0\0.{2}ftyp(?:hei|hev|mif1|msf1|avi)", re.DOTALL),
        "This is a picture of a kind that cannot be read. Save it as PNG or JPEG and add that.",
    ),
    (
        re.compile(rb"\x1f\x8b\x08|BZh[1-9]1AY&SY|\xfd7zXZ\0|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|\x28\xb5\x2f\xfd"),
        "This is an archive. Unpack it and add the files in it.",
    ),
    (
        re.compile(rb"ID3[\x02-\x04]|OggS\0|fLaC\0|RIFF.{4}(?:WAVE|AVI )|\0\0.{2}ftyp|\x1aE\xdf\xa3", re.DOTALL),
        "This is sound or video, which cannot be read.",
    ),
    (re.compile(rb"\x7fELF|MZ.\0|\xca\xfe\xba\xbe|\0asm", re.DOTALL), "This is a program, which cannot be read."),
    (re.compile(rb"SQLite format 3\0"), "This is a database, which cannot be read."),
)

_LOCAL_MEMBER = struct.Struct("<26xHH")
_MEDIA_TYPE = re.compile(rb"[a-z.+/-]*")
_MEDIA_TYPES = {
    b"application/epub+zip": "epub",
    b"application/vnd.oasis.opendocument.text": "odt",
    b"application/vnd.oasis.opendocument.text-template": "odt",
}
_OFFICE_FOLDERS = {"word": "docx", "ppt": "pptx", "xl": "xlsx"}

_MARKUP = re.compile(
    r"""
    (?: <\?xml [^>]* > \s* | <!-- (?: [^-] | -(?!->) )* --> \s* )*
    (?: (?P<html> <!doctype\s+html\b | <html[\s>] ) | (?P<svg> <!doctype\s+svg\b | <svg[\s>] ) )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_MAIL_HEADER = re.compile(r"[!-9;-~]+:")
# Headers that only programs write: people put From, To and Subject at the head of a note as well.
_ONLY_IN_MAIL = {"message-id", "mime-version", "received", "return-path"}
_BINARY = ("pdf", *_ZIPPED, *PICTURE_FORMATS)
# Names under which markup and mails are often saved; any other says better than the first line what a text is.
_VAGUE = (None, "txt", "html", "svg", *_BINARY)


def detect_format(filename: str, path: Path) -> str:
    """The format of the file at `path`, which somebody calls `filename`. Raises `UnsupportedFormat`.

    What is called a PDF, an Office document or a picture, and is nothing that is known, is taken for a damaged one:
    whoever reads it will say so.
    """
    # A Windows path is read rightly from any system: it takes both slashes.
    extension = PureWindowsPath(filename.strip()).suffix.lower()
    named = BY_EXTENSION.get(extension)
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
        format = _tell_binary(filename, named, head, file)
    if format:
        return format
    text = _decode(head)
    if text is None:
        if named in _BINARY:
            return named
        raise _unsupported(filename, "This is a binary file, which cannot be read.")
    format = (_tell_text(text) if named in _VAGUE else None) or named
    if format is None:
        raise _unsupported(filename, f"Files named *{extension} cannot be read.")
    return format


def _tell_binary(filename: str, named: str | None, head: bytes, file: BinaryIO) -> str | None:
    if _is_pdf(head, named):
        return "pdf"
    if _ZIP.match(head):
        return _tell_zip(filename, named, head, file)
    if head.startswith(_OLE):
        # What Office encrypts it puts in a container of the old kind.
        if named in _OFFICE:
            return named
        advice = "Open it, save it in today's format (.docx, .pptx, .xlsx), and add that."
        raise _unsupported(filename, f"This is a file of Office 97 to 2003. {advice}")
    if _RTF.match(head):
        return "rtf"
    picture = _PICTURES.match(head)
    if picture:
        return picture.lastgroup
    for signature, reason in _REFUSED:
        if signature.match(head):
            raise _unsupported(filename, reason)
    return None


def _is_pdf(head: bytes, named: str | None) -> bool:
    found = _PDF.search(head, 0, _PDF_STARTS_WITHIN)
    return found is not None and (found.start() < _NO_TEXT_BEFORE or named in (None, "pdf"))


def _tell_zip(filename: str, named: str | None, head: bytes, file: BinaryIO) -> str:
    media_type = _stored_media_type(head)
    if media_type in _MEDIA_TYPES:
        return _MEDIA_TYPES[media_type]
    if media_type.startswith(b"application/vnd.oasis."):
        advice = "Save it as .xlsx, .pptx or .pdf and add that."
        raise _unsupported(filename, f"This is an OpenDocument file that is no text. {advice}")
    names = list_names(file) or []
    if "xl/workbook.bin" in names:
        raise _unsupported(filename, "This is a binary workbook. Save it as .xlsx and add that.")
    if "[Content_Types].xml" in names:
        folders = {name.partition("/")[0] for name in names}
        for folder, format in _OFFICE_FOLDERS.items():
            if folder in folders:
                return format
    if "META-INF/container.xml" in names:
        return "epub"
    if named in _ZIPPED:
        return named
    raise _unsupported(filename, "This is a zip archive. Unpack it and add the files in it.")


def _stored_media_type(head: bytes) -> bytes:
    """What the first member says if it is called `mimetype`, as OpenDocument and EPUB want it; else nothing."""
    if len(head) < _LOCAL_MEMBER.size:
        return b""
    name_bytes, extra_bytes = _LOCAL_MEMBER.unpack_from(head)
    if head[_LOCAL_MEMBER.size : _LOCAL_MEMBER.size + name_bytes] != b"mimetype":
        return b""
    found = _MEDIA_TYPE.match(head, _LOCAL_MEMBER.size + name_bytes + extra_bytes)
    return found[0] if found else b""


def _decode(head: bytes) -> str | None:
    """As much of the text as tells what it is; None if it is no text."""
    for mark, encoding in WIDE_MARKS:
        if head.startswith(mark):
            return head[len(mark) :].decode(encoding, errors="replace")
    return None if b"\0" in head[:_NUL_WITHIN] else head.removeprefix(codecs.BOM_UTF8).decode("latin-1")


def _tell_text(text: str) -> str | None:
    text = text.lstrip()
    markup = _MARKUP.match(text)
    if markup:
        return markup.lastgroup
    return "eml" if _is_mail(text) else None


def _is_mail(text: str) -> bool:
    headers = set()
    for line in text.splitlines():
        if not line:
            break
        if line[0] in " \t":
            continue
        name = _MAIL_HEADER.match(line)
        if name is None:
            return False
        headers.add(name[0][:-1].lower())
    return "from" in headers and not headers.isdisjoint(_ONLY_IN_MAIL)


def _unsupported(filename: str, reason: str) -> UnsupportedFormat:
    formats = supported_formats()
    return UnsupportedFormat(
        f"{reason} Supported formats: {', '.join(formats)}.", supported_formats=formats, filename=filename
    )
