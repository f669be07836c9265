"""Routes for whoever looks after the base: who changed what, and making derived data anew."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from kb.engine.api.answers import AuditLogAnswer, JobAnswer
from kb.engine.api.parameters import EngineDep, Limit, Offset

router = APIRouter(tags=["upkeep"])


@router.get("/audit")
def list_audit_log(
    engine: EngineDep,
    document_id: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> AuditLogAnswer:
    """Who changed what, newest first: kept for a year. It names keys, never shows them, and holds no text."""
    page = engine.store.list_audit_log(document_id=document_id, limit=limit, offset=offset)
    return AuditLogAnswer.of(page, limit, offset)


@router.post("/reindex", status_code=202)
def reindex(engine: EngineDep, response: Response) -> JobAnswer:
    """Make chunks, words and vectors of all documents anew, from the originals, in the background."""
    now = engine.clock()
    job = engine.store.add_reindex(now=now)
    engine.wake_worker()
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return JobAnswer.of(job, now)
