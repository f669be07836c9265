"""The route that tells who changed what."""

from typing import Annotated

from fastapi import APIRouter, Query

from kb.engine.api.answers import AuditLogAnswer
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
