"""How much a document may hold, whichever way it comes: in a request, a file, a bundle, or a base of kb v2."""

import json
from collections.abc import Mapping
from typing import Any

MAX_GIVEN_TITLE_CHARACTERS = 500
"""Of a title that a caller gives, or that a file gives itself."""
MAX_DERIVED_TITLE_CHARACTERS = 80
"""Of one that is taken from the first line of a note."""
MAX_TITLE_CHARACTERS = 10_000
"""Of one that a document has already: it stands in the full-text index with every chunk."""
MAX_TAG_CHARACTERS = 200
MAX_TAGS = 1000
"""Of one document. Each list of documents and each hit names all tags of its documents."""
MAX_SOURCE_PATH_CHARACTERS = 4096
MAX_METADATA_BYTES = 65_536
"""Of one document, as JSON in UTF-8: each list of documents and each hit holds all of it."""
MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""Of the rows in one answer, as they are stored: a page ends early when they come to more."""
MAX_LISTED_TAGS = 20_000
"""In one answer: as many as it has room for if they are long."""
MAX_METADATA_DEPTH = 32
"""Readers of JSON give up at some depth, and what is stored must be readable by all of them."""


def is_deeper_than(depth: int, value: object) -> bool:
    """Whether JSON is nested so deep."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth < 0 or any(is_deeper_than(depth - 1, one) for one in inner)


def count_metadata_bytes(metadata: Mapping[str, Any]) -> int:
    """Raises `ValueError` for what is not JSON in UTF-8, such as NaN or half of a surrogate pair."""
    return len(json.dumps(metadata, ensure_ascii=False, allow_nan=False).encode())
