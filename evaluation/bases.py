"""A judged set as a base, made by the engine's own parts."""

import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evaluation.sets import JudgedDocument, JudgedQuery, JudgedSet
from kb.engine.ingestion.indexing import index_text
from kb.engine.ingestion.pipeline import describe
from kb.engine.ingestion.sections import Section
from kb.engine.model import (
    DocumentId,
    IndexedText,
    Lane,
    NoteSubmission,
    Scope,
)
from kb.engine.ports import Embedder, Store
from kb.engine.search.hybrid import Grouping, Hit, Mode, SearchOutcome, SearchRequest, search
from kb.engine.storage import open_shared_store, open_store

ItemIds = dict[DocumentId, list[str]]
"""The items of each document, by the page number of their chunks."""


@dataclass(frozen=True)
class JudgedBase:
    """Searched in this process, for what no answer over HTTP tells."""

    store: Store
    embedder: Embedder
    grouping: Grouping
    item_ids: ItemIds

    def search(self, query: JudgedQuery, mode: Mode, *, top: int) -> SearchOutcome:
        request = SearchRequest(query.text, Scope(tags=query.tags), mode, top=top, group_by=self.grouping)
        return search(self.store, self.embedder, request)

    def item_of(self, hit: Hit) -> str:
        return self.item_ids[hit.document.id][hit.chunk.page_num or 0]


@contextmanager
def open_base(judged: JudgedSet, embedder: Embedder) -> Iterator[JudgedBase]:
    with tempfile.TemporaryDirectory() as folder:
        item_ids = fill_base(Path(folder), judged, embedder)
        with closing(open_store(Path(folder), model_fingerprint=embedder.model.fingerprint)) as store:
            yield JudgedBase(store, embedder, judged.grouping, item_ids)


def fill_base(data_dir: Path, judged: JudgedSet, embedder: Embedder, store_url: str = "") -> ItemIds:
    """Of a database only what an earlier set left there is removed."""
    with closing(_open_store(data_dir, embedder.model.fingerprint, store_url)) as store:
        if store_url:
            store.delete_everything(now=datetime.now(UTC))
        return {
            _add_document(store, embedder, document): [item.id for item in document.items]
            for document in judged.documents
        }


def _open_store(data_dir: Path, model_fingerprint: str, store_url: str) -> Store:
    if store_url:
        return open_shared_store(store_url, model_fingerprint=model_fingerprint)
    return open_store(data_dir, model_fingerprint=model_fingerprint)


def _add_document(store: Store, embedder: Embedder, document: JudgedDocument) -> DocumentId:
    """What the worker does with a note, less its progress reports and its reading of Markdown."""
    # Page numbers tell, when a chunk is found, of which item it is: the chunker keeps them, and ranking
    # does not look at them. An item longer than a chunk simply has several.
    sections = [Section(item.text, item.heading, page_num=place) for place, item in enumerate(document.items)]
    submission = NoteSubmission("\n\n".join(section.text for section in sections), document.title, document.tags)
    return add_note(store, submission, index_text([sections], describe(submission).title, embedder))


def add_note(store: Store, submission: NoteSubmission, text: IndexedText) -> DocumentId:
    now = datetime.now(UTC)
    store.add_job(submission, idempotency_key=None, max_queued=1, now=now)
    claim = store.claim_job(Lane.INTERACTIVE, now=now, lease_until=now + timedelta(hours=1))
    assert claim is not None
    return store.commit_document(claim, describe(submission), text, now=now).document_id
