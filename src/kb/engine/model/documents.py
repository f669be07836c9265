"""Documents, their chunks, and what makes them searchable."""

import json
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from kb.engine.model.arrays import Vector
from kb.engine.model.naming import ChunkId, DocumentId, Metadata, filename_in

OCR_FORCED = "ocr_forced"
"""Set in the metadata of a document whose every page was to be recognised, whatever text it brought."""
TOLD_OF_READING = frozenset(
    (
        OCR_FORCED,
        "ocr_pages",
        "ocr_pictures",
        "ocr_confidence",
        *(f"unread_{unit}s" for unit in ("page", "slide", "sheet", "chapter", "part", "picture")),
    )
)
"""The names in a document's metadata that tell how it was read the last time."""


@dataclass(frozen=True)
class Document:
    id: DocumentId
    uuid: UUID
    title: str
    doc_type: str
    format: str
    filename: str
    source_path: str | None
    size_bytes: int
    content_hash: str
    original: str | None
    tags: tuple[str, ...]
    metadata_json: str
    """The JSON as it is stored: parsed, 64 KB can become megabytes."""
    processing_method: str
    chunk_count: int
    version: int
    title_is_given: bool
    created_at: datetime
    updated_at: datetime | None

    @property
    def processing_status(self) -> str:
        """Always the same: a document exists only once its job has committed it."""
        return "completed"

    @property
    def metadata(self) -> Metadata:
        metadata: Metadata = json.loads(self.metadata_json)
        return metadata

    def moved_to(self, source_path: str) -> "Document":
        """The document of a file that lies elsewhere now. A name and a title that came from the path follow it."""
        filename, title = self.filename, self.title
        if self.doc_type != "note" and filename == filename_in(self.source_path or filename):
            filename = filename_in(source_path)
        if title == self.filename and not self.title_is_given:
            title = filename
        return replace(self, source_path=source_path, filename=filename, title=title)


@dataclass(frozen=True)
class Chunk:
    id: ChunkId
    uuid: UUID
    ordinal: int
    text: str
    page_num: int | None
    heading: str | None


@dataclass(frozen=True)
class DocumentDetail:
    document: Document
    chunks: list[Chunk]
    text: str | None
    """The full text of a note; None for a file, whose text is its chunks."""


@dataclass(frozen=True)
class Passage:
    """A stretch of a document's text that becomes one chunk."""

    text: str
    heading: str | None = None
    page_num: int | None = None


@dataclass(frozen=True)
class IndexedChunk:
    passage: Passage
    vector: Vector


@dataclass(frozen=True)
class IndexedText:
    """What makes a document searchable: its chunks with their vectors, all made by one model."""

    chunks: list[IndexedChunk]
    model_fingerprint: str


@dataclass(frozen=True)
class NewDocument:
    doc_type: str
    format: str
    title: str
    title_is_given: bool
    filename: str
    source_path: str | None
    size_bytes: int
    content_hash: str
    original: str | None
    note_text: str | None
    tags: tuple[str, ...]
    metadata: Metadata
    processing_method: str


@dataclass(frozen=True)
class NoteContent:
    """The new content of an existing note. `tags=None` leaves the tags alone."""

    text: str
    title: str
    title_is_given: bool
    filename: str
    size_bytes: int
    content_hash: str
    tags: tuple[str, ...] | None = None


@dataclass(frozen=True)
class DocumentChange:
    """New properties of a document. What is None stays as it is."""

    title: str | None = None
    metadata: Metadata | None = None
    source_path: str | None = None


@dataclass(frozen=True)
class NoteRevision:
    """What a note said from one of its versions on, until the next revision."""

    version: int
    title: str
    title_is_given: bool
    text: str
    content_hash: str
    created_at: datetime
    is_current: bool


@dataclass(frozen=True)
class DeletedDocument:
    id: DocumentId
    title: str
    chunks_removed: int
    original: str | None


@dataclass(frozen=True)
class Cleared:
    documents_removed: int
    vectors_removed: int
    bytes_freed: int

    def __add__(self, other: "Cleared") -> "Cleared":
        return Cleared(
            self.documents_removed + other.documents_removed,
            self.vectors_removed + other.vectors_removed,
            self.bytes_freed + other.bytes_freed,
        )


class DocumentOrder(StrEnum):
    RECENT = "recent"
    DATE_ADDED = "date_added"
    FILENAME = "filename"
    TITLE = "title"
    SIZE = "size"
    SOURCE_PATH = "source_path"


class Direction(StrEnum):
    ASCENDING = "asc"
    DESCENDING = "desc"


@dataclass(frozen=True)
class DocumentQuery:
    """Which documents to list, and how. `direction=None` is what people expect of that order."""

    source_path: str | None = None
    source_folder: str | None = None
    """The folder in which, or below which, their source paths lie."""
    tags: tuple[str, ...] = ()
    doc_type: str | None = None
    format: str | None = None
    words: str | None = None
    order: DocumentOrder = DocumentOrder.RECENT
    direction: Direction | None = None
    limit: int = 100
    offset: int = 0


@dataclass(frozen=True)
class TagCount:
    name: str
    count: int
