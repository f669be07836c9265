"""Text in whatever encoding it comes: told by its bytes, or stated by somebody who may be wrong."""

import codecs

from kb.engine.errors import Unreadable

# UTF-32 first: its little-endian mark begins with that of UTF-16.
WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
"""Byte order marks of the encodings that put NUL bytes into plain text, and those encodings."""

_BYTE_ORDER_MARKS = ((codecs.BOM_UTF8, "utf-8"), *WIDE_MARKS)
_NEED_A_MARK = ["utf_7", "utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be"]
_WESTERN = "cp1252"
_SAMPLE_BYTES = 32_768

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


def decode(data: bytes) -> str:
    """The text in the encoding that its bytes show; raises `Unreadable` if they fit none."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as fault:
        text = data.decode("utf-8", errors="replace")
        return text if _is_mostly_whole(text) else data.decode(_guess_encoding(data, fault.start), errors="replace")


def decode_as(data: bytes, stated: str | None) -> str:
    """The text in the stated encoding, unless the bytes show that it is another, or none is stated."""
    encoding = _find_encoding(stated)
    if encoding is None or _is_foreign_utf8(data) or data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return _guess(data)
    text = data.decode(encoding, errors="replace")
    return text if _is_mostly_whole(text) else _guess(data)


def _guess(data: bytes) -> str:
    try:
        return decode(data)
    except Unreadable:
        # One header or part of a mail; the rest of it may be whole.
        return data.decode(_WESTERN, errors="replace")


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


def _is_mostly_whole(text: str) -> bool:
    """Honest text breaks where it was cut or damaged; text in another encoding at nearly every accent."""
    foreign = len(text) - len(text.encode("ascii", errors="ignore"))
    return text.count("\ufffd") * 3 <= foreign


def _guess_encoding(data: bytes, first_fault: int) -> str:
    # It takes longer to import than most files take to read.
    import charset_normalizer

    start = max(0, first_fault - _SAMPLE_BYTES // 2)
    sample = data[start : start + _SAMPLE_BYTES]
    guesses = charset_normalizer.from_bytes(sample, cp_exclusion=_NEED_A_MARK)
    best = guesses.best()
    if best is None:
        raise Unreadable(
            "corrupt_file", "The file is not text in any known encoding. Save it as UTF-8 and add it again."
        )
    # A short text fits many encodings equally well; then it is in the one most files are in.
    equals = (guess for guess in guesses if (guess.chaos, guess.coherence) == (best.chaos, best.coherence))
    is_western = any(_WESTERN in guess.could_be_from_charset for guess in equals)
    return _WESTERN if is_western else best.encoding
