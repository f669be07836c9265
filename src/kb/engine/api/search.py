"""The search route."""

import os
import time
from datetime import UTC
from typing import Any
from uuid import UUID

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from pydantic_core import to_json

from kb.engine.api.answers import Time, render_with_metadata
from kb.engine.api.bodies import SearchBody
from kb.engine.api.large_answers import LargeAnswer, take_fitting
from kb.engine.api.metrics import Measurements, MeasurementsDep
from kb.engine.api.parameters import EngineDep
from kb.engine.search.hybrid import Hit, SearchOutcome, search
from kb.engine.wiring import Engine

router = APIRouter(tags=["search"])


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


def make_turns() -> CapacityLimiter:
    """As many searches at a time as there are cores, and one that comes or goes.

    More would be slower each, and no more of them done: they would only take Python's lock from one another.
    """
    return CapacityLimiter((os.cpu_count() or 1) + 1)


@router.post("/search", name="search", response_model=SearchAnswer)
async def search_documents(
    request: Request, engine: EngineDep, measurements: MeasurementsDep, body: SearchBody
) -> Response:
    """An answer has fewer than `top` results when they come to 4 MB. Use `offset` for the rest."""
    # Who waits for the model must not keep those waiting who can do without.
    turns: CapacityLimiter | None = request.app.state.search_turns if engine.embedder.is_ready else None
    return await to_thread.run_sync(_search, engine, measurements, body, limiter=turns)


def _search(engine: Engine, measurements: Measurements, body: SearchBody) -> Response:
    started = time.perf_counter()
    request = body.to_request()
    outcome = search(engine.store, engine.embedder, request)
    seconds = time.perf_counter() - started
    measurements.search_seconds.add(request.mode.value, seconds)
    return LargeAnswer(render_search(outcome, seconds * 1000))


def render_search(outcome: SearchOutcome, took_ms: float) -> bytes:
    """The JSON of a `SearchAnswer`, in a third of the time that making one takes: there is nothing to check."""
    about = {
        "total": outcome.total,
        "took_ms": round(took_ms, 3),
        "degraded": outcome.is_degraded,
        "suggestion": outcome.suggestion,
    }
    hits = b",".join(take_fitting(map(_render_hit, outcome.hits)))
    return b'{"results":[%b],%b' % (hits, to_json(about, inf_nan_mode="null")[1:])


def _render_hit(hit: Hit) -> bytes:
    document, chunk = hit.document, hit.chunk
    fields: dict[str, object] = {
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
        "metadata": None,
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
    return render_with_metadata(fields, document)
