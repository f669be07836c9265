"""Work to do later."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias
from uuid import UUID

from kb.engine.model.naming import DocumentId, JobId, Metadata


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


class IndexSource(StrEnum):
    """What a document's chunks are made from anew."""

    ORIGINALS = "originals"
    CHUNKS = "chunks"
    """The chunks themselves, of those documents whose vectors are of another model."""


@dataclass(frozen=True)
class ReindexSubmission:
    source: IndexSource


Submission: TypeAlias = NoteSubmission | FileSubmission
Work: TypeAlias = Submission | ReindexSubmission


class Lane(StrEnum):
    """Kinds of work of which none waits for another."""

    INTERACTIVE = "interactive"
    """Notes: somebody waits for them."""
    BULK = "bulk"
    """Files."""
    UPKEEP = "upkeep"
    """What the engine does to all documents."""


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
    is_replacement: bool
    """Whether it gave new content to a document that was there before, and still is."""


@dataclass(frozen=True)
class Claim:
    """The right to work on a job: only the newest attempt may report on it or finish it."""

    job_id: JobId
    attempt: int
    failures: int
    """How often it was tried in vain since it was submitted or retried by a person."""
    work: Work
    submitted_by: str
    """The name of the key with which it was submitted."""
    cursor: DocumentId
    """Of work on all documents: the last one that an earlier attempt has done."""


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
    ever_submitted: int

    @property
    def has_work(self) -> bool:
        """Whether any job is still to be done."""
        return self.queued + self.running > 0
