"""The route that tells who changed what."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel

from kb.engine.api.answers import Answer, Time
from kb.engine.api.large_answers import read_in_turn, render_page
from kb.engine.api.parameters import EngineDep, Limit, Offset
from kb.engine.model import Action, AuditEntry

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


@router.get("/audit", response_model=AuditLogAnswer)
async def list_audit_log(
    request: Request,
    engine: EngineDep,
    document_id: Annotated[int | None, Query(ge=1, le=2**63 - 1)] = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """Who changed what, newest first: kept for a year. It names keys, never shows them, and holds no text."""

    def read() -> Response:
        page = engine.store.list_audit_log(document_id=document_id, limit=limit, offset=offset)
        return render_page("entries", page, _render_entry, limit=limit, offset=offset)

    return await read_in_turn(request, read)


def _render_entry(entry: AuditEntry) -> bytes:
    return AuditEntryAnswer.of(entry).model_dump_json().encode()
