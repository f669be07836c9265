import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from tests.bundles import portable_note
from tests.handmade_documents import LATER, NOW, add, add_note, commit, file, index, note, revision

from kb.engine.errors import DocumentNotFound, InvalidRequest, VersionConflict
from kb.engine.model import Document, TagCount
from kb.engine.model.limits import MAX_TAGS
from kb.engine.ports import Store
from kb.engine.storage.tables import tags as tags_module

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
    assert {tag.name for tag in store.list_tags().rows} == set(STRANGE_TAGS)


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

    before = store.list_tags().rows
    store.change_tags(first.id, add=[], remove=["a"], expected_version=None, now=LATER)
    store.delete_document(second.id, expected_version=None, now=LATER)
    store.replace_tags(third.id, [], expected_version=None, now=LATER)

    assert before == [TagCount("a", 1), TagCount("b", 2), TagCount("C", 1)]
    assert store.list_tags().rows == [TagCount("b", 1)]


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

    assert store.list_tags().rows == []


def names(count: int, *, prefix: str = "t") -> tuple[str, ...]:
    return tuple(f"{prefix}{number}" for number in range(count))


def add_by_change(store: Store, document: Document, tags: Sequence[str]) -> None:
    store.change_tags(document.id, add=tags, remove=[], expected_version=None, now=LATER)


def replace_by_change(store: Store, document: Document, tags: Sequence[str]) -> None:
    store.replace_tags(document.id, [*document.tags, *tags], expected_version=None, now=LATER)


def rewrite(store: Store, document: Document, tags: Sequence[str]) -> None:
    content = revision("new", tags=(*document.tags, *tags))
    store.replace_note(document.id, content, index("new"), expected_version=None, now=LATER)


def add_by_job(store: Store, document: Document, tags: Sequence[str]) -> None:
    commit(store, note("new", source_path="/one", tags=tags))


def add_by_same_job(store: Store, document: Document, tags: Sequence[str]) -> None:
    commit(store, note("text", source_path="/one", tags=tags))


def add_by_new_job(store: Store, document: Document, tags: Sequence[str]) -> None:
    commit(store, file("another", tags=[*document.tags, *tags]))


def add_by_import(store: Store, document: Document, tags: Sequence[str]) -> None:
    store.add_portable(portable_note(uuid=document.uuid, version=9, tags=(*document.tags, *tags)), now=LATER)


@pytest.mark.parametrize(
    "give",
    [add_by_change, replace_by_change, rewrite, add_by_job, add_by_same_job, add_by_new_job, add_by_import],
)
def test_e32_no_change_gives_a_document_too_many_tags(
    store: Store, give: Callable[[Store, Document, Sequence[str]], None]
) -> None:
    """E32"""
    document = add(store, note("text", source_path="/one", tags=names(MAX_TAGS)))

    with pytest.raises(InvalidRequest, match=r"1001 tags, .* most is 1000"):
        give(store, document, ["one more"])

    assert store.get_document(document.id) == document
    assert len(store.list_tags().rows) == MAX_TAGS


def test_e32_tags_that_are_there_need_no_more_room(store: Store) -> None:
    """E32"""
    document = add(store, note("text", source_path="/one", tags=names(MAX_TAGS)))

    commit(store, note("new", source_path="/one", tags=names(5)))

    assert store.get_document(document.id).tags == document.tags


def test_e32_too_many_tags_of_an_older_base_can_be_removed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """E32"""
    with monkeypatch.context() as older:
        older.setattr(tags_module, "MAX_TAGS", MAX_TAGS + 10)
        document = add_note(store, "text", tags=names(MAX_TAGS + 10))

    fewer = store.change_tags(document.id, add=["new"], remove=["t0", "t1"], expected_version=None, now=LATER)
    with pytest.raises(InvalidRequest, match="1010 tags"):
        store.change_tags(document.id, add=["newer"], remove=[], expected_version=None, now=LATER)

    assert fewer.tags == (*document.tags[2:], "new")


@pytest.mark.parametrize(("each", "kept"), [(400, 800), (600, 600)])
def test_e32_tags_added_at_once_are_all_there_or_refused(
    store: Store, other_store: Store, each: int, kept: int
) -> None:
    """E32"""
    document = add_note(store, "text")

    def add_some(one: Store, prefix: str) -> None:
        with suppress(InvalidRequest):
            add_by_change(one, document, names(each, prefix=prefix))

    with ThreadPoolExecutor() as threads:
        list(threads.map(add_some, (store, other_store), "ab"))

    tags = store.get_document(document.id).tags
    assert len(tags) == len(set(tags)) == kept
    # The tags of one call stay together, in their order.
    assert {tags[:each], tags[-each:]} <= {names(each, prefix="a"), names(each, prefix="b")}


def test_e32_adding_tags_takes_linear_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """E32"""
    few, many = 500, 8_000
    monkeypatch.setattr(tags_module, "MAX_TAGS", many)

    def seconds_to_add(count: int) -> float:
        document = add_note(store, f"{count}")
        began = time.monotonic()
        add_by_change(store, document, names(count))
        store.delete_document(document.id, expected_version=None, now=LATER)
        return time.monotonic() - began

    ratio = min(seconds_to_add(many) for _ in range(2)) / min(seconds_to_add(few) for _ in range(2))

    # In SQLite the factor was above 100 when all tags were counted again for each new one.
    assert ratio < 4 * many / few
