"""Where each chunk belongs: as the files of vectors have it, and as the base has it if they lack any."""

from collections.abc import Iterator

import pytest
from tests.backends import Backend
from tests.handmade_documents import LATER, add, index, note, revision

from kb.engine.model import EVERYWHERE, Document
from kb.engine.ports import Store
from kb.engine.storage.sqlite import chunk_places
from kb.engine.storage.sqlite.vectors import building

DOCUMENTS = 15


@pytest.fixture(autouse=True)
def few_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "CODED_FROM", 40)
    monkeypatch.setattr(chunk_places, "MOST_LEFT_OVER", 10)


@pytest.fixture
def documents(store: Store) -> list[Document]:
    return [add(store, note(f"note {n}"), index(*(f"walrus {n} {c}" for c in range(4)))) for n in range(DOCUMENTS)]


@pytest.fixture
def fresh_store(backend: Backend, store: Store, documents: list[Document]) -> Iterator[Store]:
    """One that has seen nothing yet, on a base with files."""
    store.tune_search()
    fresh = backend.open()
    assert fresh.read_statistics().vector_index.kind == "codes"
    yield fresh
    fresh.close()


def found(store: Store) -> set[tuple[int, int, int]]:
    matches = store.find_by_text(["walrus"], EVERYWHERE, limit=1_000).matches
    columns = (matches.chunk_ids, matches.document_ids, matches.ordinals)
    return set(zip(*(column.tolist() for column in columns), strict=True))


def expected(store: Store, documents: list[Document]) -> set[tuple[int, int, int]]:
    return {
        (chunk.id, document.id, chunk.ordinal)
        for document in documents
        for chunk in store.read_document(document.id).chunks
    }


def test_chunks_in_files_belong_where_they_do_in_the_base(fresh_store: Store, documents: list[Document]) -> None:
    assert found(fresh_store) == expected(fresh_store, documents)


def test_what_changed_since_the_files_were_made_is_known_too(
    store: Store, fresh_store: Store, documents: list[Document]
) -> None:
    store.delete_document(documents.pop(3).id, expected_version=None, now=LATER)
    store.replace_note(documents[5].id, revision("now"), index("walrus anew"), expected_version=None, now=LATER)
    documents.append(add(store, note("added"), index("walrus added")))

    assert found(fresh_store) == expected(store, documents)

    documents.append(add(store, note("later"), index("walrus later", "walrus last")))
    assert found(fresh_store) == expected(store, documents)


def test_chunks_that_the_files_lack_are_read_from_the_base(store: Store, backend: Backend) -> None:
    """As of documents whose vectors are of another model."""
    documents = [add(store, note("old"), index("walrus one", "walrus two", model="another-model"))]
    documents += [add(store, note(f"note {n}"), index(*["walrus"] * 4)) for n in range(DOCUMENTS)]
    store.tune_search()

    fresh = backend.open()
    try:
        assert fresh.read_statistics().vector_index.kind == "codes"
        assert found(fresh) == expected(store, documents)
    finally:
        fresh.close()


def test_when_most_is_gone_the_rest_still_belongs_where_it_does(
    store: Store, fresh_store: Store, documents: list[Document]
) -> None:
    assert found(fresh_store) == expected(store, documents)

    for document in documents[:-2]:
        store.delete_document(document.id, expected_version=None, now=LATER)

    assert found(fresh_store) == expected(store, documents[-2:])
