"""What a file is by its first bytes, whatever it is called."""

import codecs
import re

# Only signatures that can stand in a file with no NUL byte near its beginning, or that deserve a name.
_SIGNATURES = (
    (re.compile(rb".{0,16}?%PDF-\d", re.DOTALL), "a PDF"),
    (re.compile(rb"PK(?:\x03\x04|\x05\x06|\x07\x08)"), "a zip archive or an Office document"),
    (re.compile(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "an old or encrypted Office document"),
    (re.compile(rb"\{\\rtf"), "an RTF document"),
    (
        re.compile(rb"\x89PNG\r\n|\xff\xd8\xff|GIF8[79]a|II\*\x00|MM\x00\*|RIFF.{4}WEBP", re.DOTALL),
        "a picture",
    ),
    (
        re.compile(rb"\x1f\x8b\x08|BZh[1-9]1AY&SY|\xfd7zXZ\x00|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|\x28\xb5\x2f\xfd"),
        "an archive",
    ),
    (re.compile(rb"\x7fELF|MZ.\x00|\xca\xfe\xba\xbe", re.DOTALL), "a program"),
    (re.compile(rb"SQLite format 3\x00"), "a database"),
)
_WIDE_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def recognise_binary(head: bytes) -> str | None:
    """What the bytes are, in words; None if they may be text."""
    for signature, kind in _SIGNATURES:
        if signature.match(head):
            return kind
    is_binary = b"\x00" in head and not head.startswith(_WIDE_MARKS)
    return "a binary file" if is_binary else None
