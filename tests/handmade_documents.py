"""Documents made by hand: small random vectors stand in for the model's, since a store only keeps them."""

import hashlib
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from tests.backends import MODEL

from kb.engine.ingestion.pipeline import Pipeline
from kb.engine.ingestion.worker import Worker
from kb.engine.model import (
    EVERYWHERE,
    Claim,
    Committed,
    Document,
    DocumentId,
    IndexedChunk,
    IndexedText,
    Lane,
    NewDocument,
    NoteContent,
    NoteSubmission,
    Passage,
    Scope,
    Vector,
)
from kb.engine.ports import Store

DIMENSION = 16
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
LEASE = timedelta(seconds=15)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def vector_of(text: str) -> Vector:
    """A unit vector that is the same for the same text and far from that of any other."""
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    numbers = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    unit: Vector = numbers / np.linalg.norm(numbers)
    return unit


def index(*texts: str, heading: str | None = None, model: str = MODEL) -> IndexedText:
    return IndexedText([IndexedChunk(Passage(text, heading), vector_of(text)) for text in texts], model)


def note(
    text: str,
    *,
    title: str = "Untitled",
    tags: Sequence[str] = (),
    source_path: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> NewDocument:
    return NewDocument(
        doc_type="note",
        format="note",
        title=title,
        title_is_given=False,
        filename=f"{title}.md",
        source_path=source_path,
        size_bytes=len(text.encode()),
        content_hash=f"sha256:{digest(text)}",
        original=None,
        note_text=text,
        tags=tuple(tags),
        metadata=metadata or {},
        processing_method="text_extraction",
    )


def file(
    content: str,
    *,
    title: str = "Untitled",
    format: str = "txt",
    tags: Sequence[str] = (),
    source_path: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> NewDocument:
    return NewDocument(
        doc_type=format,
        format=format,
        title=title,
        title_is_given=False,
        filename=f"{title}.{format}",
        source_path=source_path,
        size_bytes=len(content.encode()),
        content_hash=f"sha256:{digest(content)}",
        original=digest(content),
        note_text=None,
        tags=tuple(tags),
        metadata=metadata or {},
        processing_method="text_extraction",
    )


def revision(text: str, *, title: str = "Untitled", tags: tuple[str, ...] | None = None) -> NoteContent:
    return NoteContent(
        text=text,
        title=title,
        title_is_given=False,
        filename=f"{title}.md",
        size_bytes=len(text.encode()),
        content_hash=f"sha256:{digest(text)}",
        tags=tags,
    )


def claim_new_job(store: Store, *, text: str = "some text", now: datetime = NOW) -> Claim:
    """A claim on a job of its own; there must be no other job to do."""
    job = store.add_job(NoteSubmission(text), idempotency_key=None, max_queued=100, now=now)
    claim = store.claim_job(Lane.INTERACTIVE, now=now, lease_until=now + LEASE)
    assert claim is not None
    assert claim.job_id == job.id
    return claim


def commit(store: Store, new: NewDocument, text: IndexedText | None = None, *, now: datetime = NOW) -> Committed:
    return store.commit_document(claim_new_job(store, now=now), new, text or index(new.note_text or "text"), now=now)


def add(store: Store, new: NewDocument, text: IndexedText | None = None, *, now: datetime = NOW) -> Document:
    return store.get_document(commit(store, new, text, now=now).document_id)


def add_note(store: Store, text: str, *, tags: Sequence[str] = (), now: datetime = NOW) -> Document:
    return add(store, note(text, tags=tags), index(text), now=now)


def found_by_text(store: Store, *words: str, scope: Scope = EVERYWHERE, limit: int = 100) -> list[DocumentId]:
    """The documents of the matches, best first."""
    found: list[DocumentId] = store.find_by_text(words, scope, limit=limit).matches.document_ids.tolist()
    return found


def found_by_vector(store: Store, near: str, *, scope: Scope = EVERYWHERE, limit: int = 100) -> list[DocumentId]:
    found: list[DocumentId] = store.find_by_vector(vector_of(near), scope, limit=limit).matches.document_ids.tolist()
    return found


def work_once(pipeline: Pipeline) -> bool:
    """Do the next job of either lane; tell whether there was one."""
    return any(Worker(pipeline, lane, threading.Event()).work_once() for lane in Lane)


def work_off(pipeline: Pipeline) -> None:
    """Do all jobs that are waiting."""
    while work_once(pipeline):
        pass
