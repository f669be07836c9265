"""E18: what a note said before is kept, and can be brought back."""

from uuid import uuid4

import pytest
from tests.handmade_documents import LATER, NOW, add, add_note, commit, file, index, note, revision

from kb.engine.errors import DocumentNotFound, NotANote, NotFound
from kb.engine.model import DocumentChange, NoteRevision, Ref
from kb.engine.ports import Store


def rewrite(store: Store, ref: Ref, text: str, *, title: str = "Untitled") -> None:
    store.replace_note(ref, revision(text, title=title), index(text), expected_version=None, now=LATER)


def revisions(store: Store, ref: Ref) -> list[NoteRevision]:
    return store.list_revisions(ref, limit=100, offset=0).rows


def told(store: Store, ref: Ref) -> list[tuple[int, str, str]]:
    return [(one.version, one.title, one.text) for one in revisions(store, ref)]


def test_e18_a_new_note_has_one_revision_which_is_itself(store: Store) -> None:
    document = add_note(store, "first")

    (only,) = revisions(store, document.id)

    assert (only.version, only.text, only.is_current, only.created_at) == (1, "first", True, NOW)
    assert only.content_hash == document.content_hash


def test_e18_every_text_and_title_is_kept_newest_first(store: Store) -> None:
    document = add_note(store, "first")
    rewrite(store, document.id, "second")
    rewrite(store, document.id, "second", title="Another title")
    store.update_document(document.uuid, DocumentChange(title="Third title"), expected_version=None, now=LATER)

    assert told(store, document.uuid) == [
        (4, "Third title", "second"),
        (3, "Another title", "second"),
        (2, "Untitled", "second"),
        (1, "Untitled", "first"),
    ]
    assert [one.is_current for one in revisions(store, document.id)] == [True, False, False, False]


def test_e18_a_change_that_is_none_of_text_or_title_is_no_revision(store: Store) -> None:
    document = add_note(store, "first")
    store.change_tags(document.id, add=["t"], remove=[], expected_version=None, now=LATER)
    rewrite(store, document.id, "first")
    store.update_document(document.id, DocumentChange(metadata={"k": 1}), expected_version=None, now=LATER)

    assert told(store, document.id) == [(1, "Untitled", "first")]


def test_e18_any_version_names_what_the_note_said_then(store: Store) -> None:
    document = add_note(store, "first")
    store.change_tags(document.id, add=["t"], remove=[], expected_version=None, now=LATER)
    rewrite(store, document.id, "third")

    assert [store.get_revision(document.id, version).text for version in (1, 2, 3)] == ["first", "first", "third"]
    for version in (0, 4):
        with pytest.raises(NotFound):
            store.get_revision(document.id, version)


def test_e18_a_note_replaced_by_its_source_path_keeps_what_it_said(store: Store) -> None:
    """E25"""
    first = commit(store, note("first", source_path="/n.md"))
    commit(store, note("second", source_path="/n.md"), now=LATER)

    assert [text for _, _, text in told(store, first.document_id)] == ["second", "first"]


def test_e18_a_note_that_a_file_takes_the_place_of_and_another_note_after_it_has_its_texts_still(store: Store) -> None:
    first = commit(store, note("first", source_path="/n.md"))
    commit(store, file("a file", source_path="/n.md"), now=LATER)
    with pytest.raises(NotANote):
        store.list_revisions(first.document_id, limit=1, offset=0)
    commit(store, note("second", source_path="/n.md"), now=LATER)

    assert told(store, first.document_id) == [(3, "Untitled", "second"), (1, "Untitled", "first")]


def test_e18_revisions_come_in_pages(store: Store) -> None:
    document = add_note(store, "0")
    for number in range(1, 5):
        rewrite(store, document.id, str(number))

    page = store.list_revisions(document.id, limit=2, offset=1)

    assert ([one.text for one in page.rows], page.total) == (["3", "2"], 5)


def test_e18_only_notes_that_exist_have_revisions(store: Store) -> None:
    document = add(store, file("content"))

    with pytest.raises(NotANote):
        store.list_revisions(document.id, limit=1, offset=0)
    with pytest.raises(NotANote):
        store.get_revision(document.id, 1)
    with pytest.raises(DocumentNotFound):
        store.list_revisions(uuid4(), limit=1, offset=0)
