"""The hash that tells whether two documents have the same content: of a file's original, or of a note's text.

An original is named by the same digest, so each of the two tells the other.
"""

import hashlib
import re

ALGORITHM = "sha256:"
_NAME_OF_ORIGINAL = re.compile("[0-9a-f]{64}")


def hash_of(content: bytes) -> str:
    return ALGORITHM + hashlib.sha256(content).hexdigest()


def hash_of_original(name: str) -> str:
    return ALGORITHM + name


def original_of(content_hash: str) -> str:
    return content_hash.removeprefix(ALGORITHM)


def is_name_of_original(name: object) -> bool:
    """Whether the name is 64 lower-case hex digits. Any other name could lead to a file outside of the originals, and a
    row that is damaged or forged may contain any name."""
    return isinstance(name, str) and _NAME_OF_ORIGINAL.fullmatch(name) is not None
