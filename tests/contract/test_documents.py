from dataclasses import replace
from datetime import timedelta
from uuid import uuid4

import pytest
from tests.handmade_documents import LATER, NOW, add, add_note, file, found_by_text, index, note, revision

from kb.engine.errors import DocumentNotFound, InvalidRequest, NotANote, VersionConflict
from kb.engine.model import (
    Direction,
    Document,
    DocumentChange,
    DocumentId,
    DocumentOrder,
    DocumentQuery,
    Lane,
    NoteSubmission,
)
from kb.engine.ports import Store
from kb.engine.storage.tables import documents as documents_module


def listed(store: Store, query: DocumentQuery) -> list[DocumentId]:
    return [document.id for document in store.list_documents(query).rows]


def test_a_document_is_read_back_as_it_was_added(store: Store) -> None:
    new = note(
        "First line.\nSecond.", title="Plan", tags=["b", "a"], source_path="/n.md", metadata={"k": [1, {"x": None}]}
    )

    document = add(store, new, index("First line.", "Second."))

    detail = store.read_document(document.id)
    assert (document.title, document.tags, document.source_path) == ("Plan", ("b", "a"), "/n.md")
    assert document.metadata == {"k": [1, {"x": None}]}
    assert document.content_hash == new.content_hash
    assert (document.chunk_count, document.version, document.created_at) == (2, 1, NOW)
    assert detail.document == document
    assert detail.text == "First line.\nSecond."
    assert [(chunk.ordinal, chunk.text) for chunk in detail.chunks] == [(0, "First line."), (1, "Second.")]


def test_a_file_has_no_text_of_its_own(store: Store) -> None:
    document = add(store, file("content"), index("content"))

    assert store.read_document(document.id).text is None


def test_a_document_answers_to_its_number_and_to_its_uuid(store: Store) -> None:
    document = add_note(store, "text")

    assert store.get_document(document.uuid) == document
    assert store.read_document(document.uuid).document == document


@pytest.mark.parametrize("ref", [1, 2**63 - 1, 2**63, 10**19, uuid4()])
def test_what_is_not_there_is_not_found(store: Store, ref: int) -> None:
    with pytest.raises(DocumentNotFound):
        store.get_document(ref)
    with pytest.raises(DocumentNotFound):
        store.delete_document(ref, expected_version=None, now=LATER)


def test_chunks_can_be_read_by_the_page(store: Store) -> None:
    document = add(store, note("n"), index(*"abcde"))

    page = store.read_document(document.id, chunk_limit=2, chunk_offset=1)

    assert [chunk.text for chunk in page.chunks] == ["b", "c"]
    assert page.document.chunk_count == 5


def test_e22_updated_at_is_null_until_the_first_change_and_versions_count_changes(store: Store) -> None:
    document = add_note(store, "text")
    assert (document.updated_at, document.version) == (None, 1)

    changes = [
        store.update_document(document.id, DocumentChange(title="New"), expected_version=None, now=LATER),
        store.update_document(document.id, DocumentChange(metadata={"a": 1}), expected_version=None, now=LATER),
        store.change_tags(document.id, add=["t"], remove=[], expected_version=None, now=LATER),
        store.replace_tags(document.id, ["u"], expected_version=None, now=LATER),
        store.replace_note(document.id, revision("other"), index("other"), expected_version=None, now=LATER).document,
    ]

    assert [changed.version for changed in changes] == [2, 3, 4, 5, 6]
    assert {changed.updated_at for changed in changes} == {LATER}
    assert {changed.created_at for changed in changes} == {NOW}


def test_e22_a_change_that_changes_nothing_is_not_one(store: Store) -> None:
    document = add(store, note("text", title="Same", metadata={"a": 1, "b": 2}, tags=["t"]))

    store.update_document(
        document.id, DocumentChange(title="Same", metadata={"b": 2, "a": 1}), expected_version=None, now=LATER
    )
    store.change_tags(document.id, add=["t"], remove=["absent"], expected_version=None, now=LATER)
    store.replace_tags(document.id, ["t", "t"], expected_version=None, now=LATER)

    assert store.get_document(document.id) == document


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1]])
def test_metadata_that_python_takes_for_equal_is_still_another_value(store: Store, value: object) -> None:
    document = add(store, note("text", metadata={"a": 1}))

    changed = store.update_document(
        document.id, DocumentChange(metadata={"a": value}), expected_version=None, now=LATER
    )

    assert repr(store.get_document(document.id).metadata) == repr({"a": value})
    assert changed.version == 2


def test_a_new_title_is_found_and_the_old_one_no_more(store: Store) -> None:
    document = add(store, note("body", title="zebra"), index("body", "more"))

    store.update_document(document.id, DocumentChange(title="giraffe"), expected_version=None, now=LATER)

    assert found_by_text(store, "zebra") == []
    assert found_by_text(store, "giraffe") == [document.id] * 2
    assert store.get_document(document.id).title_is_given


@pytest.mark.parametrize("expected_version", [-1, 1, 3])
def test_a_stale_version_changes_nothing(store: Store, expected_version: int) -> None:
    first = add_note(store, "text")
    document = store.change_tags(first.id, add=["t"], remove=[], expected_version=1, now=LATER)

    with pytest.raises(VersionConflict):
        store.update_document(document.id, DocumentChange(title="x"), expected_version=expected_version, now=LATER)
    with pytest.raises(VersionConflict):
        store.replace_note(document.id, revision("x"), index("x"), expected_version=expected_version, now=LATER)
    with pytest.raises(VersionConflict):
        store.delete_document(document.id, expected_version=expected_version, now=LATER)

    assert store.get_document(document.id) == document
    assert found_by_text(store, "text") == [document.id]


def test_a_note_is_rewritten_in_place(store: Store) -> None:
    document = add(store, note("walrus", tags=["kept"], metadata={"a": 1}), index("walrus"))

    detail = store.replace_note(
        document.id, revision("otter seal"), index("otter", "seal"), expected_version=1, now=LATER
    )

    assert detail.text == "otter seal"
    assert [chunk.text for chunk in detail.chunks] == ["otter", "seal"]
    assert (detail.document.id, detail.document.uuid) == (document.id, document.uuid)
    assert (detail.document.tags, detail.document.metadata) == (("kept",), {"a": 1})
    assert detail == store.read_document(document.id)
    assert found_by_text(store, "walrus") == []
    assert found_by_text(store, "seal") == [document.id]


def test_a_rewrite_may_replace_the_tags_too(store: Store) -> None:
    document = add_note(store, "text", tags=["old"])

    detail = store.replace_note(document.id, revision("t", tags=("new",)), index("t"), expected_version=None, now=LATER)

    assert detail.document.tags == ("new",)
    assert [tag.name for tag in store.list_tags().rows] == ["new"]


def test_only_a_note_can_be_rewritten(store: Store) -> None:
    document = add(store, file("content"), index("content"))

    with pytest.raises(NotANote):
        store.replace_note(document.id, revision("x"), index("x"), expected_version=None, now=LATER)

    assert store.get_document(document.id) == document


def test_ids_are_never_used_twice(store: Store) -> None:
    first = add_note(store, "first")
    chunk = store.read_document(first.id).chunks[0]
    store.delete_document(first.id, expected_version=None, now=LATER)
    second = add_note(store, "second")
    store.delete_everything(now=NOW)

    third = add_note(store, "third")

    assert first.id < second.id < third.id
    assert chunk.id < store.read_document(third.id).chunks[0].id


def test_deleting_tells_what_went(store: Store) -> None:
    document = add(store, file("content", title="Report"), index("a", "b", "c"))

    deleted = store.delete_document(document.uuid, expected_version=1, now=LATER)

    assert (deleted.id, deleted.title, deleted.chunks_removed) == (document.id, "Report", 3)
    assert deleted.original == document.original
    with pytest.raises(DocumentNotFound):
        store.get_document(document.id)


def test_clearing_takes_everything_and_cancels_what_is_still_to_come(store: Store) -> None:
    add(store, note("four", tags=["t"]), index("a", "b"))
    add(store, file("content"), index("c"))
    waiting = store.add_job(NoteSubmission("to come"), idempotency_key=None, max_queued=100, now=NOW)

    cleared = store.delete_everything(now=LATER)

    assert (cleared.documents_removed, cleared.vectors_removed, cleared.bytes_freed) == (2, 3, 4)
    assert store.list_documents(DocumentQuery()).total == 0
    assert store.list_tags().rows == []
    assert store.read_statistics().chunks == 0
    assert store.get_job(waiting.id).status == "cancelled"
    assert store.claim_job(Lane.INTERACTIVE, now=LATER, lease_until=LATER) is None


def test_originals_are_in_use_while_a_document_or_a_job_refers_to_them(store: Store) -> None:
    document = add(store, file("content"), index("content"))
    twin = add(store, file("content", source_path="/a"), index("content"))
    assert twin.id == document.id
    third = add(store, file("content", source_path="/b"), index("content"))
    original = document.original or ""

    store.delete_document(document.id, expected_version=None, now=LATER)
    assert store.is_original_in_use(original)
    store.delete_document(third.id, expected_version=None, now=LATER)

    assert not store.is_original_in_use(original)


@pytest.fixture
def shelf(store: Store) -> dict[str, Document]:
    """Three documents whose order differs with whatever they are ordered by."""
    b = add(store, note("22", title="b"), now=NOW)
    c = add(store, file("1", title="C", format="md", source_path="/dir/c"), now=NOW + timedelta(minutes=1))
    a = add(store, note("333", title="a", tags=["x", "y"]), now=NOW + timedelta(minutes=2))
    store.change_tags(b.id, add=["x"], remove=[], expected_version=None, now=LATER)
    return {"a": a, "b": b, "c": c}


@pytest.mark.parametrize(
    ("order", "names"),
    [
        (DocumentOrder.RECENT, "bac"),
        (DocumentOrder.DATE_ADDED, "acb"),
        (DocumentOrder.FILENAME, "abc"),
        (DocumentOrder.TITLE, "abc"),
        (DocumentOrder.SIZE, "abc"),
        (DocumentOrder.SOURCE_PATH, "bac"),
    ],
)
def test_e10_documents_are_listed_in_each_order_and_its_reverse(
    store: Store, shelf: dict[str, Document], order: DocumentOrder, names: str
) -> None:
    usual = listed(store, DocumentQuery(order=order))
    ascending = listed(store, DocumentQuery(order=order, direction=Direction.ASCENDING))
    descending = listed(store, DocumentQuery(order=order, direction=Direction.DESCENDING))

    assert usual == [shelf[name].id for name in names]
    assert ascending == descending[::-1]
    assert usual in (ascending, descending)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        (DocumentQuery(tags=("x",)), "ba"),
        (DocumentQuery(tags=("x", "y")), "a"),
        (DocumentQuery(tags=("x", "absent")), ""),
        (DocumentQuery(doc_type="note"), "ba"),
        (DocumentQuery(format="md"), "c"),
        (DocumentQuery(source_path="/dir/c"), "c"),
        (DocumentQuery(words="DIR/"), "c"),
        (DocumentQuery(words="%"), ""),
    ],
)
def test_e10_documents_are_listed_by_what_they_are(
    store: Store, shelf: dict[str, Document], query: DocumentQuery, names: str
) -> None:
    page = store.list_documents(query)

    assert [document.id for document in page.rows] == [shelf[name].id for name in names]
    assert page.total == len(names)


def test_a_list_comes_in_pages_that_miss_and_repeat_nothing(store: Store) -> None:
    documents = [add_note(store, f"note {number}") for number in range(7)]

    pages = [store.list_documents(DocumentQuery(limit=3, offset=offset)) for offset in (0, 3, 6, 9)]

    assert [page.total for page in pages] == [7, 7, 7, 7]
    ids = [document.id for page in pages for document in page.rows]
    assert ids == [document.id for document in reversed(documents)]


def test_statistics_count_what_is_there(store: Store) -> None:
    add(store, note("four"), index("a", "b"))
    add(store, file("content"), index("c"), now=LATER)

    statistics = store.read_statistics()

    assert statistics.documents_by_type == {"note": 1, "txt": 1}
    assert (statistics.chunks, statistics.vectors, statistics.stale_vectors) == (3, 3, 0)
    assert statistics.size_bytes == len("four") + len("content")
    assert statistics.last_changed_at == LATER


def test_a_document_without_chunks_can_be_kept_and_deleted(store: Store) -> None:
    document = add(store, replace(note("x"), title="Empty"), index())

    deleted = store.delete_document(document.id, expected_version=None, now=LATER)

    assert deleted.chunks_removed == 0


def test_a_title_that_somebody_gave_survives_new_content_from_the_same_place(store: Store) -> None:
    """E25, I7"""
    document = add(store, file("old", title="from the file", source_path="/p"))
    store.update_document(document.id, DocumentChange(title="Chosen"), expected_version=None, now=LATER)

    add(store, file("new", title="from the new file", source_path="/p"), now=LATER)

    assert store.get_document(document.id).title == "Chosen"


def test_e32_no_change_gives_a_document_too_much_metadata(store: Store) -> None:
    """E32"""
    half, too_much = {"a": "é" * 20_000}, {"b": "é" * 32_764}
    document = add(store, note("text", source_path="/one", metadata=half))

    with pytest.raises(InvalidRequest, match="65537 bytes"):
        store.update_document(document.id, DocumentChange(metadata=too_much), expected_version=None, now=LATER)
    with pytest.raises(InvalidRequest, match="most is 65536"):
        add(store, note("new", source_path="/one", metadata={"b": "é" * 20_000}))
    with pytest.raises(InvalidRequest, match="most is 65536"):
        add(store, note("another", metadata=too_much))

    assert store.get_document(document.id) == document
    assert store.list_documents(DocumentQuery()).total == 1


def test_e32_too_much_metadata_of_an_older_base_may_stay(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """E32"""
    with monkeypatch.context() as older:
        older.setattr(documents_module, "MAX_METADATA_BYTES", 100_000)
        document = add(store, note("text", source_path="/one", metadata={"a": "x" * 90_000}))

    retitled = store.update_document(document.id, DocumentChange(title="New"), expected_version=None, now=LATER)
    replaced = add(store, note("new", source_path="/one"))

    assert retitled.metadata == replaced.metadata == document.metadata
