"""The JSON that the engine answers with. Fields may be added, never renamed."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, Literal, Self
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer
from pydantic_core import to_json

from kb.engine.model import Action, AuditEntry, Document, DocumentDetail, Job, JobStatus, NoteRevision, Page
from kb.engine.search.hybrid import Hit, SearchOutcome

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


class DocumentsAnswer(BaseModel):
    documents: list[DocumentAnswer]
    total: int
    limit: int
    offset: int

    @classmethod
    def of(cls, page: Page[Document], limit: int, offset: int) -> Self:
        documents = [DocumentAnswer.of(document) for document in page.rows]
        return cls(documents=documents, total=page.total, limit=limit, offset=offset)


class RevisionAnswer(Answer):
    version: int
    title: str
    text: str
    content_hash: str
    created_at: Time
    is_current: bool


class RevisionsAnswer(BaseModel):
    revisions: list[RevisionAnswer]
    total: int
    limit: int
    offset: int

    @classmethod
    def of(cls, page: Page[NoteRevision], limit: int, offset: int) -> Self:
        revisions = [RevisionAnswer.of(revision) for revision in page.rows]
        return cls(revisions=revisions, total=page.total, limit=limit, offset=offset)


class DeletedAnswer(BaseModel):
    status: str = "deleted"
    document_id: int
    title: str
    chunks_removed: int


class ClearedAnswer(BaseModel):
    documents_removed: int
    embeddings_removed: int
    bytes_freed: int


class TagCountAnswer(Answer):
    name: str
    count: int


class TagsAnswer(BaseModel):
    tags: list[TagCountAnswer]


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


class ScoresAnswer(BaseModel):
    """Why it was found: the keyword score (bm25) and the cosine; null where that method did not find it."""

    fts: float | None
    vector: float | None


class HitAnswer(BaseModel):
    chunk_id: int
    chunk_uuid: UUID
    document_id: int
    document_uuid: UUID
    title: str
    filename: str
    source_path: str | None
    doc_type: str
    format: str
    tags: list[str]
    metadata: dict[str, Any]
    text: str
    snippet: str
    page_num: int | None
    heading: str | None
    score: float
    relevance: float
    scores: ScoresAnswer
    created_at: Time
    updated_at: Time | None


class SearchAnswer(BaseModel):
    results: list[HitAnswer]
    total: int
    took_ms: float
    degraded: bool
    suggestion: str | None


def render_search(outcome: SearchOutcome, took_ms: float) -> bytes:
    """The JSON of a `SearchAnswer`, in a third of the time that making one takes: there is nothing to check."""
    answer = {
        "results": [_describe_hit(hit) for hit in outcome.hits],
        "total": outcome.total,
        "took_ms": round(took_ms, 3),
        "degraded": outcome.is_degraded,
        "suggestion": outcome.suggestion,
    }
    return to_json(answer, inf_nan_mode="null")


def _describe_hit(hit: Hit) -> dict[str, object]:
    document, chunk = hit.document, hit.chunk
    return {
        "chunk_id": chunk.id,
        "chunk_uuid": chunk.uuid,
        "document_id": document.id,
        "document_uuid": document.uuid,
        "title": document.title,
        "filename": document.filename,
        "source_path": document.source_path,
        "doc_type": document.doc_type,
        "format": document.format,
        "tags": document.tags,
        "metadata": document.metadata,
        "text": chunk.text,
        "snippet": hit.snippet,
        "page_num": chunk.page_num,
        "heading": chunk.heading,
        "score": round(hit.score, 6),
        "relevance": hit.relevance,
        "scores": {"fts": hit.keyword_score, "vector": hit.cosine},
        "created_at": document.created_at.astimezone(UTC),
        "updated_at": None if document.updated_at is None else document.updated_at.astimezone(UTC),
    }


class AuditEntryAnswer(Answer):
    id: int
    at: Time
    key_name: str
    request_id: str | None
    action: Action
    document_id: int | None
    job_id: int | None


class AuditLogAnswer(BaseModel):
    entries: list[AuditEntryAnswer]
    total: int
    limit: int
    offset: int

    @classmethod
    def of(cls, page: Page[AuditEntry], limit: int, offset: int) -> Self:
        entries = [AuditEntryAnswer.of(entry) for entry in page.rows]
        return cls(entries=entries, total=page.total, limit=limit, offset=offset)


class VectorIndexAnswer(BaseModel):
    kind: Literal["exact", "codes", "hnsw", "none"] = Field(
        description="Whether a search compares all vectors, or first their codes, or asks an index of the database "
        "(`hnsw`). `none` while none of these can be done yet."
    )
    chunks: int
    recall_at_10: float | None = Field(
        description="Of the ten nearest chunks, the share that a search finds: measured when the codes were made."
    )


class StatusAnswer(BaseModel):
    version: str
    schema_version: int
    access: Literal["read", "write"] = Field(description="What the key of this request allows.")
    model: Mapping[str, str | int | bool]
    device: Literal["cpu", "cuda", "rocm"] = Field(description="What the model computes on, once it is loaded.")
    documents: Mapping[str, Any]
    chunks: int
    vectors: int
    vector_index: VectorIndexAnswer
    size_bytes: int
    queue: Mapping[str, int]
    storage: Mapping[str, str]
    configuration: Mapping[str, str | int]
    health: Mapping[str, Any]
    last_updated: Time | None
