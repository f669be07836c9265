"""Documents whose files lie elsewhere now, and documents of a folder."""

from dataclasses import replace

import pytest
from tests.handmade_documents import LATER, add, file, found_by_text, index, note

from kb.engine.errors import Conflict
from kb.engine.model import Document, DocumentChange, DocumentQuery
from kb.engine.ports import Store


def move(store: Store, document: Document, source_path: str) -> Document:
    change = DocumentChange(source_path=source_path)
    return store.update_document(document.id, change, expected_version=None, now=LATER)


def test_e12_a_moved_document_keeps_all_but_its_path_and_name(store: Store) -> None:
    document = add(store, file("words", title="plan", tags=["t"], source_path="/old/plan.txt"), index("words"))

    moved = move(store, document, "/new/idea.txt")

    assert moved == replace(
        document, source_path="/new/idea.txt", filename="idea.txt", version=2, updated_at=moved.updated_at
    )
    assert store.get_document(document.id) == moved
    assert found_by_text(store, "words") == [document.id]


def test_a_title_that_was_the_name_of_the_file_follows_and_is_found(store: Store) -> None:
    new = replace(file("words", source_path="/a/zebra.txt"), title="zebra.txt", filename="zebra.txt")
    document = add(store, new, index("words"))

    moved = move(store, document, "C:\\b\\giraffe.txt")

    assert (moved.title, moved.filename, moved.title_is_given) == ("giraffe.txt", "giraffe.txt", False)
    assert (found_by_text(store, "zebra"), found_by_text(store, "giraffe")) == ([], [document.id])


def test_a_name_that_did_not_come_from_the_path_stays(store: Store) -> None:
    clipped = replace(file("words", source_path="https://example.com/page?id=7"), filename="clip.html")
    written = note("text", title="Plan", source_path="/notes/1")

    moved = [move(store, add(store, clipped), "/clips/1"), move(store, add(store, written), "/notes/2")]

    assert [document.filename for document in moved] == ["clip.html", "Plan.md"]


def test_a_path_names_one_document_so_another_cannot_move_there(store: Store) -> None:
    taken = add(store, file("first", source_path="/a"))
    document = add(store, file("second", source_path="/b"))

    with pytest.raises(Conflict, match=f"Document {taken.id} already has that source path"):
        move(store, document, "/a")

    assert store.get_document(document.id) == document


def test_e22_a_move_to_where_it_lies_is_no_change(store: Store) -> None:
    document = add(store, file("words", source_path="/a"))

    assert move(store, document, "/a") == document


def test_e25_a_file_at_the_new_path_replaces_the_moved_document(store: Store) -> None:
    document = add(store, file("old words", source_path="/a"), index("old words"))
    move(store, document, "/b")

    again = add(store, file("new words", source_path="/b"), index("new words"), now=LATER)

    assert again.id == document.id


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("/home/me/notes", {"/home/me/notes/a.md", "/home/me/notes/deep/b.md", "/home/me/notes/ü.md"}),
        ("/home/me/notes/", {"/home/me/notes/a.md", "/home/me/notes/deep/b.md", "/home/me/notes/ü.md"}),
        ("/home/me/notes/deep", {"/home/me/notes/deep/b.md"}),
        ("/home/me/note", set()),
        ("/home/me/notes/a.md", set()),
        ("/home/me/%", set()),
        ("C:\\notes", {"C:\\notes\\c.md"}),
        ("C:\\", {"C:\\notes\\c.md", "C:\\notesc.md"}),
    ],
)
def test_e10_the_documents_of_a_folder_are_those_below_it(store: Store, place: str, expected: set[str]) -> None:
    paths = [
        *("/home/me/notes/a.md", "/home/me/notes/deep/b.md", "/home/me/notes/ü.md", "/home/me/notes"),
        *("/home/me/notes.md", "/home/me/notes0", "C:\\notes\\c.md", "C:\\notesc.md", None),
    ]
    for number, path in enumerate(paths):
        add(store, file(f"content {number}", source_path=path))

    page = store.list_documents(DocumentQuery(source_folder=place))

    assert {document.source_path for document in page.rows} == expected
    assert page.total == len(expected)


def test_the_root_is_a_folder_too(store: Store) -> None:
    add(store, file("content", source_path="/a"))

    assert store.list_documents(DocumentQuery(source_folder="/")).total == 1
