"""The route that rewrites a note in place."""

from fastapi import APIRouter, Response

from kb.engine import notes
from kb.engine.api.answers import DocumentDetailAnswer
from kb.engine.api.bodies import NoteChangeBody
from kb.engine.api.parameters import EngineDep, ExpectedVersion, RefDep, etag

router = APIRouter(tags=["notes"])


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
    response.headers["ETag"] = etag(detail.document.version)
    return DocumentDetailAnswer.of_detail(detail)
