"""The JSON that the engine answers with. Fields may be added, never renamed."""

from datetime import UTC, datetime
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, PlainSerializer
from pydantic_core import to_json

from kb.engine.model import Document, DocumentDetail, Job, JobStatus

Time = Annotated[
    datetime,
    PlainSerializer(lambda moment: moment.astimezone(UTC).isoformat().replace("+00:00", "Z"), return_type=str),
]


class Answer(BaseModel):
    """Made with `of` from a value of the engine with the same fields."""

    model_config = ConfigDict(from_attributes=True)

    @classmethod
    def of(cls, value: object) -> Self:
        return cls.model_validate(value)


class DocumentAnswer(Answer):
    id: int
    uuid: UUID
    title: str
    doc_type: str
    format: str
    filename: str
    source_path: str | None
    size_bytes: int
    content_hash: str
    tags: list[str]
    metadata: dict[str, Any]
    processing_method: str
    processing_status: str
    chunk_count: int
    version: int
    created_at: Time
    updated_at: Time | None


class ChunkAnswer(Answer):
    id: int
    uuid: UUID
    ordinal: int
    text: str
    page_num: int | None
    heading: str | None


class DocumentDetailAnswer(DocumentAnswer):
    chunks: list[ChunkAnswer] | None = None
    text: str | None = None

    @classmethod
    def of_detail(cls, detail: DocumentDetail, *, with_chunks: bool = True) -> Self:
        """A file has no `text`, and a caller who wants no chunks gets none: both are then left out."""
        answer = cls.of(detail.document)
        if with_chunks:
            answer.chunks = [ChunkAnswer.of(chunk) for chunk in detail.chunks]
        if detail.text is not None:
            answer.text = detail.text
        return answer


def describe_document(document: Document) -> dict[str, object]:
    """The fields of a `DocumentAnswer`, with None for the metadata."""
    return {
        "id": document.id,
        "uuid": document.uuid,
        "title": document.title,
        "doc_type": document.doc_type,
        "format": document.format,
        "filename": document.filename,
        "source_path": document.source_path,
        "size_bytes": document.size_bytes,
        "content_hash": document.content_hash,
        "tags": document.tags,
        "metadata": None,
        "processing_method": document.processing_method,
        "processing_status": document.processing_status,
        "chunk_count": document.chunk_count,
        "version": document.version,
        "created_at": document.created_at.astimezone(UTC),
        "updated_at": None if document.updated_at is None else document.updated_at.astimezone(UTC),
    }


def render_with_metadata(fields: dict[str, object], document: Document) -> bytes:
    """The fields as JSON, with the stored JSON of the metadata inserted: parsed, it can take fifty times the memory.

    No text in the fields can look like the place where it is inserted, since quotes in a text are escaped.
    """
    content = to_json(fields, inf_nan_mode="null")
    return content.replace(b',"metadata":null,', b',"metadata":%b,' % document.metadata_json.encode(), 1)


def render_document(document: Document) -> bytes:
    """The JSON of a `DocumentAnswer`. It takes a third of the time that the model takes, which checks the fields."""
    return render_with_metadata(describe_document(document), document)


class DocumentsAnswer(BaseModel):
    documents: list[DocumentAnswer]
    total: int
    limit: int
    offset: int


class DeletedAnswer(BaseModel):
    status: str = "deleted"
    document_id: int
    title: str
    chunks_removed: int


class ClearedAnswer(BaseModel):
    documents_removed: int
    embeddings_removed: int
    bytes_freed: int


class JobErrorAnswer(Answer):
    code: str
    message: str


class JobAnswer(BaseModel):
    id: int
    job_id: int
    uuid: UUID
    type: str
    status: JobStatus
    progress: float
    current_step: str
    completed_steps: int
    total_steps: int
    message: str
    filename: str
    document_id: int | None
    document_uuid: UUID | None
    chunks_created: int | None
    duplicate: bool
    replaced: bool
    error: JobErrorAnswer | None
    attempts: int
    created_at: Time
    started_at: Time | None
    finished_at: Time | None
    elapsed_seconds: float | None
    estimated_remaining_seconds: float | None

    @classmethod
    def of(cls, job: Job, now: datetime) -> Self:
        elapsed = None if job.started_at is None else (job.finished_at or now) - job.started_at
        seconds = None if elapsed is None else round(max(elapsed.total_seconds(), 0.0), 3)
        progress = job.progress.fraction
        remaining = None
        if job.status is JobStatus.RUNNING and seconds is not None and progress > 0:
            remaining = round(seconds * (1 - progress) / progress, 1)
        return cls(
            id=job.id,
            job_id=job.id,
            uuid=job.uuid,
            type=job.type,
            status=job.status,
            progress=round(progress, 4),
            current_step=job.progress.step,
            completed_steps=job.progress.completed_steps,
            total_steps=job.progress.total_steps,
            message=job.progress.message,
            filename=job.filename,
            document_id=job.document_id,
            document_uuid=job.document_uuid,
            chunks_created=job.chunks_created,
            duplicate=job.is_duplicate,
            replaced=job.is_replacement,
            error=None if job.error is None else JobErrorAnswer.of(job.error),
            attempts=job.attempts,
            created_at=job.created_at,
            started_at=job.started_at,
            finished_at=job.finished_at,
            elapsed_seconds=seconds,
            estimated_remaining_seconds=remaining,
        )


class JobsAnswer(BaseModel):
    jobs: list[JobAnswer]
    total: int
    limit: int
    offset: int
