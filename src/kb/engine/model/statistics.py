"""How much there is in a base."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal


@dataclass(frozen=True)
class VectorIndexState:
    kind: Literal["exact", "codes", "hnsw", "none"]
    """Whether each search compares all vectors, or codes first, or asks an index; none while that is being prepared."""
    chunks: int
    recall: float | None
    """Of the ten nearest chunks, the share that is found."""


@dataclass(frozen=True)
class Statistics:
    schema_version: int
    documents_by_type: Mapping[str, int]
    chunks: int
    vectors: int
    stale_vectors: int
    """Vectors of another model, kept out of search until they are made anew."""
    size_bytes: int
    database_bytes: int
    """What the base takes on the disk, without originals."""
    last_changed_at: datetime | None
    vector_index: VectorIndexState
