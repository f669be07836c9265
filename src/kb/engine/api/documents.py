"""Routes of documents: list, read, edit, download, delete."""

from functools import partial
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Query, Request, Response

from kb.engine import documents
from kb.engine.api.answers import (
    ClearedAnswer,
    DeletedAnswer,
    DocumentAnswer,
    DocumentDetailAnswer,
    DocumentsAnswer,
    describe_document,
    render_document,
    render_with_metadata,
)
from kb.engine.api.bodies import CONFIRMATION_PHRASE, ClearBody, DocumentChangeBody
from kb.engine.api.large_answers import LargeAnswer, read_in_turn, render_page
from kb.engine.api.parameters import EngineDep, ExpectedVersion, Limit, Offset, PlainText, RefDep, etag
from kb.engine.api.pieces import PiecesResponse
from kb.engine.errors import ConfirmationRequired, NotFound
from kb.engine.model import Direction, Document, DocumentChange, DocumentOrder, DocumentQuery, Ref
from kb.engine.model.hashes import is_name_of_original
from kb.engine.model.limits import MAX_ANSWER_BYTES
from kb.engine.originals import DamagedOriginal
from kb.engine.wiring import Engine

router = APIRouter(tags=["documents"])

BYTES = {"schema": {"type": "string", "format": "binary"}}
FILE_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"description": "The original", "content": {"application/octet-stream": BYTES, "text/plain": BYTES}}
}


@router.get("/documents", response_model=DocumentsAnswer)
async def list_documents(
    request: Request,
    engine: EngineDep,
    source_path: PlainText | None = None,
    source_folder: Annotated[PlainText | None, Query(min_length=1)] = None,
    tag: Annotated[list[PlainText] | None, Query(max_length=100)] = None,
    doc_type: PlainText | None = None,
    format: PlainText | None = None,
    q: PlainText | None = None,
    sort: DocumentOrder = DocumentOrder.RECENT,
    order: Direction | None = None,
    limit: Limit = 100,
    offset: Offset = 0,
) -> Response:
    """A page has fewer than `limit` documents when they come to 4 MB. Use `offset` for the rest."""
    query = DocumentQuery(source_path, source_folder, tuple(tag or ()), doc_type, format, q, sort, order, limit, offset)
    return await read_in_turn(
        request,
        lambda: render_page(
            "documents", engine.store.list_documents(query), render_document, limit=limit, offset=offset
        ),
    )


@router.get("/documents/{id}", response_model=DocumentDetailAnswer)
async def get_document(
    request: Request,
    engine: EngineDep,
    ref: RefDep,
    *,
    chunks: bool = True,
    chunk_limit: Limit | None = None,
    chunk_offset: Offset = 0,
) -> Response:
    """A document with its chunks. Of more than 4 MB it has only the first: `chunk_offset` gives the rest."""
    limit = chunk_limit if chunks else 0
    read = partial(_read_document, engine, ref, with_chunks=chunks, chunk_limit=limit, chunk_offset=chunk_offset)
    return await read_in_turn(request, read)


def _read_document(
    engine: Engine, ref: Ref, *, with_chunks: bool, chunk_limit: int | None, chunk_offset: int
) -> LargeAnswer:
    """The answer has `text` only for a note, and `chunks` only if the caller asked for them."""
    detail = engine.store.read_document(
        ref, chunk_limit=chunk_limit, chunk_offset=chunk_offset, max_bytes=MAX_ANSWER_BYTES
    )
    fields = describe_document(detail.document)
    if with_chunks:
        fields["chunks"] = [vars(chunk) for chunk in detail.chunks]
    if detail.text is not None:
        fields["text"] = detail.text
    answer = render_with_metadata(fields, detail.document)
    return LargeAnswer(answer, headers={"ETag": etag(detail.document.version)})


@router.patch("/documents/{id}")
def update_document(
    engine: EngineDep, ref: RefDep, expected: ExpectedVersion, body: DocumentChangeBody, response: Response
) -> DocumentAnswer:
    document = engine.store.update_document(
        ref,
        DocumentChange(body.title, body.metadata, body.source_path),
        expected_version=expected,
        now=engine.clock(),
    )
    response.headers["ETag"] = etag(document.version)
    return DocumentAnswer.of(document)


@router.get("/documents/{id}/file", response_class=Response, responses=FILE_ANSWERS)
def get_document_file(engine: EngineDep, ref: RefDep) -> Response:
    """The original, always as a download and never as a type that a browser would run."""
    detail = engine.store.read_document(ref, chunk_limit=0)
    document = detail.document
    headers = {
        "Content-Disposition": f"attachment; filename*=UTF-8''{quote(document.filename, safe='')}",
        # For whatever shows a download all the same: without scripts, and in no origin.
        "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    }
    if document.original is None:
        return LargeAnswer(detail.text, media_type="text/plain; charset=utf-8", headers=headers)
    try:
        original = engine.originals.open_pieces(document.original)
    except DamagedOriginal as error:
        raise no_original(document) from error
    headers["Content-Length"] = str(document.size_bytes)
    return PiecesResponse(original.pieces, media_type="application/octet-stream", headers=headers)


def no_original(document: Document) -> NotFound:
    if document.original is not None and not is_name_of_original(document.original):
        return NotFound(
            f"The original of document {document.id} has a name that is not a SHA-256, so kb reads no file for it. "
            "Delete the document and add the file again."
        )
    return NotFound(f"The original of document {document.id} is no longer there. Add the file again.")


@router.delete("/documents/{id}")
def delete_document(engine: EngineDep, ref: RefDep, expected: ExpectedVersion) -> DeletedAnswer:
    deleted = engine.reserve.delete(
        lambda: documents.delete_document(
            engine.store, engine.originals, ref, expected_version=expected, now=engine.clock()
        )
    )
    return DeletedAnswer(document_id=deleted.id, title=deleted.title, chunks_removed=deleted.chunks_removed)


@router.delete("/documents")
def clear_documents(engine: EngineDep, body: ClearBody) -> ClearedAnswer:
    if not body.confirm or body.confirmation_phrase != CONFIRMATION_PHRASE:
        raise ConfirmationRequired(
            "This deletes ALL documents. Send exactly "
            f'{{"confirm": true, "confirmation_phrase": "{CONFIRMATION_PHRASE}"}} if you mean it.'
        )
    cleared = engine.reserve.delete(lambda: documents.clear(engine.store, engine.originals, now=engine.clock()))
    return ClearedAnswer(
        documents_removed=cleared.documents_removed,
        embeddings_removed=cleared.vectors_removed,
        bytes_freed=cleared.bytes_freed,
    )
