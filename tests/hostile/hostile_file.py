"""A file that is meant to do harm, and how the reading of it may end."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass

READ = "read"
"""The file is read, wholly or as far as it is whole."""

ENCRYPTED = "encrypted_file"
CORRUPT = "corrupt_file"
NO_TEXT = "no_text_found"
UNSUPPORTED = "unsupported_format"
LIMIT = "extraction_limit"
TIMEOUT = "extraction_timeout"
OCR_FAILED = "ocr_failed"

CODES = frozenset({ENCRYPTED, CORRUPT, NO_TEXT, UNSUPPORTED, LIMIT, TIMEOUT, OCR_FAILED})


@dataclass(frozen=True)
class HostileFile:
    filename: str
    make: Callable[[], bytes]
    ends: frozenset[str]
    """`READ`, or the codes that are right; more than one where parsers may differ and a person would not mind."""
    is_slow: bool = False
    """Takes its reader to a limit; left out of the selection that `make test` runs."""


def noise(count: int) -> bytes:
    return hashlib.shake_256(b"noise").digest(count)


def hostile(filename: str, make: Callable[[], bytes], *ends: str, is_slow: bool = False) -> HostileFile:
    return HostileFile(filename, make, frozenset(ends), is_slow)
