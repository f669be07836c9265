"""Routes that rewrite a note in place, and tell and bring back what it said before."""

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel

from kb.engine import notes
from kb.engine.api.answers import Answer, DocumentDetailAnswer, Time
from kb.engine.api.bodies import NoteChangeBody, RevertBody
from kb.engine.api.large_answers import read_in_turn, render_page
from kb.engine.api.parameters import EngineDep, ExpectedVersion, Limit, Offset, RefDep, etag
from kb.engine.model import DocumentDetail, NoteRevision

router = APIRouter(tags=["notes"])


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


@router.patch("/notes/{id}")
def update_note(
    engine: EngineDep, ref: RefDep, expected: ExpectedVersion, body: NoteChangeBody, response: Response
) -> DocumentDetailAnswer:
    detail = notes.rewrite_note(
        engine.store,
        engine.embedder,
        ref,
        text=body.text,
        title=body.title,
        tags=None if body.tags is None else tuple(body.tags),
        expected_version=expected,
        now=engine.clock(),
    )
    return _answer(detail, response)


@router.get("/notes/{id}/revisions", response_model=RevisionsAnswer)
async def list_revisions(
    request: Request, engine: EngineDep, ref: RefDep, limit: Limit = 100, offset: Offset = 0
) -> Response:
    """The note's present and earlier texts, newest first. A page has fewer than `limit` when they come to 4 MB."""

    def read() -> Response:
        page = engine.store.list_revisions(ref, limit=limit, offset=offset)
        return render_page("revisions", page, _render_revision, limit=limit, offset=offset)

    return await read_in_turn(request, read)


def _render_revision(revision: NoteRevision) -> bytes:
    return RevisionAnswer.of(revision).model_dump_json().encode()


@router.post("/notes/{id}/revert")
def revert_note(
    engine: EngineDep, ref: RefDep, expected: ExpectedVersion, body: RevertBody, response: Response
) -> DocumentDetailAnswer:
    """Make text and title again what they were in a version, as a new version."""
    detail = notes.revert_note(
        engine.store, engine.embedder, ref, body.version, expected_version=expected, now=engine.clock()
    )
    return _answer(detail, response)


def _answer(detail: DocumentDetail, response: Response) -> DocumentDetailAnswer:
    response.headers["ETag"] = etag(detail.document.version)
    return DocumentDetailAnswer.of_detail(detail)
