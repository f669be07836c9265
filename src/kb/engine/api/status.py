"""Routes that tell how the engine is."""

import os
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, Field

from kb.engine.api.answers import Time
from kb.engine.api.parameters import EngineDep
from kb.engine.caller import current_caller
from kb.engine.errors import Unavailable
from kb.engine.ingestion.indexing import chunk_tokens
from kb.engine.model import Statistics
from kb.engine.reserve import describe_little_space
from kb.engine.wiring import Engine
from kb.sizes import BYTES_PER_MB
from kb.version import VERSION

# One that gives way to another, or is in the middle of something long, is not missed.
WITHOUT_WORKER = timedelta(minutes=1)

router = APIRouter(tags=["status"])
health_router = APIRouter(tags=["health"])


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


@router.get("/status")
def get_status(engine: EngineDep) -> StatusAnswer:
    statistics = engine.store.read_statistics()
    queue = engine.store.count_jobs()
    model = engine.embedder.model
    options = engine.options
    return StatusAnswer(
        version=VERSION,
        schema_version=statistics.schema_version,
        access="write" if current_caller().can_write else "read",
        model={
            "name": model.name,
            "dimension": model.dimension,
            "window": model.window,
            "fingerprint": model.fingerprint,
            "loaded": engine.embedder.is_ready,
        },
        device=engine.embedder.computing.device,
        documents={
            "total": sum(statistics.documents_by_type.values()),
            "by_type": dict(statistics.documents_by_type),
        },
        chunks=statistics.chunks,
        vectors=statistics.vectors,
        vector_index=VectorIndexAnswer(
            kind=statistics.vector_index.kind,
            chunks=statistics.vector_index.chunks,
            recall_at_10=statistics.vector_index.recall,
        ),
        size_bytes=statistics.size_bytes,
        queue={"queued": queue.queued, "running": queue.running, "failed": queue.failed},
        storage={
            "data_dir": str(options.data_dir),
            "originals": engine.originals.place,
            "base": options.place,
            "database": "postgresql" if options.store_url else "sqlite",
        },
        configuration={
            "chunk_size": chunk_tokens(engine.embedder),
            "max_file_size_mb": options.max_file_bytes // BYTES_PER_MB,
            "embedding_model": model.name,
        },
        health=_check_health(engine, statistics),
        last_updated=statistics.last_changed_at,
    )


def _check_health(engine: Engine, statistics: Statistics) -> dict[str, Any]:
    issues = [*engine.list_issues()]
    if not engine.embedder.is_ready:
        issues.append(engine.embedder.failure or "The embedding model is still loading; search is by keyword.")
    if engine.embedder.computing.shortfall:
        issues.append(engine.embedder.computing.shortfall)
    lacking = engine.store.list_shortfalls(now=engine.clock())
    issues += [f"A worker says: {shortfall}" for shortfall in lacking if shortfall not in issues]
    if statistics.stale_vectors:
        issues.append(
            f"{statistics.stale_vectors} chunks have no vectors of this model and are found by keyword only. A job "
            "makes them; POST /api/v1/reindex starts another."
        )
    if statistics.vector_index.kind == "none" and statistics.vectors:
        issues.append("The index of vectors is being made; search is by keyword.")
    if not engine.store.was_looked_after(since=engine.clock() - WITHOUT_WORKER):
        issues.append("No worker is at work, so what is added waits. Start one: kb worker.")
    damage_count = engine.store.read_scrub().damage_count
    if damage_count:
        issues.append(f"The last check of what is stored found damage ({damage_count}); GET /integrity tells more.")
    is_storage_accessible = os.access(engine.options.data_dir, os.W_OK)
    if not is_storage_accessible:
        issues.append("The data directory cannot be written.")
    issues += filter(None, [describe_little_space(engine.options.data_dir), engine.store.find_trouble()])
    return {
        "status": "degraded" if issues else "healthy",
        "vector_db_connected": True,
        "storage_accessible": is_storage_accessible,
        "embedding_model_loaded": engine.embedder.is_ready,
        "issues": issues,
    }


@health_router.get("/health/live")
async def is_live() -> dict[str, str]:
    """The process answers, even with all its threads at work."""
    return {"status": "live"}


@health_router.get("/health/ready")
def is_ready(engine: EngineDep) -> dict[str, str]:
    """Everything works: the store answers, the model is loaded, the worker runs."""
    engine.store.count_jobs()
    if not engine.embedder.is_ready:
        raise Unavailable(engine.embedder.failure or "The embedding model is still loading.")
    for issue in engine.list_issues():
        raise Unavailable(issue)
    return {"status": "ready"}
