"""E25: when two submissions are one document."""

from dataclasses import replace

import pytest
from tests.handmade_documents import (
    LATER,
    LEASE,
    NOW,
    add,
    claim_new_job,
    commit,
    file,
    found_by_text,
    index,
    note,
)

from kb.engine.model import OCR_FORCED, DocumentChange, DocumentQuery, Lane, NewDocument
from kb.engine.ports import ClaimLost, Store


def count(store: Store) -> int:
    return store.list_documents(DocumentQuery()).total


def test_e25_the_same_bytes_without_a_path_are_the_same_document(store: Store) -> None:
    first = commit(store, file("content", tags=["a", "b"]))

    second = commit(store, file("content", tags=["c", "a"]), now=LATER)

    assert (first.is_duplicate, second.is_duplicate) == (False, True)
    assert second.document_id == first.document_id
    document = store.get_document(first.document_id)
    assert (document.tags, document.updated_at, document.version) == (("a", "b", "c"), LATER, 2)
    assert count(store) == 1


def test_e25_the_same_bytes_under_the_same_path_are_the_same_document(store: Store) -> None:
    first = commit(store, file("content", source_path="/a.txt"))

    second = commit(store, file("content", source_path="/a.txt"), now=LATER)

    assert second.is_duplicate
    assert second.document_id == first.document_id


def test_e25_a_duplicate_that_brings_nothing_new_is_no_change(store: Store) -> None:
    document = add(store, file("content", tags=["a"], source_path="/a.txt"))

    commit(store, file("content", tags=["a"], source_path="/a.txt"), now=LATER)
    commit(store, file("content"), now=LATER)

    assert store.get_document(document.id) == document


def test_e25_a_document_without_a_path_takes_the_first_that_comes(store: Store) -> None:
    document = add(store, file("content"))

    second = commit(store, file("content", source_path="/a.txt"), now=LATER)

    changed = store.get_document(document.id)
    assert second.is_duplicate
    assert (changed.source_path, changed.updated_at) == ("/a.txt", LATER)


def test_e25_the_same_bytes_without_a_path_belong_to_whichever_has_them(store: Store) -> None:
    document = add(store, file("content", source_path="/a.txt"))

    second = commit(store, file("content"))

    assert second.is_duplicate
    assert second.document_id == document.id


def test_e25_the_same_bytes_under_another_path_are_another_document(store: Store) -> None:
    first = add(store, file("content", source_path="/a.txt"))

    second = commit(store, file("content", source_path="/b.txt"))

    assert not second.is_duplicate
    assert second.document_id != first.id
    assert store.get_document(second.document_id).original == first.original


def test_e25_new_content_under_the_same_path_replaces_the_document_in_place(store: Store) -> None:
    old = add(store, file("walrus", tags=["a"], source_path="/a.txt", metadata={"k": 1, "l": 1}), index("walrus"))

    committed = commit(
        store,
        file("otter", tags=["b"], source_path="/a.txt", metadata={"l": 2}, format="md"),
        index("otter", "seal"),
        now=LATER,
    )

    new = store.get_document(old.id)
    assert (committed.document_id, committed.is_duplicate) == (old.id, False)
    assert committed.released_original == old.original
    assert (new.uuid, new.created_at, new.updated_at, new.version) == (old.uuid, NOW, LATER, 2)
    assert (new.tags, new.metadata, new.format) == (("a", "b"), {"k": 1, "l": 2}, "md")
    assert (new.content_hash, new.chunk_count) == (file("otter").content_hash, 2)
    assert found_by_text(store, "walrus") == []
    assert found_by_text(store, "otter") == [old.id]
    assert count(store) == 1


@pytest.mark.parametrize("path", ["/a.pdf", None])
def test_i3_a_file_that_is_there_is_read_again_when_all_its_pages_are_to_be_recognised(
    store: Store, path: str | None
) -> None:
    mixed = replace(file("content", source_path="/a.pdf", tags=["a"]), processing_method="ocr")
    old = add(store, mixed, index("rubbish"))
    forced = file("content", source_path=path, metadata={OCR_FORCED: True})

    claim = claim_new_job(store)
    before = store.commit_duplicate(claim, forced, now=LATER)
    read_again = store.commit_document(claim, forced, index("walrus"), now=LATER)
    once_more = commit(store, forced, index("walrus"), now=LATER)

    assert before is None
    assert (read_again.document_id, read_again.is_duplicate, once_more.is_duplicate) == (old.id, False, True)
    new = store.get_document(old.id)
    assert (new.metadata[OCR_FORCED], new.source_path, new.tags) == (True, "/a.pdf", ("a",))
    assert (found_by_text(store, "rubbish"), found_by_text(store, "walrus")) == ([], [old.id])
    assert store.is_original_in_use(str(new.original))


def test_what_is_told_of_the_last_reading_is_forgotten_with_it(store: Store) -> None:
    kept = {"author": "Ann", "ocr_engine": "other", "unread_by": "Ben"}
    told = {"ocr_pages": ["1-3"], "ocr_confidence": 0.9, "unread_pages": [2], OCR_FORCED: True, **kept}
    old = add(store, file("scan", source_path="/a.pdf", metadata=told))

    commit(store, file("text", source_path="/a.pdf", metadata={"unread_pages": [7]}), now=LATER)

    assert store.get_document(old.id).metadata == {**kept, "unread_pages": [7]}


def test_how_a_document_is_to_be_read_outlives_new_metadata(store: Store) -> None:
    document = add(store, file("scan", metadata={OCR_FORCED: True, "a": 1}))

    changed = store.update_document(document.id, DocumentChange(metadata={"b": 2}), expected_version=None, now=LATER)
    undone = store.update_document(
        document.id, DocumentChange(metadata={OCR_FORCED: False}), expected_version=None, now=LATER
    )

    assert (changed.metadata, undone.metadata) == ({OCR_FORCED: True, "b": 2}, {OCR_FORCED: False})


def test_e25_notes_are_never_merged(store: Store) -> None:
    first = commit(store, note("the same words"))

    second = commit(store, note("the same words"))
    third = commit(store, note("the same words", source_path="/n.md"))

    assert len({first.document_id, second.document_id, third.document_id}) == 3
    assert not second.is_duplicate
    assert store.get_document(first.document_id).source_path is None


def test_e25_a_note_is_not_merged_with_a_file_of_the_same_bytes(store: Store) -> None:
    first = commit(store, note("the same words"))

    second = commit(store, file("the same words"))
    third = commit(store, note("the same words"))

    assert len({first.document_id, second.document_id, third.document_id}) == 3


def test_e25_notes_are_the_same_by_their_path(store: Store) -> None:
    first = commit(store, note("walrus", source_path="/n.md"), index("walrus"))

    repeated = commit(store, note("walrus", source_path="/n.md", tags=["t"]))
    replaced = commit(store, note("otter", source_path="/n.md"), index("otter"), now=LATER)

    assert {repeated.document_id, replaced.document_id} == {first.document_id}
    assert (repeated.is_duplicate, replaced.is_duplicate) == (True, False)
    assert store.read_document(first.document_id).text == "otter"
    assert store.get_document(first.document_id).tags == ("t",)


def test_e25_a_file_may_take_the_place_of_a_note_at_the_same_path(store: Store) -> None:
    first = commit(store, note("walrus", source_path="/n.md"), index("walrus"))

    second = commit(store, file("otter", source_path="/n.md"), index("otter"), now=LATER)

    detail = store.read_document(first.document_id)
    assert second.document_id == first.document_id
    assert (detail.document.doc_type, detail.text) == ("txt", None)
    assert detail.document.original is not None


@pytest.mark.parametrize(
    ("submitted", "is_duplicate"),
    [
        (file("content"), True),
        (file("content", source_path="/a.txt"), True),
        (file("content", source_path="/b.txt"), False),
        (note("content"), False),
        (note("content", source_path="/a.txt"), True),
    ],
)
def test_a_duplicate_is_recognised_before_it_is_read(
    store: Store, submitted: NewDocument, *, is_duplicate: bool
) -> None:
    add(store, file("content", source_path="/a.txt"))

    committed = store.commit_duplicate(claim_new_job(store), submitted, now=NOW)

    assert (committed is not None) == is_duplicate


def test_committing_a_duplicate_needs_no_text(store: Store) -> None:
    document = add(store, file("content"))
    claim = claim_new_job(store)

    committed = store.commit_duplicate(claim, file("content", tags=["t"]), now=LATER)

    assert committed is not None
    assert (committed.document_id, committed.is_duplicate) == (document.id, True)
    assert store.get_document(document.id).tags == ("t",)
    job = store.get_job(claim.job_id)
    assert (job.status, job.is_duplicate, job.chunks_created) == ("completed", True, 0)


def test_a_duplicate_whose_twin_is_gone_is_left_to_be_done_in_full(store: Store) -> None:
    document = add(store, file("content"))
    claim = claim_new_job(store)
    store.delete_document(document.id, expected_version=None, now=LATER)

    committed = store.commit_duplicate(claim, file("content"), now=LATER)

    assert committed is None
    assert store.get_job(claim.job_id).status == "running"


def test_e24_a_late_worker_may_not_complete_its_job_with_a_duplicate(store: Store) -> None:
    commit(store, file("content"))
    late = claim_new_job(store)
    store.claim_job(Lane.INTERACTIVE, now=NOW + 2 * LEASE, lease_until=LATER)

    with pytest.raises(ClaimLost):
        store.commit_duplicate(late, file("content", tags=["late"]), now=LATER)

    assert store.list_tags().rows == []
