"""The store on SQLite: everything in one file, on one machine.

The work is done by the parts it is composed of, one a subject, which share one `Database`:

- `documents`: documents with their chunks, words and vectors
- `revisions`: what notes said before; `tags`
- `jobs`: the queue; `claims`: what workers do with it; `reindexing`: work that goes through all documents
- `journal`: what happened, for the audit log and for those who watch
- `portable`: whole documents on their way from base to base
- `keywords`: finding chunks by word; `matching`: by vector; `spelling`: words that were meant
- `mapping`: where documents lie on the map
- `integrity`: checking that all of it is still what was written

Each public method is one transaction, or part of that of `one_moment`. The invariants that the parts keep together:

1. A chunk, its row in `chunks_fts` and its row in `embeddings` exist together or not at all.
2. A document's `chunk_count` is the number of its chunks; they are numbered from 0 without gaps.
3. Whatever changes the chunks of a document writes the document into `index_log` in the same transaction.
4. A job is completed in the transaction that writes its document.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from kb.engine.errors import KbError
from kb.engine.model import Statistics
from kb.engine.storage.sqlite.allowed import AllowedScopes
from kb.engine.storage.sqlite.checksums import register_checksum
from kb.engine.storage.sqlite.chunk_places import ChunkPlaces
from kb.engine.storage.sqlite.claims import ClaimRows
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.documents import RECENCY, DocumentRows
from kb.engine.storage.sqlite.full_text import merge_full_text
from kb.engine.storage.sqlite.index_log import newest_change
from kb.engine.storage.sqlite.integrity import IntegrityRows
from kb.engine.storage.sqlite.jobs import JobRows
from kb.engine.storage.sqlite.journal import JournalRows
from kb.engine.storage.sqlite.keywords import KeywordRows, register_row_count
from kb.engine.storage.sqlite.mapping import MappingRows
from kb.engine.storage.sqlite.matching import MatchingRows
from kb.engine.storage.sqlite.migrations import create_schema, refuse_old_base
from kb.engine.storage.sqlite.portable import PortableRows
from kb.engine.storage.sqlite.reindexing import ReindexingRows
from kb.engine.storage.sqlite.revisions import RevisionRows
from kb.engine.storage.sqlite.rows import fetch_all, to_datetime
from kb.engine.storage.sqlite.spelling import SpellingRows
from kb.engine.storage.sqlite.tags import TagRows
from kb.engine.storage.sqlite.vectors.building import build_files
from kb.engine.storage.sqlite.vectors.files import remove_strays
from kb.engine.storage.sqlite.vectors.index import VectorIndex
from kb.engine.storage.sqlite.vectors.reading import count_chunks
from kb.engine.storage.sqlite.vectors.tokens import read_token
from kb.engine.storage.sqlite.word_index import WordIndex
from kb.engine.words import fold


class SqliteStore(
    DocumentRows,
    RevisionRows,
    TagRows,
    JobRows,
    ClaimRows,
    ReindexingRows,
    PortableRows,
    JournalRows,
    KeywordRows,
    MatchingRows,
    SpellingRows,
    MappingRows,
    IntegrityRows,
):
    def __init__(self, path: Path, *, model_fingerprint: str) -> None:
        self._path = path
        self._model_fingerprint = model_fingerprint
        refuse_old_base(path)
        self._database = Database(path, prepare=_add_functions)
        self._vectors = VectorIndex(path, model_fingerprint)
        self._allowed = AllowedScopes()
        self._tuned_at: int | None = None
        self._word_index = WordIndex()
        self._places = ChunkPlaces()
        self._schema_version = create_schema(self._database, model_fingerprint=model_fingerprint)

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        # The vectors are looked at first, which begins the moment: nobody can have led them beyond it.
        with self._database.one_moment() as db, self._vectors.hold(db):
            yield

    def tune_search(self) -> None:
        with self._database.read() as db:
            newest, token, chunk_count = newest_change(db), read_token(db), count_chunks(db)
        remove_strays(self._path, but=token)
        if newest != self._tuned_at:
            build_files(self._database, self._path, self._model_fingerprint)
            is_merged = merge_full_text(self._database, chunk_count=chunk_count)
            self._tuned_at = newest if is_merged else None

    def find_trouble(self) -> str | None:
        if self._database.trouble is not None:
            with suppress(KbError), self._database.write() as db:
                # Only what changes something is really written.
                db.execute("INSERT OR REPLACE INTO meta VALUES ('written_at', ?)", (str(time.time_ns()),))
        return self._database.trouble

    def read_statistics(self) -> Statistics:
        with self._database.read() as db:
            by_type = fetch_all(db, "SELECT doc_type, count(*), sum(size_bytes) FROM documents GROUP BY doc_type")
            by_model = dict(fetch_all(db, "SELECT vector_model, sum(chunk_count) FROM documents GROUP BY vector_model"))
            last_changed = db.execute(f"SELECT max({RECENCY}) FROM documents").get
            self._vectors.catch_up(db)
        usable = by_model.pop(self._model_fingerprint, 0)
        return Statistics(
            schema_version=self._schema_version,
            documents_by_type={doc_type: count for doc_type, count, _ in by_type},
            chunks=usable + sum(by_model.values()),
            vectors=usable,
            stale_vectors=sum(by_model.values()),
            size_bytes=sum(size for _, _, size in by_type),
            database_bytes=_size_on_disk(self._path),
            last_changed_at=to_datetime(last_changed),
            vector_index=self._vectors.describe(),
        )


def _size_on_disk(path: Path) -> int:
    # The log belongs to the base, and is not there at every moment.
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


def _add_functions(connection: apsw.Connection) -> None:
    register_row_count(connection)
    register_checksum(connection)
    # SQLite's own lower() knows ASCII only.
    connection.create_scalar_function("fold", lambda *text: fold(str(text[0])), 1, deterministic=True)
