"""The store on SQLite: everything in one file, on one machine.

The work is done by the parts it is composed of, one a subject, which share one `Database`: those in `storage/tables`,
which PostgreSQL has too, and `keywords`, `matching` and `integrity` beside this module. The invariants that they keep
together:

1. A chunk, its row in `chunks_fts` and its row in `embeddings` exist together or not at all.
2. A document's `chunk_count` is the number of its chunks; they are numbered from 0 without gaps.
3. Whatever changes the chunks of a document writes the document into `index_log` in the same transaction.
4. A job is completed in the transaction that writes its document.

Tried and dropped: the `vec0` table of sqlite-vec for the vectors. It searched six times slower than a matrix product,
grew whenever documents were indexed anew, and was no faster under a filter (docs/decisions/0004). There is no unit of
work either: what two methods would have to do in one transaction becomes a method (docs/decisions/0002).
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import apsw

from kb.engine.model import Cleared, Statistics
from kb.engine.storage.sqlite.checksums import register_checksum
from kb.engine.storage.sqlite.chunk_places import ChunkPlaces
from kb.engine.storage.sqlite.clearing import delete_most_documents
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.full_text import merge_full_text
from kb.engine.storage.sqlite.index_log import newest_change
from kb.engine.storage.sqlite.integrity import IntegrityPart
from kb.engine.storage.sqlite.keywords import KeywordsPart, register_row_count
from kb.engine.storage.sqlite.matching import MatchingPart
from kb.engine.storage.sqlite.migrations import create_schema, refuse_old_base
from kb.engine.storage.sqlite.vectors.building import build_files
from kb.engine.storage.sqlite.vectors.files import read_token, remove_all_files, remove_strays
from kb.engine.storage.sqlite.vectors.index import VectorIndex
from kb.engine.storage.sqlite.vectors.reading import count_chunks
from kb.engine.storage.sqlite.word_index import WordIndex
from kb.engine.storage.tables.allowed import AllowedScopes
from kb.engine.storage.tables.parts import SharedParts
from kb.engine.storage.tables.statistics import read_statistics
from kb.engine.words import fold


class SqliteStore(SharedParts, KeywordsPart, MatchingPart, IntegrityPart):
    _database: Database

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

    def delete_everything(self, *, now: datetime) -> Cleared:
        cleared = delete_most_documents(self._database, now=now)
        cleared += super().delete_everything(now=now)
        remove_all_files(self._path)
        return cleared

    def has_whole_vectors(self) -> bool:
        with self._database.read() as db:
            return self._vectors.catch_up(db) is not None and super().has_whole_vectors()

    def tune_search(self) -> None:
        with self._database.read() as db:
            newest, token, chunk_count = newest_change(db), read_token(db), count_chunks(db)
        remove_strays(self._path, but=token)
        if newest != self._tuned_at:
            build_files(self._database, self._path, self._model_fingerprint)
            is_merged = merge_full_text(self._database, chunk_count=chunk_count)
            self._tuned_at = newest if is_merged else None

    def watch_jobs(self, on_job: Callable[[], None], stopping: threading.Event) -> None:
        """There is no other machine: the engine itself tells its worker."""

    def claim_upkeep(self, owner: str, *, now: datetime, lease_until: datetime) -> bool:
        """The worker of the engine, which is nearly always the only one, does not wait for one that was killed."""
        return True

    def was_looked_after(self, *, since: datetime) -> bool:
        """Nobody has to say so here."""
        return True

    def read_statistics(self) -> Statistics:
        with self._database.read() as db:
            self._vectors.catch_up(db)
            return read_statistics(
                db,
                self._model_fingerprint,
                schema_version=self._schema_version,
                database_bytes=_size_on_disk(self._path),
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
