"""The route that shows a page of a document as a picture."""

import hashlib
from functools import partial
from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Header, Path, Query, Request, Response
from starlette.requests import ClientDisconnect

from kb.engine.api.bodies import MAX_QUERY_CHARACTERS
from kb.engine.api.documents import BYTES, no_original
from kb.engine.api.parameters import NO_NUL, EngineDep, RefDep
from kb.engine.errors import NotFound
from kb.engine.ingestion.extraction.page_picture import FindStretches, PagePicture, draw_page, has_pages
from kb.engine.model import Document, Ref
from kb.engine.originals import DamagedOriginal
from kb.engine.search.query import parse_query
from kb.engine.search.snippets import find_stretches
from kb.engine.wiring import Engine
from kb.version import VERSION

router = APIRouter(tags=["documents"])

# Each is a process that may take a core and some memory. People look at one page at a time.
PAGES_AT_A_TIME = 2
LAST_PAGE = 1_000_000
PAGE_COUNT = "X-Page-Count"

ETAG = {"description": "Of the page as it is drawn.", "schema": {"type": "string"}}
ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The page",
        "content": {"image/png": BYTES},
        "headers": {
            "ETag": ETAG,
            PAGE_COUNT: {"description": "How many pages the document has.", "schema": {"type": "integer"}},
        },
    },
    304: {"description": "The page is the one that you have", "headers": {"ETag": ETAG}},
}

PageNumber = Annotated[int, Path(alias="n", ge=1, le=LAST_PAGE, description="The number of the page, from 1.")]
Width = Annotated[
    int,
    Query(ge=100, le=2000, description="In pixels; a picture that is smaller, or a page that is very long, has fewer."),
]
Words = Annotated[
    str,
    Query(
        max_length=MAX_QUERY_CHARACTERS,
        pattern=NO_NUL,
        description="A search: its words are marked where the text of a PDF has them.",
    ),
]
IsComplete = Annotated[bool, Query(description="As in a search: what begins with the last word is marked, too.")]
KnownTags = Annotated[str | None, Header(alias="If-None-Match", description="The ETag of the picture you have.")]


def make_turns() -> CapacityLimiter:
    return CapacityLimiter(PAGES_AT_A_TIME)


@router.get("/documents/{id}/pages/{n}.png", name="get_document_page", response_class=Response, responses=ANSWERS)
async def get_document_page(
    request: Request,
    engine: EngineDep,
    ref: RefDep,
    number: PageNumber,
    width: Width = 1000,
    q: Words = "",
    known: KnownTags = None,
    *,
    complete_last_word: IsComplete = False,
) -> Response:
    """A page of a PDF or of a picture, as a picture."""
    document = await to_thread.run_sync(_find_document, engine, ref)
    # For clients that keep pages themselves. A browser would leave them on its disk, behind no key.
    headers = {"ETag": _tag(document, number, width, q, complete_last_word)}
    if headers["ETag"] in (known or ""):
        return Response(status_code=304, headers=headers)
    query = parse_query(q, complete_last_word=complete_last_word)
    find = partial(find_stretches, words=query.marked, beginning=query.beginning) if q else None
    turns: CapacityLimiter = request.app.state.page_turns
    async with turns:
        # Whoever leafs through a document has gone on long before it is their turn.
        if await request.is_disconnected():
            raise ClientDisconnect
        picture = await to_thread.run_sync(_draw, engine, document, number, width, find)
    return Response(picture.png, media_type="image/png", headers={**headers, PAGE_COUNT: str(picture.page_count)})


def _find_document(engine: Engine, ref: Ref) -> Document:
    document = engine.store.read_document(ref, chunk_limit=0).document
    if not has_pages(document.format):
        raise NotFound(f"Only PDF files and pictures have pages to show; document {document.id} is {document.format}.")
    return document


def _draw(engine: Engine, document: Document, number: int, width: int, find: FindStretches | None) -> PagePicture:
    # What was taken over from kb v2 may have come without.
    if document.original is None:
        raise no_original(document)
    try:
        with engine.originals.open_file(document.original) as path:
            return draw_page(document.format, path, number, width=width, find_stretches=find)
    except DamagedOriginal as error:
        raise no_original(document) from error


def _tag(document: Document, *asked: object) -> str:
    """Another version may draw the same page in another way."""
    drawn = repr((VERSION, document.content_hash, document.format, *asked))
    return f'"{hashlib.sha256(drawn.encode()).hexdigest()[:32]}"'
