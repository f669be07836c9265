"""What becomes of a call when somebody else is in the middle of something, and may never come back."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Protocol

import psycopg
import pytest
from psycopg.errors import SerializationFailure
from tests.backends import MODEL, PostgresBackend
from tests.handmade_documents import LATER, LEASE, NOW, add, add_note, found_by_text, index, note
from tests.waiting import wait_until

from kb.engine.errors import Unavailable
from kb.engine.model import DocumentQuery, Lane, Scope
from kb.engine.ports import Store
from kb.engine.storage.postgres import database as database_module
from kb.engine.storage.postgres import matching, near_index
from kb.engine.storage.postgres.chunks import WORD_COUNTS
from kb.engine.storage.postgres.database import Database, repeat_each, translated_errors
from kb.engine.storage.postgres.store import PostgresStore
from kb.engine.storage.postgres.word_counts import SUM_UP

BLOCKED_WITHIN_SECONDS = 10


def wait_until_blocked(sql: psycopg.Connection, *, by: str = "%") -> None:
    """Until a statement like this one waits for somebody."""
    blocked = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' "
        "AND query LIKE %s"
    )
    wait_until(lambda: sql.execute(blocked, (by,)).fetchall() != [(0,)], within_seconds=BLOCKED_WITHIN_SECONDS)


def test_e24_whoever_stalls_in_the_middle_of_a_write_keeps_others_waiting_only_for_a_while(
    backend: PostgresBackend, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    writing_for_a_second = database_module.WRITING.replace(b"60s", b"1s")
    holding, resumed = threading.Event(), threading.Event()

    def stall() -> None:
        with closing(Database(backend.url)) as stalled, stalled.write() as db:
            db.execute("UPDATE newest_event SET seq = seq")
            holding.set()
            resumed.wait(60)

    with ThreadPoolExecutor(1) as threads:
        # The others are not to be hurried.
        with monkeypatch.context() as of_the_stalled:
            of_the_stalled.setattr(database_module, "WRITING", writing_for_a_second)
            stalling = threads.submit(stall)
            assert holding.wait(10)
        try:
            document = add_note(store, "walrus")
        finally:
            resumed.set()
        assert isinstance(stalling.exception(10), Unavailable)

    assert found_by_text(store, "walrus") == [document.id]


def test_many_programs_that_start_at_once_make_the_tables_once(
    backend: PostgresBackend, sql: psycopg.Connection
) -> None:
    sql.execute("DROP SCHEMA public CASCADE")
    sql.execute("CREATE SCHEMA public")

    def start(_: int) -> None:
        PostgresStore(backend.url, model_fingerprint=MODEL).close()

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(start, range(12)))

    assert sql.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchall() == [("1",)]


def test_words_that_are_made_anew_while_counts_are_summed_up_are_counted_once(
    backend: PostgresBackend, store: Store, sql: psycopg.Connection
) -> None:
    for number in range(5):
        add_note(store, f"walrus {number}")
    sql.execute("UPDATE chunk_words SET tokens = tokens[2:]")

    with closing(Database(backend.url)) as database, ThreadPoolExecutor(1) as threads:
        with database.write() as db:
            db.lock(WORD_COUNTS)
            db.execute(SUM_UP, ("", 5_000)).fetchall()
            mending = threads.submit(store.mend_full_text)
            wait_until_blocked(sql)
        mending.result(10)

    assert sql.execute("SELECT sum(chunks)::int FROM word_counts WHERE term = 'walru'").fetchall() == [(5,)]


def test_s5_a_phrase_that_was_nowhere_is_found_once_a_text_is_indexed_anew(store: Store, other_store: Store) -> None:
    document = add(store, note("beta alpha"), index("beta alpha"))
    scope = Scope(required=("alpha beta",))
    store.add_reindex(now=NOW)
    claim = store.claim_job(Lane.UPKEEP, now=NOW, lease_until=NOW + LEASE)
    assert claim is not None
    assert found_by_text(other_store, "alpha", scope=scope) == []
    newest = store.newest_event()

    store.replace_text(claim, document.id, index("alpha beta"), expected_version=document.version)

    assert found_by_text(other_store, "alpha", scope=scope) == [document.id]
    # Nobody who listens need be told, nor is taken for one who has missed something.
    add_note(store, "otter")
    assert store.list_events(after=newest, limit=1)[0].seq == newest + 1


def test_e15_everything_is_deleted_although_an_index_is_being_made(
    backend: PostgresBackend, store: Store, sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (matching, near_index):
        monkeypatch.setattr(module, "COMPARED", 3)
    for number in range(5):
        add_note(store, f"note {number}")
    store.tune_search()

    with ThreadPoolExecutor(1) as threads, psycopg.connect(backend.url) as reader:
        # Who makes an index beside others waits for those who read, and this one reads until the end of the block.
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT 1")
        building = threads.submit(store.tune_search)
        wait_until_blocked(sql, by="CREATE INDEX%")
        store.delete_everything(now=LATER)
        assert isinstance(building.exception(10), Unavailable)

    assert store.list_documents(DocumentQuery()).total == 0
    assert store.newest_event() > 0


def test_a_database_that_cannot_keep_every_text_is_refused(sql: psycopg.Connection, backend: PostgresBackend) -> None:
    sql.execute("DROP DATABASE IF EXISTS kb_ascii")
    sql.execute("CREATE DATABASE kb_ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C'")
    url = backend.url.rpartition("/")[0] + "/kb_ascii"

    with pytest.raises(Unavailable, match="ENCODING 'UTF8'"):
        PostgresStore(url, model_fingerprint=MODEL)
    sql.execute("DROP DATABASE kb_ascii")


class Reading(Protocol):
    def read(self) -> int: ...


class ReadingAndWriting(Reading, Protocol):
    def write(self) -> int: ...


def test_a_call_that_was_hindered_is_made_again_also_if_its_port_is_a_part_of_another() -> None:
    @repeat_each(of=ReadingAndWriting)
    class Hindered:
        tries = 0

        def read(self) -> int:
            return self._try()

        def write(self) -> int:
            return self._try()

        def _try(self) -> int:
            self.tries += 1
            with translated_errors():
                if self.tries % 2:
                    raise SerializationFailure
            return self.tries

    store = Hindered()

    assert (store.read(), store.write()) == (2, 4)
