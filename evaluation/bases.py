"""A judged set as a base, made by the engine's own parts."""

import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import apsw
import numpy as np

from evaluation.sets import JudgedDocument, JudgedQuery, JudgedSet
from kb.engine.embedding import bundled_model_folder, open_embedder
from kb.engine.ingestion.indexing import index_text
from kb.engine.ingestion.pipeline import describe
from kb.engine.ingestion.sections import Section
from kb.engine.model import (
    Computing,
    DocumentId,
    EmbeddingModel,
    IndexedText,
    Lane,
    NoteSubmission,
    Scope,
    Vector,
    Vectors,
)
from kb.engine.ports import Embedder, Store
from kb.engine.search.hybrid import Grouping, Hit, Mode, SearchOutcome, SearchRequest, search
from kb.engine.storage import open_shared_store, open_store
from kb.settings import cache_dir

THREADS = 2

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


@contextmanager
def open_cached_embedder() -> Iterator[Embedder]:
    """The bundled model, which is asked for each text only once in the life of the cache."""
    cache = cache_dir()
    embedder = open_embedder(bundled_model_folder(cache), cache / "graphs", threads=THREADS)
    folder = cache / "evaluation-vectors"
    folder.mkdir(parents=True, exist_ok=True)
    with closing(apsw.Connection(str(folder / f"{embedder.model.fingerprint}.sqlite"))) as db:
        db.set_busy_timeout(60_000)
        db.pragma("journal_mode", "wal")
        # Losing the last vectors in a power cut costs a second; waiting for the disk costs minutes.
        db.pragma("synchronous", "off")
        db.execute("CREATE TABLE IF NOT EXISTS vectors (text_hash BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
        yield CachedEmbedder(embedder, db)


class CachedEmbedder:
    is_ready: Final = True
    failure: Final = None

    def __init__(self, embedder: Embedder, db: apsw.Connection) -> None:
        self._embedder = embedder
        self._db = db

    @property
    def model(self) -> EmbeddingModel:
        return self._embedder.model

    @property
    def computing(self) -> Computing:
        return self._embedder.computing

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        unknown = [text for text in dict.fromkeys(texts) if self._find(text) is None]
        if unknown:
            vectors = self._embedder.embed_passages(unknown)
            rows = [(_hash(text), vector.tobytes()) for text, vector in zip(unknown, vectors, strict=True)]
            with self._db:
                self._db.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
        return np.array([self._find(text) for text in texts], np.float32)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed_passages([text])[0]
        return vector

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        return self._embedder.token_spans(text)

    def _find(self, text: str) -> Vector | None:
        found = self._db.execute("SELECT vector FROM vectors WHERE text_hash = ?", (_hash(text),)).get
        return None if found is None else np.frombuffer(found, np.float32)


def _hash(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
