import pytest
from tests.handmade_documents import LATER, NOW, add_note

from kb.engine.errors import DocumentNotFound, VersionConflict
from kb.engine.model import TagCount
from kb.engine.ports import Store

STRANGE_TAGS = ("collection:memory", "a/b/c", "two words", "日本語", "%_'\"", "É", "x" * 200, "🦫")


def test_e16_tags_stand_in_the_order_of_adding_and_only_once(store: Store) -> None:
    document = add_note(store, "text", tags=["z", "a", "z"])

    changed = store.change_tags(document.id, add=["m", "a", "m"], remove=[], expected_version=None, now=LATER)

    assert document.tags == ("z", "a")
    assert changed.tags == ("z", "a", "m")


def test_e16_tags_may_hold_anything(store: Store) -> None:
    document = add_note(store, "text")

    changed = store.change_tags(document.id, add=STRANGE_TAGS, remove=[], expected_version=None, now=LATER)

    assert changed.tags == STRANGE_TAGS
    assert {tag.name for tag in store.list_tags()} == set(STRANGE_TAGS)


def test_tags_that_differ_in_case_or_accent_are_two(store: Store) -> None:
    document = add_note(store, "text", tags=["Etude", "etude", "étude"])

    assert document.tags == ("Etude", "etude", "étude")


def test_adding_and_removing_is_one_change(store: Store) -> None:
    document = add_note(store, "text", tags=["a", "b"])

    changed = store.change_tags(document.id, add=["c"], remove=["a", "absent"], expected_version=1, now=LATER)

    assert (changed.tags, changed.version, changed.updated_at) == (("b", "c"), 2, LATER)


def test_a_tag_that_is_removed_and_added_at_once_goes_to_the_end(store: Store) -> None:
    document = add_note(store, "text", tags=["a", "b"])

    changed = store.change_tags(document.id, add=["a"], remove=["a"], expected_version=None, now=LATER)

    assert changed.tags == ("b", "a")


def test_replacing_leaves_just_the_new_tags_in_their_order(store: Store) -> None:
    document = add_note(store, "text", tags=["a", "b"])

    changed = store.replace_tags(document.id, ["c", "b", "c"], expected_version=None, now=LATER)

    assert changed.tags == ("c", "b")


def test_e19_tags_are_counted_and_an_unused_one_is_gone(store: Store) -> None:
    first = add_note(store, "one", tags=["a", "b"])
    second = add_note(store, "two", tags=["b"])
    third = add_note(store, "three", tags=["C"])

    before = store.list_tags()
    store.change_tags(first.id, add=[], remove=["a"], expected_version=None, now=LATER)
    store.delete_document(second.id, expected_version=None, now=LATER)
    store.replace_tags(third.id, [], expected_version=None, now=LATER)

    assert before == [TagCount("a", 1), TagCount("b", 2), TagCount("C", 1)]
    assert store.list_tags() == [TagCount("b", 1)]


def test_a_stale_version_leaves_the_tags_alone(store: Store) -> None:
    document = add_note(store, "text", tags=["a"])

    with pytest.raises(VersionConflict):
        store.change_tags(document.id, add=["b"], remove=["a"], expected_version=7, now=LATER)
    with pytest.raises(VersionConflict):
        store.replace_tags(document.id, [], expected_version=7, now=LATER)

    assert store.get_document(document.id) == document


def test_the_tags_of_a_missing_document_cannot_be_changed(store: Store) -> None:
    with pytest.raises(DocumentNotFound):
        store.change_tags(1, add=["a"], remove=[], expected_version=None, now=NOW)

    assert store.list_tags() == []
