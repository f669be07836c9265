"""The route that tells who changed what."""

from typing import Annotated, Self

from fastapi import APIRouter, Query
from pydantic import BaseModel

from kb.engine.api.answers import Answer, Time
from kb.engine.api.parameters import EngineDep, Limit, Offset
from kb.engine.model import Action, AuditEntry, Page

router = APIRouter(tags=["upkeep"])


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
