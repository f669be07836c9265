"""Making the chunks of all documents anew: after a change of the model, or because somebody asks for it.

Documents are done one by one, each in one transaction, and can be found by their words all the time. A job that is
interrupted goes on behind the last document that was done. Documents added or changed meanwhile are made with the
new model anyway, by whoever adds or changes them.

One that cannot be read, neither what it was made from nor what was made of it, is left as it is: it is still found by
its words, and must not keep all others from being found by their meaning.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice

from kb.engine.errors import Damaged, DocumentNotFound, Unreadable, VersionConflict
from kb.engine.ingestion.extraction.sandbox import open_extraction
from kb.engine.ingestion.indexing import index_text
from kb.engine.ingestion.markdown import sections_of_markdown
from kb.engine.ingestion.note_text import describe_note
from kb.engine.ingestion.pipeline import Pipeline, describe_unread, open_original
from kb.engine.ingestion.progress import Report
from kb.engine.ingestion.sections import Section
from kb.engine.model import OCR_FORCED, Claim, DocumentDetail, DocumentId, IndexedText, IndexSource, Progress
from kb.engine.originals import is_whole
from kb.engine.ports import Store

log = logging.getLogger(__name__)

DOCUMENTS_PER_LOOK = 100


def reindex(pipeline: Pipeline, claim: Claim, source: IndexSource, report: Report) -> None:
    """Do every document, then let searches use the new vectors: all of them from one moment on."""
    store, after = pipeline.store, claim.cursor
    if source is IndexSource.ORIGINALS:
        # Words can be taken out of the index only if they are those that were put in, and chunks may be damaged.
        store.mend_full_text()
    unreadable: set[DocumentId] = set()
    while True:
        before = _count_up_to(store, after)
        left = store.count_documents_to_index(source, after=after)
        total = before + left
        # No more than there are now: those that are added meanwhile are not to be done.
        for done, document_id in enumerate(islice(_documents_to_index(store, source, after), left), start=before):
            progress = Progress("Indexing anew", done, total + 1, f"Indexing document {done + 1} of {total}")
            report(progress)
            try:
                _index_anew(pipeline, claim, source, document_id, partial(report, progress))
            except Unreadable as error:
                log.warning("Document %d stays as it is: %s", document_id, error)
                unreadable.add(document_id)
        if store.complete_reindex(claim, unreadable=unreadable, now=pipeline.clock()):
            return
        # Whatever is left was added by a worker that still has the old model.
        source, after = IndexSource.CHUNKS, DocumentId(0)


def _count_up_to(store: Store, document_id: DocumentId) -> int:
    every = IndexSource.ORIGINALS
    return store.count_documents_to_index(every, after=DocumentId(0)) - store.count_documents_to_index(
        every, after=document_id
    )


def _documents_to_index(store: Store, source: IndexSource, after: DocumentId) -> Iterator[DocumentId]:
    while document_ids := store.list_documents_to_index(source, after=after, limit=DOCUMENTS_PER_LOOK):
        yield from document_ids
        after = document_ids[-1]


def _index_anew(
    pipeline: Pipeline, claim: Claim, source: IndexSource, document_id: DocumentId, watch: Callable[[], None]
) -> None:
    """Raises `Unreadable` if there is nothing to make it from. How far a single document is does not matter, but a
    cancellation does: hence `watch`."""
    while True:
        try:
            # Without its chunks: they may be what is damaged.
            detail = pipeline.store.read_document(document_id, chunk_limit=0)
            text = _make_text(pipeline, detail, source, watch)
            if not text.chunks and detail.document.chunk_count:
                raise Unreadable("no_text_found", "No text is found in it any more.")
            pipeline.store.replace_text(claim, document_id, text, expected_version=detail.document.version)
        except DocumentNotFound:
            return
        except Damaged as error:
            raise Unreadable("corrupt_file", "It is damaged.") from error
        except VersionConflict:
            continue
        return


def _make_text(
    pipeline: Pipeline, detail: DocumentDetail, source: IndexSource, watch: Callable[[], None]
) -> IndexedText:
    """From what is asked for, or, if that cannot be read, from the other."""

    def index(parts: Iterable[Sequence[Section]]) -> IndexedText:
        return index_text(parts, detail.document.title, pipeline.embedder, lambda embedded, known: watch())

    ways = [partial(_read_original, pipeline, detail, watch), partial(_read_chunks, pipeline.store, detail)]
    read, read_instead = ways if source is IndexSource.ORIGINALS else reversed(ways)
    try:
        return index(read())
    except Unreadable as error:
        log.warning("Document %d is made from what else there is of it: %s", detail.document.id, error)
    text = index(read_instead())
    if source is IndexSource.CHUNKS:
        pipeline.store.mend_full_text()
    return text


def _read_chunks(store: Store, detail: DocumentDetail) -> Iterator[list[Section]]:
    try:
        chunks = store.read_document(detail.document.id).chunks
    except Damaged as error:
        raise Unreadable("corrupt_file", "Its chunks are damaged.") from error
    # Each is a part of its own: one that fits the model stays as it is, a longer one is split.
    yield from ([Section(chunk.text, chunk.heading, chunk.page_num)] for chunk in chunks)


def _read_original(pipeline: Pipeline, detail: DocumentDetail, watch: Callable[[], None]) -> Iterator[list[Section]]:
    """Raises `Unreadable` for what is missing or damaged: what was made of it when it was whole is better."""
    document, text = detail.document, detail.text
    if text is not None:
        if describe_note(text, document.title).content_hash != document.content_hash:
            raise Unreadable("corrupt_file", "The text of the note is damaged.")
        yield sections_of_markdown(text)
        return
    force_ocr = document.metadata.get(OCR_FORCED) is True
    with open_original(pipeline.originals, document.original, watch) as path:
        if not is_whole(path, str(document.original)):
            raise Unreadable("corrupt_file", "Its original is damaged.")
        with open_extraction(document.format, path, force_ocr=force_ocr, watch=watch) as extraction:
            yield from extraction.parts()
            if not describe_unread(extraction).items() <= document.metadata.items():
                raise Unreadable("corrupt_file", "Less of it can be read than before.")
