"""Text whose encoding is stated, by somebody who may be wrong."""

import codecs

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.text.plain_text import decode

# Files that claim the first are in the second, which holds it and more: browsers read them so, too.
_MEANT = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
    # Whoever could read this claim has read it as ASCII, so it is false.
    "utf-16": "utf-8",
    "utf-16-le": "utf-8",
    "utf-16-be": "utf-8",
}
_MEANT_BY_UNKNOWN = {"x-sjis": "cp932", "cp-850": "cp850", "unicode-1-1-utf-8": "utf-8", "x-gbk": "gb18030"}


def decode_as(data: bytes, stated: str | None) -> str:
    """The text in the stated encoding, unless the bytes show that it is another, or none is stated."""
    encoding = _find_encoding(stated)
    if encoding is None or _is_foreign_utf8(data) or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _guess(data)
    text = data.decode(encoding, errors="replace")
    # Honest text breaks where it was cut or damaged; text in another encoding at every second letter.
    return text if text.count("\ufffd") * 3 <= _count_foreign(text) else _guess(data)


def _guess(data: bytes) -> str:
    try:
        return decode(data)
    except Unreadable:
        # One header or part of a mail; the rest of it may be whole.
        return data.decode("cp1252", errors="replace")


def _find_encoding(stated: str | None) -> str | None:
    name = (stated or "").strip().lower()
    try:
        codec = codecs.lookup(_MEANT_BY_UNKNOWN.get(name, name)).name
        meant = _MEANT.get(codec, codec)
        # Python has codecs that make no text, as `zlib`, or one that can take minutes, as `punycode`.
        is_readable = b"text".decode(meant, errors="replace") == "text"
    except (LookupError, ValueError):
        return None
    return meant if is_readable else None


def _is_foreign_utf8(data: bytes) -> bool:
    """Whether it is UTF-8 with letters that ASCII lacks: in no other encoding do they fit by chance."""
    try:
        return not data.isascii() and bool(data.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def _count_foreign(text: str) -> int:
    return len(text) - len(text.encode("ascii", errors="ignore"))
