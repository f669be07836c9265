"""What the tables in PostgreSQL must keep to, beyond what a caller of the store can see."""

from concurrent.futures import ThreadPoolExecutor
from typing import NoReturn

import psycopg
import pytest
from tests.backends import MODEL, PostgresBackend
from tests.handmade_documents import LATER, NOW, add, add_note, found_by_text, found_by_vector, index, note, revision
from tests.waiting import wait_until

from kb.engine.errors import TooBroad, Unavailable
from kb.engine.model import CheckCursor, DamageKind, DocumentChange, NoteSubmission, Scope
from kb.engine.ports import Store
from kb.engine.storage.postgres import matching, near_index, word_counts
from kb.engine.storage.postgres.connection import PostgresConnection
from kb.engine.storage.postgres.database import Database
from kb.engine.storage.postgres.store import PostgresStore


def find_damage(store: Store) -> set[DamageKind]:
    found: set[DamageKind] = set()
    cursor: CheckCursor | None = CheckCursor()
    while cursor is not None:
        batch = store.check_batch(cursor)
        found |= {damage.kind for damage in batch.damages}
        cursor = batch.following
    return found


def counts(sql: psycopg.Connection) -> dict[str, int]:
    rows = sql.execute("SELECT term, sum(chunks)::int FROM word_counts GROUP BY term").fetchall()
    return {term: count for term, count in rows if count}


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE documents SET note_text = note_text || ' '", DamageKind.NOTE),
        ("UPDATE documents SET chunk_count = 7", DamageKind.COUNT),
        ("DELETE FROM embeddings", DamageKind.COUNT),
        ("UPDATE chunk_words SET tokens = tokens[2:]", DamageKind.FULL_TEXT),
        ("DELETE FROM chunk_words", DamageKind.FULL_TEXT),
        ("UPDATE note_revisions SET content_hash = 'other'", DamageKind.REVISION),
        ("UPDATE jobs SET payload = '{}' WHERE payload IS NOT NULL", DamageKind.JOB),
    ],
)
def test_e21_what_does_not_fit_is_found(
    store: Store, sql: psycopg.Connection, statement: str, kind: DamageKind
) -> None:
    add_note(store, "The walrus rests.")
    store.add_job(NoteSubmission("waits"), idempotency_key=None, max_queued=9, now=NOW)
    assert find_damage(store) == set()

    sql.execute(statement.encode())

    assert kind in find_damage(store)


def test_e21_words_are_made_anew_from_the_texts(store: Store, sql: psycopg.Connection) -> None:
    walrus = add(store, note("walrus", title="Tusks"), index("the walrus", "rests on ice"))
    before = counts(sql)
    sql.execute("UPDATE chunk_words SET tokens = tokens[2:]")

    store.mend_full_text()

    assert find_damage(store) == set()
    assert counts(sql) == before
    assert set(found_by_text(store, "tusks")) == {walrus.id}


def test_the_counts_of_words_are_those_of_the_chunks_whatever_is_done(store: Store, sql: psycopg.Connection) -> None:
    first = add(store, note("one", title="North"), index("walrus walrus ice", "north ice"))
    second = add_note(store, "walrus swims")
    store.update_document(first.id, DocumentChange(title="South"), expected_version=None, now=LATER)
    store.replace_note(second.id, revision("otter swims"), index("otter swims"), expected_version=None, now=LATER)

    assert counts(sql) == {
        "  ": 3, " ": 10, "south": 2, "walru": 1, "ic": 2, "north": 1, "otter": 1, "swim": 1, "untitl": 1
    }  # fmt: skip
    store.delete_document(first.id, expected_version=None, now=LATER)
    # At the second look nothing has come since, so they are summed up.
    store.tune_search()
    store.tune_search()
    rows = sql.execute("SELECT term, chunks FROM word_counts ORDER BY term").fetchall()
    assert rows == [(" ", 3), ("  ", 1), ("otter", 1), ("swim", 1), ("untitl", 1)]


def test_pairs_of_characters_are_counted_and_checked(store: Store, sql: psycopg.Connection) -> None:
    walrus = add_note(store, "海象在冰上。象牙。")

    assert {term: count for term, count in counts(sql).items() if term.strip() and term[0] == " "} == {
        " 海 象": 1, " 象 在": 1, " 在 冰": 1, " 冰 上": 1, " 上 象": 1, " 象 牙": 1
    }  # fmt: skip
    sql.execute("UPDATE chunk_words SET pairs = pairs[2:]")
    assert find_damage(store) == {DamageKind.FULL_TEXT}
    store.mend_full_text()
    assert find_damage(store) == set()
    store.delete_document(walrus.id, expected_version=None, now=LATER)
    assert not any(counts(sql).values())


def test_an_accent_that_stands_alone_is_no_chunk(store: Store, sql: psycopg.Connection) -> None:
    add_note(store, "don \u00b4 t swim")

    assert counts(sql)["  "] == 1
    assert store.read_statistics().vector_index.chunks == 1
    assert find_damage(store) == set()


def test_counts_are_summed_up_step_by_step_and_while_more_still_come(
    store: Store, sql: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_counts, "TERMS_PER_STEP", 2)
    monkeypatch.setattr("kb.engine.storage.postgres.store.MOST_WAITING", 1)
    for _ in range(3):
        add_note(store, "alpha beta gamma delta epsilon")
    before = counts(sql)

    store.tune_search()

    rows = sql.execute("SELECT term, chunks FROM word_counts ORDER BY term").fetchall()
    assert dict(rows) == before
    assert len(rows) == len(before)


def test_a_term_that_is_longer_than_an_index_takes_is_found(store: Store) -> None:
    key = "x" * 5_000
    found = add_note(store, f"The key is {key}.")
    add_note(store, f"The key is {key}y.")

    assert found_by_text(store, key) == [found.id]


def test_a_source_path_that_is_longer_than_an_index_takes_is_found(store: Store) -> None:
    path = "/" + "é" * 4_000
    document = add(store, note("text", source_path=path), index("text"))

    assert found_by_text(store, "text", scope=Scope(source_path=path)) == [document.id]


def test_a_statement_that_takes_too_long_is_given_up_and_the_next_one_is_not_disturbed(
    backend: PostgresBackend,
) -> None:
    database = Database(backend.url)
    with database.read() as db:
        with pytest.raises(TooBroad), db.time_limited(0.01):
            db.execute("SELECT pg_sleep(5)").fetchall()
        assert db.execute("SELECT 1").get == 1
        assert db.execute("SHOW statement_timeout").get == "0"
        with pytest.raises(TooBroad), db.time_limited(0.1), db.set_to({"enable_seqscan": "on"}):
            ask_for_ever(db)
        assert db.execute("SHOW lock_timeout").get == "0"
    database.close()


def ask_for_ever(db: PostgresConnection) -> NoReturn:
    """Each statement takes next to no time."""
    while True:
        db.execute("SELECT pg_sleep(0.01)").fetchall()


def test_closing_ends_what_is_under_way(backend: PostgresBackend, sql: psycopg.Connection) -> None:
    database = Database(backend.url)
    asleep = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"

    def read() -> None:
        with database.read() as db:
            db.execute("SELECT pg_sleep(60)").fetchall()

    with ThreadPoolExecutor(1) as threads:
        reading = threads.submit(read)
        wait_until(lambda: sql.execute(asleep).fetchall() != [], "the statement has reached the server")
        database.close()
        assert isinstance(reading.exception(timeout=10), Unavailable)
    with pytest.raises(Unavailable), database.read():
        pass


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few dozen chunks are a large base."""
    for module in (matching, near_index):
        monkeypatch.setattr(module, "COMPARED", 30)


def indexes(sql: psycopg.Connection) -> list[str]:
    rows = sql.execute("SELECT indexname FROM pg_indexes WHERE indexname LIKE 'embeddings_near%' ORDER BY 1")
    return [name for (name,) in rows.fetchall()]


@pytest.mark.usefixtures("large")
def test_many_vectors_get_an_index_that_finds_all_that_a_filter_allows(store: Store, sql: psycopg.Connection) -> None:
    texts = [f"text {number}" for number in range(300)]
    for place in range(0, 300, 10):
        add(store, note(str(place), tags=["even"] if place % 20 == 0 else []), index(*texts[place : place + 10]))
    store.tune_search()
    store.tune_search()

    statistics = store.read_statistics()

    assert indexes(sql) == ["embeddings_near_tiny1"]
    assert (statistics.vector_index.kind, statistics.vector_index.chunks) == ("hnsw", 300)
    assert found_by_vector(store, "text 123", limit=1) == [13]
    assert len(found_by_vector(store, "text 123", limit=250)) == 250
    assert len(found_by_vector(store, "text 123", scope=Scope(tags=("even",)), limit=150)) == 150


@pytest.mark.usefixtures("large")
def test_an_index_that_was_left_half_made_is_made_anew(store: Store, sql: psycopg.Connection) -> None:
    for number in range(40):
        add_note(store, f"note {number}")
    store.tune_search()
    store.tune_search()
    sql.execute("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'embeddings_near_tiny1'::regclass")

    store.tune_search()
    store.tune_search()

    assert store.read_statistics().vector_index.kind == "hnsw"


def test_a_base_of_a_newer_kb_is_refused(backend: PostgresBackend, sql: psycopg.Connection) -> None:
    sql.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")

    with pytest.raises(Unavailable, match="newer kb"):
        PostgresStore(backend.url, model_fingerprint=MODEL)


def test_a_copy_of_a_base_is_another_base(backend: PostgresBackend, store: Store) -> None:
    known = store.read_base_id()
    store.close()

    copy = PostgresStore(backend.copy(), model_fingerprint=MODEL)

    assert copy.read_base_id() != known
    copy.close()


def test_a_server_that_is_not_there_is_told_plainly() -> None:
    with pytest.raises(Unavailable, match="KB_STORE_URL"):
        PostgresStore("postgresql://nobody:secret@127.0.0.1:1/kb", model_fingerprint=MODEL)
