"""The values the engine speaks in: documents, chunks, jobs, searches. Frozen, and free of I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from typing import Any, Generic, NewType, TypeAlias, TypeVar
from uuid import UUID

import numpy as np
import numpy.typing as npt

DocumentId = NewType("DocumentId", int)
ChunkId = NewType("ChunkId", int)
JobId = NewType("JobId", int)

Ref: TypeAlias = int | UUID
"""Documents and jobs have two names, a small integer and a UUID; callers may use either."""

Vector: TypeAlias = npt.NDArray[np.float32]
Vectors: TypeAlias = npt.NDArray[np.float32]
Metadata: TypeAlias = Mapping[str, Any]
"""JSON that belongs to the user; the engine stores and filters it but never looks inside."""

Row = TypeVar("Row")


@dataclass(frozen=True)
class Page(Generic[Row]):
    rows: list[Row]
    total: int


@dataclass(frozen=True)
class EmbeddingModel:
    name: str
    dimension: int
    window: int
    fingerprint: str
    """Changes whenever the same text would get other numbers; vectors of two fingerprints never meet."""


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
    metadata: Metadata
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
class Section:
    """A stretch of extracted text that lies on one page, under one heading; cut into passages by its length."""

    text: str
    heading: str | None = None
    page_num: int | None = None


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
class NoteRevision:
    """The new content of an existing note. `tags=None` leaves the tags alone."""

    text: str
    title: str
    title_is_given: bool
    filename: str
    size_bytes: int
    content_hash: str
    tags: tuple[str, ...] | None = None


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


class DocumentOrder(StrEnum):
    RECENT = "recent"
    DATE_ADDED = "date_added"
    FILENAME = "filename"
    TITLE = "title"
    SIZE = "size"


class Direction(StrEnum):
    ASCENDING = "asc"
    DESCENDING = "desc"


@dataclass(frozen=True)
class DocumentQuery:
    """Which documents to list, and how. `direction=None` is what people expect of that order."""

    source_path: str | None = None
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


class JobStatus(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True)
class NoteSubmission:
    text: str
    title: str | None = None
    tags: tuple[str, ...] = ()
    source_path: str | None = None
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True)
class FileSubmission:
    original: str
    filename: str
    format: str
    size_bytes: int
    title: str | None = None
    tags: tuple[str, ...] = ()
    source_path: str | None = None
    metadata: Metadata = field(default_factory=dict)
    force_ocr: bool = False


Submission: TypeAlias = NoteSubmission | FileSubmission


@dataclass(frozen=True)
class Progress:
    step: str
    completed_steps: int
    total_steps: int
    message: str

    @property
    def fraction(self) -> float:
        return self.completed_steps / self.total_steps if self.total_steps else 0.0


@dataclass(frozen=True)
class JobError:
    code: str
    message: str


@dataclass(frozen=True)
class Job:
    id: JobId
    uuid: UUID
    type: str
    status: JobStatus
    progress: Progress
    filename: str
    document_id: DocumentId | None
    document_uuid: UUID | None
    chunks_created: int | None
    is_duplicate: bool
    error: JobError | None
    attempts: int
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True)
class Claim:
    """The right to work on a job: only the newest attempt may report on it or finish it."""

    job_id: JobId
    attempt: int
    failures: int
    """How often it was tried in vain since it was submitted or retried by a person."""
    submission: Submission


@dataclass(frozen=True)
class Committed:
    document_id: DocumentId
    is_duplicate: bool
    released_original: str | None
    """An original that may now be without use: of a replaced document, or of a duplicate."""


@dataclass(frozen=True)
class QueueCounts:
    queued: int
    running: int
    failed: int


@dataclass(frozen=True)
class Scope:
    """What a search may find: documents by their properties, chunks by phrases they must or must not hold."""

    tags: tuple[str, ...] = ()
    format: str | None = None
    doc_type: str | None = None
    source_path: str | None = None
    created_from: date | None = None
    created_to: date | None = None
    metadata: Metadata = field(default_factory=dict)
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    @property
    def limits_documents(self) -> bool:
        single = (self.format, self.doc_type, self.source_path, self.created_from, self.created_to)
        return bool(self.tags or self.metadata) or any(value is not None for value in single)


EVERYWHERE = Scope()


@dataclass(frozen=True)
class Match:
    """A chunk found by one method, with that method's score."""

    chunk_id: ChunkId
    document_id: DocumentId
    ordinal: int
    score: float


@dataclass(frozen=True)
class KeywordMatches:
    matches: list[Match]
    best_possible: float
    """The score a chunk would get that is about nothing but the query's words: makes scores comparable."""


@dataclass(frozen=True)
class FoundChunk:
    chunk: Chunk
    document: Document


@dataclass(frozen=True)
class Statistics:
    schema_version: int
    documents_by_type: Mapping[str, int]
    chunks: int
    vectors: int
    stale_vectors: int
    """Vectors of another model, kept out of search until they are made anew."""
    size_bytes: int
    last_changed_at: datetime | None
