"""The store on PostgreSQL: one base for many engines and workers, on as many machines.

It is made of the same parts as that of SQLite (`storage/tables`), but for finding: that is left to the database, so
that an engine holds no index that would have to follow it. The invariants are SQLite's:

1. A chunk, its row in `chunk_words` and its row in `embeddings` exist together or not at all.
2. A document's `chunk_count` is the number of its chunks; they are numbered from 0 without gaps.
3. A job is completed in the transaction that writes its document.
4. `word_counts` counts, term by term, the chunks of `chunk_words`.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime

from kb.engine.model import Statistics
from kb.engine.ports import Store
from kb.engine.storage.postgres.connection import PostgresConnection
from kb.engine.storage.postgres.database import Database, repeat_each
from kb.engine.storage.postgres.integrity import IntegrityPart
from kb.engine.storage.postgres.keywords import KeywordsPart
from kb.engine.storage.postgres.matching import MatchingPart
from kb.engine.storage.postgres.migrations import create_schema
from kb.engine.storage.postgres.near_index import build_near_index, describe_vectors
from kb.engine.storage.postgres.notices import watch_jobs
from kb.engine.storage.postgres.vocabulary import PhraseCounts
from kb.engine.storage.postgres.word_counts import MOST_WAITING, count_waiting, sum_up_counts
from kb.engine.storage.tables.allowed import AllowedScopes
from kb.engine.storage.tables.claims import LONGEST_WAIT
from kb.engine.storage.tables.meta import read_meta, write_meta
from kb.engine.storage.tables.parts import SharedParts
from kb.engine.storage.tables.rows import to_text
from kb.engine.storage.tables.statistics import read_statistics


@repeat_each(of=Store)
class PostgresStore(SharedParts, KeywordsPart, MatchingPart, IntegrityPart):
    _database: Database

    def __init__(self, url: str, *, model_fingerprint: str, concurrency: int = 1) -> None:
        self._url = url
        self._model_fingerprint = model_fingerprint
        self._allowed = AllowedScopes()
        self._phrase_counts = PhraseCounts()
        self._chunks_then = 0
        self._waiting_then = 0
        self._database = Database(url, concurrency=concurrency)
        try:
            self._schema_version = create_schema(self._database, model_fingerprint=model_fingerprint)
        except BaseException:
            self._database.close()
            raise

    def close(self) -> None:
        self._database.close()

    @contextmanager
    def one_moment(self) -> Iterator[None]:
        with self._database.one_moment():
            yield

    def tune_search(self) -> None:
        waiting = count_waiting(self._database)
        if waiting > MOST_WAITING or 0 < waiting == self._waiting_then:
            sum_up_counts(self._database)
        self._waiting_then = waiting
        self._chunks_then = build_near_index(self._database, self._model_fingerprint, chunks_then=self._chunks_then)

    def watch_jobs(self, on_job: Callable[[], None], stopping: threading.Event) -> None:
        watch_jobs(self._url, on_job, stopping)

    def read_base_id(self) -> str:
        with self._database.read() as db:
            # A copy knows what the base knew then, and would remove what has come since.
            return f"{super().read_base_id()}@{db.execute(db.dialect.place).get}"

    def was_looked_after(self, *, since: datetime) -> bool:
        with self._database.read() as db:
            until, _ = _read_upkeep(db)
            return to_text(since) < until

    def claim_upkeep(self, owner: str, *, now: datetime, lease_until: datetime) -> bool:
        with self._database.write() as db:
            db.lock("upkeep")
            until, holder = _read_upkeep(db)
            # A moment further ahead was written down by a clock that was wrong.
            if holder != owner and to_text(now) < until <= to_text(now + LONGEST_WAIT):
                return False
            write_meta(db, "upkeep", f"{to_text(lease_until)} {owner}")
            return True

    def read_statistics(self) -> Statistics:
        with self._database.read() as db:
            return read_statistics(
                db,
                self._model_fingerprint,
                schema_version=self._schema_version,
                database_bytes=db.execute("SELECT pg_database_size(current_database())").get,
                vector_index=describe_vectors(db, self._model_fingerprint),
            )


def _read_upkeep(db: PostgresConnection) -> tuple[str, str]:
    """Until when whom has the lease."""
    until, _, holder = (read_meta(db, "upkeep") or "").partition(" ")
    return until, holder
