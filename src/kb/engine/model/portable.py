"""A document with all that belongs to it, as it goes from one base to another."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from kb.engine.model.arrays import Vectors
from kb.engine.model.documents import Document
from kb.engine.model.naming import Metadata

# Read by whoever makes these values from JSON: what is misspelt or mistyped is refused, never guessed at.
STRICT = {"extra": "forbid", "strict": True}


@dataclass(frozen=True)
class PortableChunk:
    __pydantic_config__ = STRICT

    uuid: UUID
    text: str
    heading: str | None
    page_num: int | None


@dataclass(frozen=True)
class PortableRevision:
    __pydantic_config__ = STRICT

    version: int
    title: str
    title_is_given: bool
    text: str | None
    """None for what the note says now: that is the document's `note_text`."""
    content_hash: str
    created_at: datetime


@dataclass(frozen=True)
class DocumentRecord:
    """All of a document but its vectors and the bytes of its original."""

    __pydantic_config__ = STRICT

    id: int
    """Kept where it is free; the UUID is what a document is known by in every base."""
    uuid: UUID
    title: str
    title_is_given: bool
    doc_type: str
    format: str
    filename: str
    source_path: str | None
    size_bytes: int
    content_hash: str
    original: str | None
    tags: tuple[str, ...]
    metadata: Metadata
    processing_method: str
    version: int
    created_at: datetime
    updated_at: datetime | None
    vector_model: str
    """The fingerprint of the model that made its vectors; empty if it has none."""
    note_text: str | None
    revisions: tuple[PortableRevision, ...]
    chunks: tuple[PortableChunk, ...]


@dataclass(frozen=True)
class PortableHead:
    """The parts of a document whose size is bounded. Its revisions, chunks and vectors are read in pieces."""

    document: Document
    vector_model: str
    note_text: str | None


@dataclass(frozen=True)
class PortableDocument:
    record: DocumentRecord
    vectors: Vectors
    """One row a chunk; no rows if there are none."""


class Arrival(StrEnum):
    """What became of a document that was brought to a base."""

    ADDED = "added"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"
    """It was there, as this version or a later one."""


@dataclass(frozen=True)
class Arrived:
    arrival: Arrival
    released_original: str | None = None
    """An original that may now be without use: of what was replaced."""
