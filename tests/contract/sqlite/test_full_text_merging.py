"""The full-text index is put together when it has grown, and when there is time for it."""

from pathlib import Path

import apsw
import pytest
from tests.backends import Backend
from tests.handmade_documents import LATER, NOW, add_note, found_by_text

from kb.engine.model import NoteSubmission
from kb.engine.ports import Store
from kb.engine.storage.sqlite import full_text


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(full_text, "LEAST_CHUNKS", 10)
    monkeypatch.setattr(full_text, "PAGES_PER_STEP", 1)


def count_pieces(folder: Path) -> int:
    connection = apsw.Connection(str(folder / "kb.sqlite"), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        pieces: int = connection.execute("SELECT count(DISTINCT segid) FROM chunks_fts_idx").get
        return pieces
    finally:
        connection.close()


def test_a_grown_index_is_put_together_and_finds_the_same(store: Store, backend: Backend, folder: Path) -> None:
    notes = [add_note(store, f"word{n} common") for n in range(30)]
    store.delete_document(notes[3].id, expected_version=None, now=LATER)
    before = found_by_text(store, "common")
    assert count_pieces(folder) > 1

    store.tune_search()

    assert count_pieces(folder) == 1
    assert found_by_text(store, "common") == before
    assert found_by_text(store, "word7") == [notes[7].id]
    backend.check_integrity()


def test_it_is_left_alone_until_it_has_grown_by_a_quarter(store: Store, folder: Path) -> None:
    for n in range(20):
        add_note(store, f"first {n}")
    store.tune_search()

    for n in range(4):
        add_note(store, f"second {n}")
    store.tune_search()
    in_pieces = count_pieces(folder)
    add_note(store, "the last")
    store.tune_search()

    assert in_pieces > 1
    assert count_pieces(folder) == 1


def test_jobs_that_wait_come_first(store: Store, folder: Path) -> None:
    for n in range(20):
        add_note(store, f"note {n}")
    before = count_pieces(folder)
    store.add_job(NoteSubmission("waiting"), idempotency_key=None, max_queued=10, now=NOW)

    store.tune_search()

    assert count_pieces(folder) == before
