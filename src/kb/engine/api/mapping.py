"""The route of the map: where documents lie, and what the page needs to draw them."""

from datetime import UTC
from typing import Annotated, Any, Literal
from uuid import UUID

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Header, Query, Request, Response
from pydantic import BaseModel, Field
from pydantic_core import to_json

from kb.engine.api.answers import Time
from kb.engine.api.large_answers import LargeAnswer
from kb.engine.api.parameters import EngineDep
from kb.engine.model import Map, MappedDocument
from kb.engine.wiring import Engine

router = APIRouter(tags=["map"])

# A ten-thousandth of the map is less than a pixel of any screen.
DIGITS = 4
MAP_ANSWERS: dict[int | str, dict[str, Any]] = {304: {"description": "Nothing has changed since that ETag"}}

Coordinate = Annotated[float, Field(ge=-1, le=1)]


class MappedDocumentAnswer(BaseModel):
    id: int
    uuid: UUID
    title: str
    doc_type: str
    format: str
    tags: list[str]
    x: Coordinate
    y: Coordinate
    chunk_count: int
    created_at: Time
    updated_at: Time | None


class MapAnswer(BaseModel):
    documents: list[MappedDocumentAnswer] = Field(description="Those that have a place, most recent first.")
    total: int = Field(description="How many documents there are, placed or not.")
    placed: int = Field(description="How many have a place. One without text never gets any.")
    state: Literal["ready", "computing"] = Field(
        description="`computing` while some that could have a place have none yet: they get it when all jobs are done."
    )


def make_turns() -> CapacityLimiter:
    """One at a time: of 50,000 documents each takes a second, in which Python does little else, and 100 MB."""
    return CapacityLimiter(1)


@router.get("/map", response_model=MapAnswer, responses=MAP_ANSWERS)
async def get_map(
    request: Request,
    engine: EngineDep,
    limit: Annotated[int, Query(ge=1, le=50_000)] = 20_000,
    if_none_match: Annotated[
        str | None, Header(description="The ETag of the map you have: if it is still that one, the answer is 304.")
    ] = None,
) -> Response:
    """The documents laid out in the plane by what they say: the nearer two of them, the more alike.

    Made in the background, when there is nothing else to do. `map_changed` of `GET /events` tells of each change.
    """
    state = request.app.state
    return await to_thread.run_sync(_answer, engine, state.started, limit, if_none_match, limiter=state.map_turns)


def _answer(engine: Engine, started: str, limit: int, if_none_match: str | None) -> Response:
    # Asked for first: whatever happens until the map is read makes it another one for the next who asks.
    tag = f'"{started}-{engine.store.newest_event()}-{limit}"'
    if if_none_match is not None and tag in if_none_match:
        return Response(status_code=304, headers={"ETag": tag})
    answer = render_map(engine.store.read_map(limit=limit))
    return LargeAnswer(answer, headers={"ETag": tag})


def render_map(found: Map) -> bytes:
    """The JSON of a `MapAnswer`, in a third of the time that making one takes: there is nothing to check."""
    answer = {
        "documents": [_describe(document) for document in found.documents],
        "total": found.total,
        "placed": found.placed,
        "state": "ready" if found.is_whole else "computing",
    }
    return to_json(answer)


def _describe(document: MappedDocument) -> dict[str, object]:
    return {
        "id": document.id,
        "uuid": document.uuid,
        "title": document.title,
        "doc_type": document.doc_type,
        "format": document.format,
        "tags": document.tags,
        "x": round(document.x, DIGITS),
        "y": round(document.y, DIGITS),
        "chunk_count": document.chunk_count,
        "created_at": document.created_at.astimezone(UTC),
        "updated_at": None if document.updated_at is None else document.updated_at.astimezone(UTC),
    }
