"""Making the chunks of all documents anew: after a change of the model, or because somebody asks for it.

Documents are done one by one, each in one transaction, and can be found by their words all the time. A job that is
interrupted goes on behind the last document that was done. Documents added or changed meanwhile are made with the
new model anyway, by whoever adds or changes them.
"""

import logging
from collections.abc import Callable, Iterator
from datetime import datetime

from kb.engine.errors import DocumentNotFound, Unreadable, VersionConflict
from kb.engine.ingestion.extraction import extract
from kb.engine.ingestion.indexing import Report, index_text
from kb.engine.ingestion.note_text import describe_note, sections_of_note
from kb.engine.model import Claim, DocumentDetail, DocumentId, IndexSource, Progress, Section
from kb.engine.originals import Originals, is_whole
from kb.engine.ports import Embedder, Store

log = logging.getLogger(__name__)

DOCUMENTS_PER_LOOK = 100


def reindex(
    store: Store,
    originals: Originals,
    embedder: Embedder,
    claim: Claim,
    source: IndexSource,
    report: Report,
    clock: Callable[[], datetime],
) -> None:
    """Do every document, then let searches use the new vectors: all of them from one moment on."""
    after = claim.cursor
    if source is IndexSource.ORIGINALS:
        # The words of a chunk can be taken out of the index only if they are those that were put in.
        store.mend_full_text()
    while True:
        total = store.count_documents_to_index(source, after=after)
        for done, document_id in enumerate(_documents_to_index(store, source, after)):
            report(Progress("Indexing anew", done, total + 1, f"Indexing document {done + 1} of {total}"))
            _index_anew(store, originals, embedder, claim, source, document_id)
        if store.complete_reindex(claim, now=clock()):
            return
        # Whatever is left was added by a worker that still has the old model.
        source, after = IndexSource.CHUNKS, DocumentId(0)


def _documents_to_index(store: Store, source: IndexSource, after: DocumentId) -> Iterator[DocumentId]:
    while document_ids := store.list_documents_to_index(source, after=after, limit=DOCUMENTS_PER_LOOK):
        yield from document_ids
        after = document_ids[-1]


def _index_anew(
    store: Store, originals: Originals, embedder: Embedder, claim: Claim, source: IndexSource, document_id: DocumentId
) -> None:
    while True:
        try:
            # Without its chunks: they may be what is damaged.
            detail = store.read_document(document_id, chunk_limit=0)
            sections = _read_sections(store, detail, source, originals)
            text = index_text(sections, detail.document.title, embedder)
            store.replace_text(claim, document_id, text, expected_version=detail.document.version)
        except DocumentNotFound:
            return
        except VersionConflict:
            continue
        return


def _read_sections(store: Store, detail: DocumentDetail, source: IndexSource, originals: Originals) -> list[Section]:
    if source is IndexSource.ORIGINALS:
        try:
            return _read_original(detail, originals)
        except Unreadable as error:
            log.warning("Document %d keeps its text: %s", detail.document.id, error)
    # Each chunk is a section of its own: one that fits the model stays as it is, a longer one is split.
    chunks = store.read_document(detail.document.id).chunks
    return [Section(chunk.text, chunk.heading, chunk.page_num) for chunk in chunks]


def _read_original(detail: DocumentDetail, originals: Originals) -> list[Section]:
    """Raises `Unreadable` for what is missing or damaged: what was made of it when it was whole is better."""
    document, text = detail.document, detail.text
    if text is not None:
        if describe_note(text, document.title).content_hash != document.content_hash:
            raise Unreadable("corrupt_file", "The text of the note is damaged.")
        return sections_of_note(text)
    if document.original is None or not is_whole(originals.path_of(document.original), document.original):
        raise Unreadable("corrupt_file", "Its original is missing or damaged.")
    return extract(document.format, originals.path_of(document.original)).sections
