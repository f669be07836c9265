"""What the SQLite file itself must keep to, beyond what a caller of the store can see."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import apsw
import pytest
from tests.backends import SqliteBackend
from tests.handmade_documents import (
    LATER,
    LEASE,
    NOW,
    add,
    add_note,
    digest,
    file,
    found_by_text,
    found_by_vector,
    index,
    note,
    revision,
)

from kb.engine.errors import Damaged
from kb.engine.model import EVERYWHERE, DocumentChange, DocumentQuery, JobStatus, Lane, NoteSubmission
from kb.engine.ports import Store
from kb.engine.storage.sqlite import clearing
from kb.engine.storage.sqlite.checksums import register_checksum
from kb.engine.storage.sqlite.connection import SqliteDialect
from kb.engine.storage.tables.claims import CLAIMABLE
from kb.engine.storage.tables.documents import DocumentsPart
from kb.engine.storage.tables.job_rows import PRIORITY_OF_LANE

SECRETS = ["xylophonequartz", "隠された秘密の言葉", "mnemosynevault"]


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    store = SqliteBackend(folder).open()
    yield store
    store.close()


def bytes_on_disk(folder: Path) -> bytes:
    """The database file after everything in its log has been written into it."""
    connection = apsw.Connection(str(folder / "kb.sqlite"))
    # A connection that has read nothing yet knows of no log.
    connection.pragma("user_version")
    assert connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE) == (0, 0)
    connection.close()
    return (folder / "kb.sqlite").read_bytes()


def traces_of(secrets: list[str], folder: Path) -> list[str]:
    """Which secrets are in the file, whole, spaced out as the keyword index has them, or their beginnings."""
    content = bytes_on_disk(folder)
    # Three letters might stand in a number that is drawn by lot.
    spellings = {secret: (secret, " ".join(secret), secret[:6]) for secret in secrets}
    return [secret for secret, forms in spellings.items() if any(form.encode() in content for form in forms)]


def add_secret_note(store: Store) -> int:
    """A note through the whole queue, among others before and after it."""
    for number in range(20):
        add_note(store, f"plain words before {number}")
    text = " ".join(SECRETS)
    store.add_job(NoteSubmission(text, SECRETS[0], (SECRETS[2],)), idempotency_key=None, max_queued=9, now=NOW)
    claim = store.claim_job(Lane.INTERACTIVE, now=NOW, lease_until=NOW + LEASE)
    assert claim is not None
    new = note(text, title=SECRETS[0], tags=[SECRETS[2]], metadata={"secret": SECRETS[2]}, source_path=SECRETS[2])
    document_id = store.commit_document(claim, new, index(text, text, heading=SECRETS[1]), now=NOW).document_id
    for number in range(20):
        add_note(store, f"plain words after {number}")
    return document_id


@pytest.mark.parametrize("how", ["deleted", "cleared"])
def test_no_byte_of_a_deleted_note_stays_in_the_file(store: Store, folder: Path, how: str) -> None:
    document_id = add_secret_note(store)
    assert traces_of(SECRETS, folder) == SECRETS

    if how == "deleted":
        store.delete_document(document_id, expected_version=None, now=LATER)
    else:
        store.delete_everything(now=LATER)

    assert traces_of(SECRETS, folder) == []


def test_e18_no_byte_of_a_deleted_notes_revisions_stays_in_the_file(store: Store, folder: Path) -> None:
    text = " ".join(SECRETS[:2])
    document = add(store, note(text), index(text))
    store.replace_note(document.id, revision("harmless"), index("harmless"), expected_version=None, now=LATER)
    assert traces_of(SECRETS[:2], folder) == SECRETS[:2]

    store.delete_document(document.id, expected_version=None, now=LATER)

    assert traces_of(SECRETS[:2], folder) == []


def test_no_byte_of_a_forgotten_job_stays_in_the_file(store: Store, folder: Path) -> None:
    job = store.add_job(NoteSubmission(SECRETS[0]), idempotency_key=SECRETS[2], max_queued=100, now=NOW)
    store.cancel_job(job.id, now=NOW)

    store.delete_finished_jobs(finished_before=NOW + timedelta(days=30))

    assert traces_of([SECRETS[0], SECRETS[2]], folder) == []


def test_no_byte_of_what_a_job_forgets_when_it_is_cancelled_stays_in_the_file(store: Store, folder: Path) -> None:
    """E7"""
    job = store.add_job(NoteSubmission(SECRETS[0], SECRETS[1]), idempotency_key=SECRETS[2], max_queued=100, now=NOW)
    assert traces_of(SECRETS, folder) == SECRETS

    store.forget_job(job.id, now=NOW)

    assert traces_of(SECRETS, folder) == []


def test_the_keyword_index_passes_its_own_check_after_every_kind_of_change(store: Store, folder: Path) -> None:
    documents = [
        add(store, note(f"walrus {n}", title=f"Title 東京 {n}"), index("walrus", f"{n} 寿司")) for n in range(5)
    ]

    store.update_document(documents[0].id, DocumentChange(title="Other"), expected_version=None, now=LATER)
    store.replace_note(documents[1].id, revision("x", title="Ω 大阪"), index("x"), expected_version=None, now=LATER)
    store.delete_document(documents[2].id, expected_version=None, now=LATER)

    SqliteBackend(folder).check_integrity()


def test_the_index_stays_whole_when_a_long_document_goes_without_secure_delete(store: Store, folder: Path) -> None:
    add_note(store, "the walrus stays")
    long = add(store, note("long"), index(*[f"the otter of page {page}" for page in range(60)]))

    store.delete_document(long.id, expected_version=None, now=LATER)

    connection = apsw.Connection(str(folder / "kb.sqlite"))
    connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)")
    assert connection.execute("SELECT v FROM chunks_fts_config WHERE k = 'secure-delete'").get == 1
    connection.close()
    assert len(store.find_by_text(["otter"], EVERYWHERE, limit=10).matches) == 0
    assert len(store.find_by_text(["walrus"], EVERYWHERE, limit=10).matches) == 1


@pytest.mark.parametrize("lane", Lane)
def test_claiming_a_job_reads_the_queue_in_its_order_and_does_not_sort_it(
    store: Store, folder: Path, lane: Lane
) -> None:
    """What a claim costs must not grow with the queue."""
    connection = apsw.Connection(str(folder / "kb.sqlite"))

    explain = f"EXPLAIN QUERY PLAN SELECT id FROM jobs {SqliteDialect().by_index('jobs_to_do')} {CLAIMABLE}"  # noqa: S608
    plan = str(connection.execute(explain, ("now", "later", PRIORITY_OF_LANE[lane])).fetchall())

    connection.close()
    assert "jobs_to_do" in plan
    assert "TEMP B-TREE" not in plan


def test_an_original_is_in_use_even_if_the_place_that_names_it_is_damaged(store: Store, folder: Path) -> None:
    document = add(store, file("content"))
    add_note(store, "the same as a file")
    connection = apsw.Connection(str(folder / "kb.sqlite"))
    register_checksum(connection)
    connection.execute("UPDATE documents SET original = replace(original, 'a', 'b') WHERE id = ?", (document.id,))
    connection.close()

    assert store.is_original_in_use(digest("content"))
    assert not store.is_original_in_use(digest("the same as a file"))


@pytest.mark.parametrize("damage", [b"{", b'{"text": "\xff"}', b"[]", b'{"unknown": 1, "tags": []}'])
def test_a_job_that_is_damaged_fails_and_does_not_stand_in_the_way(store: Store, folder: Path, damage: bytes) -> None:
    broken = store.add_job(NoteSubmission("broken"), idempotency_key=None, max_queued=9, now=NOW)
    whole = store.add_job(NoteSubmission("whole"), idempotency_key=None, max_queued=9, now=NOW)
    connection = apsw.Connection(str(folder / "kb.sqlite"))
    connection.execute("UPDATE jobs SET payload = CAST(? AS TEXT) WHERE id = ?", (damage, broken.id))
    connection.close()

    first, second = (store.claim_job(Lane.INTERACTIVE, now=NOW, lease_until=NOW + LEASE) for _ in range(2))

    assert first is None
    assert second is not None
    assert second.job_id == whole.id
    failed = store.get_job(broken.id)
    assert failed.status is JobStatus.FAILED
    assert failed.error is not None
    assert "Submit it again" in failed.error.message


def test_a_damaged_count_of_chunks_does_not_break_search(store: Store, folder: Path) -> None:
    document = add_note(store, "the walrus")
    connection = apsw.Connection(str(folder / "kb.sqlite"))
    register_checksum(connection)
    connection.execute("UPDATE documents SET chunk_count = chunk_count + (1 << 38) WHERE id = ?", (document.id,))
    connection.close()

    assert found_by_vector(store, "the walrus", limit=9) == [1]


def test_an_error_between_two_rows_keeps_neither_readers_nor_the_writer_at_an_old_moment(
    store: Store, folder: Path
) -> None:
    for number in range(3):
        add_note(store, f"walrus {number}")
    connection = apsw.Connection(str(folder / "kb.sqlite"))
    register_checksum(connection)
    connection.execute("UPDATE documents SET metadata = '{' WHERE id = 2")
    connection.close()
    held = []
    for change in (
        lambda: store.list_documents(DocumentQuery()),
        lambda: store.change_tags(2, add=["t"], remove=[], expected_version=None, now=LATER),
    ):
        with pytest.raises(Damaged) as raised:
            change()
        held.append(raised)

    added = add_note(store, "the otter")

    assert store.get_document(added.id) == added
    assert len(held) == 2


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lower the limits, so that a few chunks are cleared in pieces."""
    monkeypatch.setattr(clearing, "MAX_CHUNKS_AT_ONCE", 3)
    monkeypatch.setattr(clearing, "CHUNKS_PER_PIECE", 2)


@pytest.mark.usefixtures("small_pieces")
def test_e32_a_base_that_is_cleared_in_pieces_is_empty(store: Store, folder: Path) -> None:
    """E32"""
    add_secret_note(store)

    cleared = store.delete_everything(now=LATER)

    assert (cleared.documents_removed, cleared.vectors_removed) == (41, 42)
    assert cleared.bytes_freed > 41 * len("plain words")
    assert traces_of(SECRETS, folder) == []
    assert (store.list_documents(DocumentQuery()).total, store.list_tags().rows) == (0, [])
    assert len(found_by_vector(store, "plain words before 1")) == 0
    SqliteBackend(folder).check_integrity()


@pytest.mark.usefixtures("small_pieces")
def test_e32_a_clearing_that_breaks_off_leaves_whole_documents(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E32"""
    notes = [add_note(store, f"walrus {number}", tags=["sea"]) for number in range(9)]
    with monkeypatch.context() as breaking:
        # The last step, after all pieces.
        breaking.setattr(DocumentsPart, "delete_everything", lambda store, *, now: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            store.delete_everything(now=LATER)

    left = store.list_documents(DocumentQuery()).rows
    assert 0 < len(left) < len(notes)
    assert {document.id for document in left} == set(found_by_text(store, "walrus"))
    SqliteBackend(folder).check_integrity()
    assert store.delete_everything(now=LATER).documents_removed == len(left)
    assert found_by_text(store, "walrus") == []


def test_e32_a_long_document_gets_a_title_without_secure_delete(store: Store, folder: Path) -> None:
    """E32: with it, the title of a document of 10,000 chunks kept other writers out for 155 s."""
    long = add(store, note("long", title="Otter"), index(*[f"page {page}" for page in range(60)]))

    store.update_document(long.id, DocumentChange(title="Walrus"), expected_version=None, now=LATER)

    SqliteBackend(folder).check_integrity()
    with closing(apsw.Connection(str(folder / "kb.sqlite"))) as connection:
        assert connection.execute("SELECT v FROM chunks_fts_config WHERE k = 'secure-delete'").get == 1
    assert found_by_text(store, "walrus") == [long.id] * 60
    assert found_by_text(store, "otter") == []
