"""Plain text in whatever encoding it comes."""

import codecs
from pathlib import Path

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.cleaning import clean
from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.sections import Section

# UTF-32 first: its little-endian mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_NEED_A_MARK = ["utf_7", "utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be"]
_WESTERN = "cp1252"
_SAMPLE_BYTES = 32_768


def read(path: Path) -> Extracted:
    return Extracted([[Section(read_text(path))]])


def read_text(path: Path) -> str:
    """The text with `\\n` line ends and no control characters; raises `Unreadable` if there is none."""
    text = clean(decode(path.read_bytes()))
    if not text.strip():
        raise Unreadable("no_text_found", "The file holds no text. Check that it is the one you meant to add.")
    return text


def decode(data: bytes) -> str:
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, errors="replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as fault:
        return _decode_mostly_utf8(data) or data.decode(_guess_encoding(data, fault.start), errors="replace")


def _decode_mostly_utf8(data: bytes) -> str | None:
    """UTF-8 with a few broken bytes, as a cut file has them; other encodings break at nearly every accent."""
    text = data.decode("utf-8", errors="replace")
    broken = text.count("\ufffd")
    foreign = len(text) - len(text.encode("ascii", errors="ignore"))
    return text if broken * 3 <= foreign else None


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
