"""E33: a page of a list ends when its rows come to too many bytes, and the next page goes on from there."""

import pytest
from tests.handmade_documents import LATER, NOW, add, add_note, file, index, note, revision

from kb.engine.model import ChunkId, DocumentOrder, DocumentQuery
from kb.engine.model.limits import MAX_ANSWER_BYTES
from kb.engine.ports import Store
from kb.engine.storage.tables import documents

THIRD = "x" * (MAX_ANSWER_BYTES // 3)


@pytest.fixture(autouse=True)
def without_limits_of_one_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of an older base may have more metadata. Then a few documents are enough for these tests."""
    monkeypatch.setattr(documents, "MAX_METADATA_BYTES", 100 * MAX_ANSWER_BYTES)


@pytest.fixture
def store_of_five(store: Store) -> Store:
    """Five documents with so much metadata that an answer has room for two of them."""
    for number in range(5):
        add(store, note(f"The mill {number}.", metadata={"long": THIRD}))
    return store


def test_a_list_of_documents_ends_early_and_goes_on(store_of_five: Store) -> None:
    """E33."""
    query = DocumentQuery(order=DocumentOrder.DATE_ADDED, limit=100)
    first = store_of_five.list_documents(query)
    last = store_of_five.list_documents(DocumentQuery(order=DocumentOrder.DATE_ADDED, limit=100, offset=4))

    assert ([one.id for one in first.rows], first.total) == ([5, 4], 5)
    assert ([one.id for one in last.rows], last.total) == ([1], 5)
    assert first.rows[0].metadata == {"long": THIRD}


def test_found_chunks_end_when_their_documents_are_too_large(store_of_five: Store) -> None:
    """E33."""
    chunks = [store_of_five.read_document(number).chunks[0].id for number in (3, 1, 2)]

    loaded = store_of_five.load_chunks([chunks[0], ChunkId(999), *chunks[1:]])

    assert [one.document.id for one in loaded] == [3, 1]


def test_tags_count_for_the_size_of_a_page(store: Store) -> None:
    """E33."""
    for number in range(3):
        add_note(store, f"The mill {number}.", tags=[f"{number} {tag:20000}" for tag in range(90)])

    page = store.list_documents(DocumentQuery(limit=100))

    assert (len(page.rows), page.total) == (2, 3)


def test_a_row_that_is_too_large_is_a_page_alone(store: Store) -> None:
    """E33."""
    for number in range(2):
        add(store, note(f"The mill {number}.", metadata={"long": 4 * THIRD}))

    assert len(store.list_documents(DocumentQuery(limit=100)).rows) == 1


def test_a_history_ends_when_its_texts_are_too_long(store: Store) -> None:
    """E18, E33."""
    document = add_note(store, "first")
    for number in range(4):
        text = f"{number}{THIRD}"
        store.replace_note(document.id, revision(text), index("x"), expected_version=None, now=LATER)

    first = store.list_revisions(document.id, limit=100, offset=0)
    rest = store.list_revisions(document.id, limit=100, offset=2)

    assert ([one.version for one in first.rows], first.total) == ([5, 4], 5)
    assert [one.version for one in rest.rows] == [3, 2, 1]


def test_chunks_end_when_they_are_too_long(store: Store) -> None:
    """E11, E33."""
    document = add(store, file("long"), index(*(str(number) * 1000 for number in range(9))))

    first = store.read_document(document.id, max_bytes=4_000)
    second = store.read_document(document.id, chunk_offset=len(first.chunks), max_bytes=4_000)
    one = store.read_document(document.id, max_bytes=1)

    assert [chunk.ordinal for chunk in first.chunks + second.chunks] == [0, 1, 2, 3, 4, 5]
    assert [chunk.ordinal for chunk in one.chunks] == [0]
    assert len(store.read_document(document.id).chunks) == 9


def test_tags_are_listed_page_by_page(store: Store) -> None:
    """E19, E33."""
    add(store, note("The mill.", tags=["c", "a", "b"]), now=NOW)

    page = store.list_tags(limit=2, offset=1)

    assert ([tag.name for tag in page.rows], page.total) == (["b", "c"], 3)
