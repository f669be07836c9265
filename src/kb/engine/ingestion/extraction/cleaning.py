"""What no text of a document may hold, wherever it comes from."""

import re
import unicodedata

_LINE_BREAK = re.compile(r"\r\n?|[\v\f\x85\u2028\u2029]")
_INVISIBLE = re.compile(r"[\x00-\x08\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff\ud800-\udfff]+")


def clean(text: str) -> str:
    """The text with `\\n` line ends, accents composed, and no control characters or halves of characters."""
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", _LINE_BREAK.sub("\n", text)))
