"""W1: where documents lie on the map is derived, and follows the base."""

import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import numpy as np
from tests.backends import MODEL, ONLY_SQLITE
from tests.bases import make_backup, restore_backup
from tests.bundles import take_portable
from tests.contract.topics import add_about, distance, fill, spots
from tests.handmade_documents import LATER, NOW, add, add_note, index, note, revision

from kb.engine.integrity import check_integrity
from kb.engine.mapping.mapmaker import Mapmaker
from kb.engine.model import (
    DocumentChange,
    DocumentId,
    EventKind,
    IndexedText,
    Placement,
    Scope,
)
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Store
from kb.engine.storage import open_store


def test_an_empty_base_has_an_empty_map(store: Store, make_map: Callable[[], None]) -> None:
    make_map()

    found = store.read_map(limit=10)

    assert (found.documents, found.total, found.placed, found.is_whole) == ([], 0, 0, True)


def test_w1_documents_lie_near_those_of_their_topic(store: Store, make_map: Callable[[], None]) -> None:
    firsts, seconds = fill(store, 12)

    make_map()

    found = spots(store)
    within = [distance(found[a.id], found[b.id]) for group in (firsts, seconds) for a in group for b in group]
    between = [distance(found[a.id], found[b.id]) for a in firsts for b in seconds]
    assert np.mean(within) < min(between)
    assert np.mean(within) * 2 < np.mean(between)
    assert max(abs(number) for spot in found.values() for number in spot) <= 1


def test_the_map_tells_what_the_page_shows_of_a_document_most_recent_first(
    store: Store, make_map: Callable[[], None]
) -> None:
    old = add(store, note("otters", title="Otters", tags=["b", "a"]), now=NOW)
    new = add_note(store, "walrus", now=LATER)
    make_map()

    found = store.read_map(limit=10)
    first = store.read_map(limit=1)

    assert [document.id for document in found.documents] == [new.id, old.id]
    told = found.documents[1]
    assert (told.uuid, told.title, told.doc_type, told.format) == (old.uuid, "Otters", "note", "note")
    assert (told.tags, told.chunk_count, told.created_at, told.updated_at) == (("b", "a"), 1, NOW, None)
    assert [document.id for document in first.documents] == [new.id]
    assert (first.total, first.placed, first.is_whole) == (2, 2, True)


def test_a_new_title_or_tag_moves_nobody(store: Store, make_map: Callable[[], None]) -> None:
    document = add_note(store, "otters")
    make_map()
    before = store.newest_event()

    store.update_document(document.id, DocumentChange("Sea otters"), expected_version=None, now=LATER)
    store.change_tags(document.id, add=["a"], remove=(), expected_version=None, now=LATER)
    make_map()

    assert EventKind.MAP_CHANGED not in [event.kind for event in store.list_events(after=before, limit=10)]
    (told,) = store.read_map(limit=1).documents
    assert (told.title, told.tags) == ("Sea otters", ("a",))


def test_deleted_documents_vanish_from_the_map_and_the_others_stay(store: Store, make_map: Callable[[], None]) -> None:
    firsts, _ = fill(store, 4)
    make_map()
    before = spots(store)

    for document in firsts:
        store.delete_document(document.id, expected_version=None, now=LATER)
    at_once = spots(store)
    make_map()

    assert at_once == spots(store) == {one: spot for one, spot in before.items() if one > firsts[-1].id}
    store.delete_everything(now=LATER)
    assert store.read_map(limit=10).placed == 0


def test_a_document_without_chunks_or_with_vectors_of_another_model_is_not_waited_for(
    store: Store, make_map: Callable[[], None]
) -> None:
    add(store, note("nothing"), IndexedText([], MODEL))
    add_about(store, 0, 1, model="other")
    placed = add_about(store, 0, 2)

    make_map()

    found = store.read_map(limit=10)
    assert [document.id for document in found.documents] == [placed.id]
    assert (found.total, found.placed, found.is_whole) == (3, 1, True)


def test_the_vector_of_a_document_is_the_mean_of_its_chunks(store: Store) -> None:
    document = add(store, note("two"), index("one half", "the other"))
    empty = add(store, note("nothing"), IndexedText([], MODEL))
    expected = sum(chunk.vector for chunk in index("one half", "the other").chunks)

    found = store.load_document_vectors(np.array([empty.id, document.id, 99]))

    assert list(found) == [document.id]
    assert np.allclose(found[document.id], expected / np.linalg.norm(expected), atol=1e-6)


@ONLY_SQLITE
def test_a_damaged_vector_spoils_no_map(folder: Path, store: Store, make_map: Callable[[], None]) -> None:
    firsts, _ = fill(store, 4)
    with closing(apsw.Connection(str(folder / "kb.sqlite"))) as db:
        for document, damaged in zip(firsts, (b"\xff" * 64, b"\xff" * 60, b"\xff"), strict=False):
            db.execute(
                "UPDATE embeddings SET vector = ? WHERE chunk_id IN (SELECT id FROM chunks WHERE document_id = ?)",
                (damaged, document.id),
            )

    make_map()

    assert sorted(spots(store)) == [4, 5, 6, 7, 8]
    assert not store.read_map(limit=1).is_whole


@ONLY_SQLITE
def test_a_damaged_place_misplaces_one_document_until_all_are_laid_out(
    folder: Path, store: Store, make_map: Callable[[], None]
) -> None:
    fill(store, 4)
    make_map()
    before = spots(store)
    with closing(apsw.Connection(str(folder / "kb.sqlite"))) as db:
        db.execute("UPDATE document_places SET x = X'FF00', y = 'nowhere' WHERE document_id = 1")

    found = spots(store)
    add_note(store, "one more")
    make_map()

    assert found == {**before, 1: (0.0, 0.0)}
    assert len(spots(store)) == 9


def test_who_lays_out_what_another_has_laid_out_meanwhile_changes_nothing(
    store: Store, make_map: Callable[[], None]
) -> None:
    fill(store, 3)
    late = store.read_layout()
    make_map()
    before = spots(store)
    everywhere = np.ones((len(late.document_ids), 2), np.float32)

    store.place_documents(Placement(1, late.document_ids, late.marks, everywhere, is_laid_out=True))
    store.place_documents(Placement(0, late.document_ids, late.marks, everywhere, is_laid_out=False))

    assert spots(store) == before


def test_a_place_for_what_a_document_said_before_is_not_written(store: Store) -> None:
    kept, rewritten, deleted = (add_note(store, text) for text in ("one", "two", "three"))
    seen = store.read_layout()
    store.replace_note(rewritten.id, revision("other"), index("other"), expected_version=None, now=LATER)
    store.delete_document(deleted.id, expected_version=None, now=LATER)

    store.place_documents(Placement(1, seen.document_ids, seen.marks, np.zeros((3, 2), np.float32), is_laid_out=True))

    assert list(spots(store)) == [kept.id]


def test_who_watches_is_told_of_each_change_of_the_map_and_of_nothing_when_there_is_none(
    store: Store, make_map: Callable[[], None]
) -> None:
    """E8"""
    add_note(store, "otters", tags=["a"])
    before = store.newest_event()

    make_map()
    make_map()

    assert [event.kind for event in store.list_events(after=before, limit=10)] == [EventKind.MAP_CHANGED]


def test_a_change_of_the_map_is_none_of_what_a_filter_allows(store: Store, make_map: Callable[[], None]) -> None:
    document = add_note(store, "otters", tags=["a"])
    scope = Scope(tags=("a",))
    first = store.find_by_text(["otters"], scope, limit=5).matches.document_ids.tolist()

    make_map()

    assert store.find_by_text(["otters"], scope, limit=5).matches.document_ids.tolist() == first == [document.id]


def test_the_map_is_in_a_backup_and_nothing_in_a_check_speaks_of_it(
    folder: Path,
) -> None:
    (folder / "data").mkdir()
    store = open_store(folder / "data", model_fingerprint=MODEL)
    fill(store, 3)
    Mapmaker(store, threading.Event()).look()
    before = spots(store)

    make_backup(folder)
    store.close()
    restore_backup(folder)

    restored = open_store(folder / "restored", model_fingerprint=MODEL)
    after, report = spots(restored), check_integrity(restored, FolderOriginals(folder / "restored" / "originals"))
    restored.close()
    assert after == before
    assert report.damage_count == 0


def test_documents_that_come_from_another_base_get_places_here(
    folder: Path, store: Store, make_map: Callable[[], None]
) -> None:
    """E21"""
    fill(store, 3)
    make_map()
    (folder / "there").mkdir()
    there = open_store(folder / "there", model_fingerprint=MODEL)
    after = DocumentId(0)
    while (portable := take_portable(store, after=after)) is not None:
        there.add_portable(portable, now=LATER)
        after = DocumentId(portable.record.id)

    unplaced = there.read_map(limit=10)
    Mapmaker(there, threading.Event()).look()

    placed = there.read_map(limit=10)
    there.close()
    assert (unplaced.total, unplaced.placed, unplaced.is_whole) == (6, 0, False)
    assert (placed.placed, placed.is_whole) == (6, True)
