"""W1: the map is made when there is nothing else to do, and moves nobody without need."""

import threading
from collections.abc import Callable

import numpy as np
import pytest
from tests.backends import MODEL, Backend
from tests.contract.topics import add_about, distance, fill, spots, vector_about
from tests.handmade_documents import LATER, LEASE, NOW, claim_new_job, revision

from kb.engine.mapping import mapmaker
from kb.engine.mapping.mapmaker import Mapmaker, Stopped
from kb.engine.model import (
    EventKind,
    IndexedChunk,
    IndexedText,
    JobError,
    Lane,
    NoteSubmission,
    Passage,
)
from kb.engine.ports import Store


def test_a_new_document_gets_a_place_near_its_kin_and_moves_nobody(store: Store, make_map: Callable[[], None]) -> None:
    firsts, seconds = fill(store, 12)
    make_map()
    before = spots(store)

    new = add_about(store, 1, seed=77)
    is_whole_meanwhile = store.read_map(limit=1).is_whole
    make_map()

    after = spots(store)
    place = after.pop(new.id)
    assert after == before
    assert not is_whole_meanwhile
    assert max(distance(place, after[one.id]) for one in seconds) < min(
        distance(place, after[one.id]) for one in firsts
    )


def test_when_many_have_come_all_are_laid_out_again_from_where_they_lie(
    store: Store, make_map: Callable[[], None]
) -> None:
    firsts, seconds = fill(store, 12)
    make_map()
    before, number = spots(store), store.read_layout().number

    for seed in range(8):
        add_about(store, 1, 500 + seed)
    make_map()

    after, layout = spots(store), store.read_layout()
    assert layout.number == number + 1
    assert layout.is_laid_out.all()
    # The two islands are still on their sides.
    for topic in (firsts, seconds):
        old, new = (np.mean([places[one.id] for one in topic], axis=0) for places in (before, after))
        assert distance(old, new) < 0.5


def test_a_rewritten_note_moves_to_those_it_is_like_now(store: Store, make_map: Callable[[], None]) -> None:
    firsts, seconds = fill(store, 12)
    make_map()
    before = spots(store)
    text = IndexedText([IndexedChunk(Passage("about the other"), vector_about(1, 99))], MODEL)

    store.replace_note(firsts[0].id, revision("about the other"), text, expected_version=None, now=LATER)
    while_stale = spots(store)
    make_map()

    after = spots(store)
    assert while_stale == before
    moved = after.pop(firsts[0].id)
    assert all(after[one] == before[one] for one in after)
    assert min(distance(moved, after[one.id]) for one in seconds) < min(
        distance(moved, after[one.id]) for one in firsts[1:]
    )


def test_another_model_makes_another_map_and_the_old_one_stays_meanwhile(
    backend: Backend, store: Store, make_map: Callable[[], None]
) -> None:
    """E28"""
    documents = [add_about(store, number % 2, number) for number in range(10)]
    make_map()
    before = spots(store)

    changed = backend.open("tiny-2")
    changed.adopt_model(now=LATER)
    claim = changed.claim_job(Lane.UPKEEP, now=LATER, lease_until=LATER + LEASE)
    assert claim is not None
    meanwhile = spots(changed)
    for number, document in enumerate(documents):
        chunk = IndexedChunk(Passage("anew"), vector_about(number // 5, 300 + number))
        changed.replace_text(claim, document.id, IndexedText([chunk], "tiny-2"), expected_version=document.version)
    assert changed.complete_reindex(claim, unreadable=(), now=LATER)
    Mapmaker(changed, threading.Event()).look()

    after, layout = spots(changed), changed.read_layout()
    changed.close()
    assert meanwhile == before
    assert layout.number == 2
    assert layout.is_laid_out.all()
    ids = [document.id for document in documents]
    assert distance(after[ids[0]], after[ids[1]]) < distance(after[ids[0]], after[ids[9]])


def test_of_many_documents_some_are_laid_out_and_the_others_put_beside_them(
    store: Store, make_map: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapmaker, "MOST_LAID_OUT", 12)
    monkeypatch.setattr(mapmaker, "DOCUMENTS_AT_ONCE", 5)
    firsts, seconds = fill(store, 15)

    make_map()

    layout, found = store.read_layout(), spots(store)
    assert layout.is_current.all()
    assert np.count_nonzero(layout.is_laid_out) == 12
    middles = [np.mean([found[one.id] for one in group], axis=0) for group in (firsts, seconds)]
    strays = [one for one in firsts if distance(found[one.id], middles[0]) > distance(found[one.id], middles[1])]
    strays += [one for one in seconds if distance(found[one.id], middles[1]) > distance(found[one.id], middles[0])]
    assert strays == []
    # Those that are laid out are the same ones with a few more documents.
    add_about(store, 0, 700)
    make_map()
    assert store.read_layout().number == 1


def test_of_long_documents_fewer_are_read_in_one_go(
    store: Store, make_map: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapmaker, "CHUNKS_AT_ONCE", 5)
    fill(store, 20)
    make_map()
    before = store.newest_event()

    added = [add_about(store, 1, 700 + number) for number in range(5)]
    make_map()

    # Each of two chunks, so two at a time.
    events = store.list_events(after=before, limit=100)
    assert [event.kind for event in events].count(EventKind.MAP_CHANGED) == 3
    assert {one.id for one in added} <= set(spots(store))


def test_what_was_interrupted_is_finished_by_the_next(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapmaker, "MOST_LAID_OUT", 6)
    monkeypatch.setattr(mapmaker, "DOCUMENTS_AT_ONCE", 4)
    fill(store, 10)

    class HalfwayThrough(threading.Event):
        def is_set(self) -> bool:
            return store.read_map(limit=1).placed == 10

    with pytest.raises(Stopped):
        Mapmaker(store, HalfwayThrough()).look()
    is_whole_halfway = store.read_map(limit=1).is_whole
    Mapmaker(store, threading.Event()).look()

    assert not is_whole_halfway
    assert store.read_map(limit=1).placed == 20
    assert store.read_layout().number == 1


def test_jobs_go_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapmaker, "LOOK_FOR_JOBS_EVERY_SECONDS", 0.0)
    fill(store, 3)
    claim = claim_new_job(store)
    waited: list[int] = []

    class Stopping(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(store.read_map(limit=1).placed)
            store.fail_job(claim, JobError("x", "x"), retry_at=None, now=NOW)
            return False

    Mapmaker(store, Stopping()).look()

    assert waited == [0]
    assert store.read_map(limit=1).placed == 6


def test_who_is_stopped_while_jobs_wait_leaves_at_once(store: Store) -> None:
    store.add_job(NoteSubmission("waits"), idempotency_key=None, max_queued=10, now=NOW)
    stopping = threading.Event()
    maker = Mapmaker(store, stopping)
    threading.Timer(0.05, stopping.set).start()

    with pytest.raises(Stopped):
        maker.look()
