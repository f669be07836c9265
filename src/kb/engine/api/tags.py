"""Routes of tags. Each change answers the document as it is afterwards."""

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel
from pydantic_core import to_json

from kb.engine.api.answers import Answer, DocumentAnswer
from kb.engine.api.bodies import TagChangeBody, TagsBody
from kb.engine.api.large_answers import read_in_turn, render_page
from kb.engine.api.parameters import NO_NUL, EngineDep, ExpectedVersion, Offset, RefDep, etag
from kb.engine.model import Document, TagCount
from kb.engine.model.limits import MAX_LISTED_TAGS, MAX_TAG_CHARACTERS

router = APIRouter(tags=["tags"])


class TagCountAnswer(Answer):
    name: str
    count: int


class TagsAnswer(BaseModel):
    tags: list[TagCountAnswer]
    total: int
    limit: int
    offset: int


@router.get("/tags", response_model=TagsAnswer)
async def list_tags(
    request: Request,
    engine: EngineDep,
    limit: Annotated[int, Query(ge=1, le=MAX_LISTED_TAGS)] = MAX_LISTED_TAGS,
    offset: Offset = 0,
) -> Response:
    """All tags, ordered by name. When there are very many, an answer has only the first: use `offset` for the rest."""

    def read() -> Response:
        page = engine.store.list_tags(limit=limit, offset=offset)
        return render_page("tags", page, _render_count, limit=limit, offset=offset)

    return await read_in_turn(request, read)


def _render_count(tag: TagCount) -> bytes:
    return to_json(vars(tag))


@router.patch("/documents/{id}/tags")
def change_tags(
    engine: EngineDep, ref: RefDep, expected: ExpectedVersion, body: TagChangeBody, response: Response
) -> DocumentAnswer:
    document = engine.store.change_tags(
        ref, add=body.add, remove=body.remove, expected_version=expected, now=engine.clock()
    )
    return _answer(document, response)


@router.put("/documents/{id}/tags")
def replace_tags(
    engine: EngineDep, ref: RefDep, expected: ExpectedVersion, body: TagsBody, response: Response
) -> DocumentAnswer:
    document = engine.store.replace_tags(ref, body.tags, expected_version=expected, now=engine.clock())
    return _answer(document, response)


@router.post("/documents/{id}/tags")
def add_tags(
    engine: EngineDep, ref: RefDep, expected: ExpectedVersion, body: TagsBody, response: Response
) -> DocumentAnswer:
    document = engine.store.change_tags(ref, add=body.tags, remove=(), expected_version=expected, now=engine.clock())
    return _answer(document, response)


# `:path`, because a tag may hold slashes.
@router.delete("/documents/{id}/tags/{tag:path}")
def remove_tag(
    engine: EngineDep,
    ref: RefDep,
    expected: ExpectedVersion,
    tag: Annotated[str, Path(min_length=1, max_length=MAX_TAG_CHARACTERS, pattern=NO_NUL)],
    response: Response,
) -> DocumentAnswer:
    document = engine.store.change_tags(ref, add=(), remove=[tag], expected_version=expected, now=engine.clock())
    return _answer(document, response)


def _answer(document: Document, response: Response) -> DocumentAnswer:
    response.headers["ETag"] = etag(document.version)
    return DocumentAnswer.of(document)
