"""The hash that tells whether two documents have the same content: of a file's original, or of a note's text.

An original is named by the same digest, so each of the two tells the other.
"""

import hashlib

ALGORITHM = "sha256:"


def hash_of(content: bytes) -> str:
    return ALGORITHM + hashlib.sha256(content).hexdigest()


def hash_of_original(name: str) -> str:
    return ALGORITHM + name


def original_of(content_hash: str) -> str:
    return content_hash.removeprefix(ALGORITHM)
