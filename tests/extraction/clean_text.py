import re
import unicodedata


def is_clean(text: str) -> bool:
    """Whether it has single blanks, single blank lines, neither of them at an end, and no control characters."""
    flaws = re.search(r"\A\n|\n\Z|[^\S\n]\n|[^\S\n]{2}|\n{3}|[\x00-\x09\x0b-\x1f\x7f-\x9f\ufffe\uffff]", text)
    return flaws is None and unicodedata.is_normalized("NFC", text)
