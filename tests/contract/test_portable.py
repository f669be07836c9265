"""E21: whole documents out of a store and into another, with all that belongs to them."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from tests.backends import BACKENDS, MODEL, Backend
from tests.bundles import portable_file, portable_note, take_portable
from tests.folders import open_folder
from tests.handmade_documents import (
    DIMENSION,
    LATER,
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
    vector_of,
)

from kb.engine.model import Action, DocumentId, EventKind, IndexSource
from kb.engine.model.portable import Arrival, PortableDocument
from kb.engine.ports import Store


@pytest.fixture(params=list(BACKENDS))
def other_base(request: pytest.FixtureRequest) -> Iterator[Store]:
    """In the same kind of store, and in each other kind."""
    with open_folder() as folder:
        backend = BACKENDS[request.param](Path(folder))
        store = backend.open()
        yield store
        store.close()
        backend.remove()


def take_all(store: Store) -> list[PortableDocument]:
    taken: list[PortableDocument] = []
    while found := take_portable(store, after=DocumentId(taken[-1].record.id if taken else 0)):
        taken.append(found)
    return taken


def assert_same(left: list[PortableDocument], right: list[PortableDocument]) -> None:
    assert [one.record for one in left] == [one.record for one in right]
    for one, other in zip(left, right, strict=True):
        np.testing.assert_array_equal(one.vectors, other.vectors)


def give(store: Store, document: PortableDocument) -> Arrival:
    return store.add_portable(document, now=LATER).arrival


def test_e21_all_that_a_document_has_arrives_in_the_other_base(
    store: Store, other_base: Store, backend: Backend
) -> None:
    first = add(store, note("draft", tags=["b", "a"], metadata={"z": 1, "a": [1, 1.0, True, None]}), index("draft"))
    store.replace_note(
        first.id, revision("the walrus rests", tags=None), index("walrus", "rests"), expected_version=None, now=LATER
    )
    add(store, file("ファイルの内容", source_path="/a"), index("猫は寝る", heading="見出し"))
    add_note(store, "deleted")
    store.delete_document(3, expected_version=None, now=NOW)
    add_note(store, "the otter swims")

    arrivals = [give(other_base, document) for document in take_all(store)]

    assert arrivals == [Arrival.ADDED] * 3
    assert_same(take_all(other_base), take_all(store))
    assert found_by_text(other_base, "walrus") == found_by_text(store, "walrus") == [1]
    assert found_by_text(other_base, "猫") == found_by_text(store, "猫") == [2]
    assert found_by_vector(other_base, "the otter swims")[0] == 4
    assert [one.text for one in other_base.list_revisions(1, limit=9, offset=0).rows] == ["the walrus rests", "draft"]
    assert other_base.is_original_in_use(digest("ファイルの内容"))


def test_e21_the_keyword_index_agrees_with_what_arrived(store: Store, backend: Backend) -> None:
    give(store, portable_note(1, "the walrus rests"))
    give(store, portable_note(1, "the walrus dives", version=2))

    assert found_by_text(store, "dives") == [1]
    assert found_by_text(store, "rests") == []
    backend.check_integrity()


@pytest.mark.parametrize("version", [1, 2])
def test_e21_what_is_there_stays_if_it_is_as_new(store: Store, version: int) -> None:
    added = add_note(store, "here")
    store.change_tags(added.id, add=["t"], remove=[], expected_version=None, now=NOW)
    before = take_all(store)

    arrival = give(store, portable_note(1, "elsewhere", uuid=added.uuid, version=version))

    assert arrival is Arrival.UNCHANGED
    assert_same(take_all(store), before)


def test_e21_an_earlier_version_is_replaced_wholly_under_its_own_id(store: Store) -> None:
    added = add(store, file("here", tags=["old"], metadata={"old": 1}), index("here"))
    brought = portable_note(77, "elsewhere", uuid=added.uuid, version=5, updated_at=LATER)

    arrived = store.add_portable(brought, now=LATER)

    assert (arrived.arrival, arrived.released_original) == (Arrival.REPLACED, digest("here"))
    assert_same(take_all(store), [replace(brought, record=replace(brought.record, id=added.id))])
    assert found_by_text(store, "here") == []
    assert [tag.name for tag in store.list_tags().rows] == ["sea", "見出し"]


def test_e21_an_id_is_kept_only_if_no_document_ever_had_it(store: Store) -> None:
    add_note(store, "one")
    add_note(store, "two")
    store.delete_document(2, expected_version=None, now=NOW)

    for number, wanted in ((101, 1), (102, 2), (103, 9), (104, 5), (105, 2**62)):
        give(store, portable_note(number, id=wanted))

    ids = [store.get_document(UUID(int=number)).id for number in range(101, 106)]
    assert ids == [3, 4, 9, 10, 11]


def test_e21_what_arrives_is_written_down_like_any_change(store: Store) -> None:
    give(store, portable_note(1))
    give(store, portable_note(1, version=2))
    give(store, portable_note(1, version=2))

    log = store.list_audit_log(document_id=1, limit=9, offset=0).rows
    events = store.list_events(after=0, limit=9)
    assert [entry.action for entry in log] == [Action.DOCUMENT_REPLACED, Action.DOCUMENT_ADDED]
    assert [event.kind for event in events] == [EventKind.DOCUMENT_ADDED, EventKind.DOCUMENT_CHANGED]


FOREIGN = portable_note(5, "the walrus rests", vector_model="another", dimension=DIMENSION + 1)
BARE = PortableDocument(replace(FOREIGN.record, vector_model=""), np.empty((0, 0), dtype=np.float32))


@pytest.mark.parametrize("document", [FOREIGN, BARE], ids=["another", "none"])
def test_e28_vectors_of_another_model_or_none_wait_to_be_made(store: Store, document: PortableDocument) -> None:
    add_note(store, "the otter swims")
    give(store, document)

    found = found_by_vector(store, "the otter swims")

    assert found == [1]
    assert found_by_text(store, "walrus") == [5]
    assert store.list_documents_to_index(IndexSource.CHUNKS, after=DocumentId(0), limit=9) == [5]


def test_e21_vectors_of_the_own_model_are_searched_at_once(store: Store, other_store: Store) -> None:
    add_note(store, "the otter swims")
    found_by_vector(other_store, "anything")
    walrus = portable_note(5, "the walrus rests", vector_model=MODEL)

    give(store, replace(walrus, vectors=vector_of("the walrus rests")[np.newaxis]))

    assert found_by_vector(other_store, "the walrus rests")[0] == 5


def test_e21_a_document_of_no_chunks_is_a_document_too(store: Store, other_base: Store) -> None:
    give(store, portable_file(b"", 3, chunks=()))

    give(other_base, take_all(store)[0])

    assert_same(take_all(other_base), take_all(store))
