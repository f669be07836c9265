"""A connection to PostgreSQL within a transaction, as the tables need it."""

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any
from uuid import UUID

import psycopg
from psycopg import RawCursor, errors

from kb.engine.errors import TooBroad
from kb.engine.model import DocumentId, EventKind, JobId, Vector, Vectors
from kb.engine.model.portable import PortableChunk
from kb.engine.storage.postgres import chunks as chunk_rows
from kb.engine.storage.postgres.dialect import PostgresDialect
from kb.engine.storage.postgres.terms import to_token
from kb.engine.storage.postgres.values import to_vectors
from kb.engine.storage.tables import journal

LOCK_STRIPES = 256
LONGEST_WAIT_MS = 5_000
JOB_NOTICES = "kb_jobs"
TABLES_OF_DOCUMENTS = (
    "documents, chunks, chunk_words, word_counts, embeddings, tags, document_tags, note_revisions, document_places"
)


@lru_cache(maxsize=1_000)
def number_placeholders(statement: str) -> str:
    """With `$1` where the tables write `?` or `?1`."""
    if re.search(r"\?\d", statement):
        return re.sub(r"\?(\d+)", r"$\1", statement)
    numbers = iter(range(1, statement.count("?") + 1))
    return re.sub(r"\?", lambda _: f"${next(numbers)}", statement)


class Result:
    def __init__(self, cursor: RawCursor[tuple[Any, ...]]) -> None:
        self._cursor = cursor

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return iter(self._cursor)

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._cursor.fetchone()

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self._cursor.fetchall()

    @property
    def get(self) -> Any:
        row = self._cursor.fetchone()
        return None if row is None else row[0]


class PostgresConnection:
    dialect = PostgresDialect()

    def __init__(self, connection: "psycopg.Connection[tuple[Any, ...]]") -> None:
        self._connection = connection
        self._deadline: float | None = None
        self._has_new_job = False
        self._has_new_words = False
        self._events: list[tuple[str, int | None, bytes | None, int | None]] = []

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Result:
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise errors.QueryCanceled
        # Binary, since most of what is read are numbers and bytes.
        cursor = RawCursor(self._connection)
        cursor.execute(number_placeholders(statement), values or None, binary=True)
        return Result(cursor)

    def executemany(self, statement: str, values: Sequence[Sequence[Any]], /) -> None:
        RawCursor(self._connection).executemany(number_placeholders(statement), values)

    def lock(self, *subjects: str) -> None:
        if not subjects:
            return
        stripes = sorted({_stripe_of(subject) for subject in subjects})
        self.execute(
            "SELECT stripe FROM lock_stripes WHERE stripe = ANY (?) ORDER BY stripe FOR UPDATE", (stripes,)
        ).fetchall()

    def wake_workers(self) -> None:
        self._has_new_job = True

    def insert_chunks(
        self, document_id: DocumentId, chunks: Sequence[PortableChunk], vectors: Vectors | None, *, model: str
    ) -> None:
        chunk_rows.insert_chunks(self, document_id, chunks, vectors, model=model)
        self._has_new_words = True

    def delete_chunks(self, document_id: DocumentId) -> None:
        chunk_rows.delete_chunks(self, document_id)
        self._has_new_words = True

    def delete_all_documents(self) -> None:
        # Whoever waits for those who read keeps all others waiting, too.
        self.execute(f"SET LOCAL lock_timeout = {LONGEST_WAIT_MS}")
        # An index of what is about to go need not be finished; it ends before anything is held that others read.
        building = "SELECT pid FROM pg_stat_progress_create_index WHERE relid = 'embeddings'::regclass"
        self.execute(f"SELECT pg_cancel_backend(pid) FROM ({building}) AS building").fetchall()
        self.execute("LOCK TABLE embeddings IN SHARE UPDATE EXCLUSIVE MODE")
        self.execute(f"TRUNCATE {TABLES_OF_DOCUMENTS}")
        self._has_new_words = True

    @contextmanager
    def index_new_title(self, document_id: DocumentId, *, former: str) -> Iterator[None]:
        yield
        chunk_rows.index_title(self, document_id, former=former)
        self._has_new_words = True

    def index_all_words(self) -> None:
        """Make them anew from the texts."""
        chunk_rows.index_all_words(self)
        self._has_new_words = True

    def read_vectors(self, document_id: DocumentId, *, offset: int, limit: int) -> Vectors:
        rows = self.execute(
            "SELECT vector_send(vector) FROM embeddings WHERE document_id = ? AND ordinal >= ? ORDER BY ordinal "
            "LIMIT ?",
            (document_id, offset, limit),
        )
        return to_vectors([row[0] for row in rows])

    def read_whole_vectors(self, document_ids: Sequence[int], *, model: str) -> Iterator[tuple[DocumentId, Vector]]:
        rows = self.execute(
            "SELECT document_id, vector_send(vector) FROM embeddings WHERE document_id = ANY (?) AND model = ?",
            (list(document_ids), model),
        ).fetchall()
        vectors = to_vectors([row[1] for row in rows])
        yield from zip((row[0] for row in rows), vectors, strict=True)

    def insert_event(
        self, kind: EventKind, document_id: DocumentId | None, document_uuid: UUID | None, job_id: JobId | None
    ) -> None:
        # Written at the end: until then nobody need wait for this transaction.
        self._events.append((kind.value, document_id, None if document_uuid is None else document_uuid.bytes, job_id))

    def write_events(self) -> None:
        if not self._events and not self._has_new_words:
            return
        newest = self.execute(
            "UPDATE newest_event SET seq = seq + ?, words = words + ? RETURNING seq",
            (len(self._events), int(self._has_new_words)),
        ).get
        if not self._events:
            return
        first = newest - len(self._events) + 1
        self.executemany(
            "INSERT INTO events (seq, kind, document_id, document_uuid, job_id) VALUES (?, ?, ?, ?, ?)",
            [(first + place, *event) for place, event in enumerate(self._events)],
        )
        self.execute("DELETE FROM events WHERE seq <= ?", (newest - journal.KEPT_EVENTS,))
        self._events.clear()
        if self._has_new_job:
            self.execute(f"NOTIFY {JOB_NOTICES}")

    def highest_id(self, table: str) -> int:
        found: int | None = self.execute(
            "SELECT pg_sequence_last_value(pg_get_serial_sequence(?, 'id')::regclass)", (table,)
        ).get
        return found or 0

    def reserve_ids(self, table: str, up_to: int) -> None:
        # Others may have come further meanwhile.
        sequence = self.execute("SELECT pg_get_serial_sequence(?, 'id')", (table,)).get
        self.execute("SELECT setval(?1::regclass, GREATEST(?2, nextval(?1::regclass)))", (sequence, up_to)).fetchall()

    @contextmanager
    def time_limited(self, seconds: float) -> Iterator[None]:
        """Raises `TooBroad` when the block takes longer, but for its last statement; the transaction can go on."""
        milliseconds = max(int(seconds * 1000), 2)
        settings = {
            "statement_timeout": milliseconds,
            # Who only waits for somebody else is told so, and not that the words are to blame.
            "lock_timeout": milliseconds // 2,
            # To compare the words of all chunks with some takes a hundred times as long as the planner thinks.
            "enable_seqscan": "off",
        }
        try:
            with self.set_to(settings):
                self._deadline = time.monotonic() + seconds
                yield
        except errors.QueryCanceled as error:
            raise TooBroad("These words are in too many documents to be looked for. Use rarer ones.") from error
        finally:
            self._deadline = None

    @contextmanager
    def set_to(self, settings: Mapping[str, object]) -> Iterator[None]:
        """For a block that only reads: what it did otherwise is undone with the settings at its end."""
        told = "; ".join(f"SET LOCAL {name} = {value}" for name, value in settings.items())
        self._connection.execute(f"SAVEPOINT settings; {told}".encode())
        try:
            yield
        finally:
            if not self._connection.broken:
                self._connection.execute(b"ROLLBACK TO SAVEPOINT settings; RELEASE SAVEPOINT settings")


def _stripe_of(subject: str) -> int:
    return to_token(subject) % LOCK_STRIPES
