"""Limits of a document, however it is added: by a request, a file, a bundle, or from a base of kb v2."""

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
"""The most tags of one document: every list of documents and every hit contains all of them."""
MAX_SOURCE_PATH_CHARACTERS = 4096
MAX_METADATA_BYTES = 65_536
"""The most metadata of one document, as JSON in UTF-8: every list of documents and every hit contains all of it."""
MAX_ANSWER_BYTES = 4 * 1024 * 1024
"""The most bytes of stored rows in one answer: a page ends early when they come to more."""
MAX_LISTED_TAGS = 20_000
"""The most tags in one answer: as many as there is room for if they are long."""
MAX_METADATA_DEPTH = 32
"""Readers of JSON give up at some depth, and what is stored must be readable by all of them."""


def is_deeper_than(depth: int, value: object) -> bool:
    """Whether JSON is nested so deep."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth < 0 or any(is_deeper_than(depth - 1, one) for one in inner)


def count_metadata_bytes(metadata: Mapping[str, Any]) -> int:
    """Raises `ValueError` for metadata that is not JSON in UTF-8, such as NaN or half of a surrogate pair."""
    return len(json.dumps(metadata, ensure_ascii=False, allow_nan=False).encode())
