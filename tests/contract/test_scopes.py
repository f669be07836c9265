"""What a search is limited to: the same for words and for vectors."""

from datetime import date, timedelta

import pytest
from tests.backends import MODEL
from tests.handmade_documents import NOW, add, add_note, file, found_by_text, found_by_vector, index, note

from kb.engine.model import DocumentId, IndexedText, Metadata, Scope
from kb.engine.ports import Store


@pytest.fixture
def varied(store: Store) -> dict[str, DocumentId]:
    """Documents that all say "walrus" and differ in everything else."""
    documents = {
        "a": note("walrus", tags=["x", "y"], metadata={"n": 1, "s": "1", "d.e": True}),
        "b": note("walrus", tags=["x"], metadata={"n": 1.5, "b": False, "z": None}),
        "c": file("walrus", tags=["y"], source_path="/c.txt", metadata={"n": True, "s": 'it\'s "so"'}),
        "d": file("walrus", format="md", source_path="/d.md", metadata={"n": 2, "list": [1]}),
    }
    return {
        name: add(store, new, index("walrus"), now=NOW + timedelta(days=number)).id
        for number, (name, new) in enumerate(documents.items())
    }


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        (Scope(), "abcd"),
        (Scope(tags=("x",)), "ab"),
        (Scope(tags=("x", "y")), "a"),
        (Scope(tags=("x", "absent")), ""),
        (Scope(format="note"), "ab"),
        (Scope(format="md"), "d"),
        (Scope(doc_type="txt"), "c"),
        (Scope(source_path="/c.txt"), "c"),
        (Scope(created_from=date(2026, 3, 2)), "bcd"),
        (Scope(created_to=date(2026, 3, 2)), "ab"),
        (Scope(created_from=date(2026, 3, 2), created_to=date(2026, 3, 3)), "bc"),
        (Scope(created_from=date(2026, 3, 3), created_to=date(2026, 3, 2)), ""),
        (Scope(metadata={"n": 1}), "a"),
        (Scope(metadata={"n": 1.0}), "a"),
        (Scope(metadata={"n": 1.5}), "b"),
        (Scope(metadata={"n": True}), "c"),
        (Scope(metadata={"b": False}), "b"),
        (Scope(metadata={"z": None}), "b"),
        (Scope(metadata={"s": "1"}), "a"),
        (Scope(metadata={"s": 1}), ""),
        (Scope(metadata={"s": 'it\'s "so"'}), "c"),
        (Scope(metadata={"d.e": True}), "a"),
        (Scope(metadata={"absent": None}), ""),
        (Scope(metadata={"n": 1, "s": "1"}), "a"),
        (Scope(metadata={"n": 1, "s": "2"}), ""),
        (Scope(metadata={"n": 2**62}), ""),
        (Scope(tags=("y",), format="txt", created_from=date(2026, 3, 1)), "c"),
    ],
)
def test_s3_a_scope_limits_both_ways_of_finding_alike(
    store: Store, varied: dict[str, DocumentId], scope: Scope, names: str
) -> None:
    expected = [varied[name] for name in names]

    assert found_by_text(store, "walrus", scope=scope) == expected
    assert found_by_vector(store, "walrus", scope=scope) == expected


@pytest.mark.parametrize("key", ["", "'", '"', "a.b", "$", "$.n", "[0]", "\u0000", "n' OR 1=1 --"])
@pytest.mark.parametrize("value", ["", "'", "\u0000", "x"])
def test_any_key_and_value_can_be_asked_of_metadata(store: Store, key: str, value: str) -> None:
    metadata: Metadata = {key: value}
    document = add(store, note("walrus", metadata=metadata), index("walrus"))
    add(store, note("walrus", metadata={"other": "y"}), index("walrus"))

    assert found_by_text(store, "walrus", scope=Scope(metadata=metadata)) == [document.id]
    assert found_by_vector(store, "walrus", scope=Scope(metadata=metadata)) == [document.id]


@pytest.mark.parametrize("value", [2**63 - 1, 2**63, -(2**63) - 1, 10**40, 0.5], ids=str)
def test_any_number_can_be_asked_of_metadata(store: Store, value: float) -> None:
    document = add(store, note("walrus", metadata={"size": value}), index("walrus"))
    add(store, note("walrus", metadata={"size": str(value)}), index("walrus"))

    assert found_by_text(store, "walrus", scope=Scope(metadata={"size": value})) == [document.id]


def test_a_day_is_whole_and_in_utc(store: Store) -> None:
    first = add_note(store, "walrus", now=NOW.replace(hour=0, minute=0))
    last = add_note(store, "walrus", now=NOW.replace(hour=23, minute=59, second=59, microsecond=999_999))
    add_note(store, "walrus", now=NOW.replace(hour=0) + timedelta(days=1))
    day = NOW.date()

    found = found_by_text(store, "walrus", scope=Scope(created_from=day, created_to=day))

    assert found == [first.id, last.id]


@pytest.mark.parametrize(
    ("scope", "names"),
    [
        (Scope(required=("red otter",)), "a"),
        (Scope(required=("otter",)), "ab"),
        (Scope(required=("otter", "seal")), "b"),
        (Scope(required=("RED Otters",)), "a"),
        (Scope(excluded=("otter",)), "c"),
        (Scope(excluded=("red otter",)), "bc"),
        (Scope(excluded=("otter", "seal")), "c"),
        (Scope(required=("otter",), excluded=("seal",)), "a"),
        (Scope(required=("zebra",)), ""),
        (Scope(required=('"',)), "abc"),
        (Scope(excluded=("***",)), "abc"),
    ],
)
def test_s4_required_phrases_and_excluded_words_hold_for_both_ways_of_finding(
    store: Store, scope: Scope, names: str
) -> None:
    texts = {"a": "walrus a red otter", "b": "walrus otter red seal", "c": "walrus only this"}
    ids = {name: add_note(store, text).id for name, text in texts.items()}

    by_text = found_by_text(store, "walrus", scope=scope)
    by_vector = found_by_vector(store, "walrus", scope=scope)

    assert set(by_text) == set(by_vector) == {ids[name] for name in names}


def test_s3_a_rare_tag_still_fills_its_page(store: Store) -> None:
    better = IndexedText([chunk for n in range(300) for chunk in index("walrus walrus").chunks], MODEL)
    add(store, note("many", title="walrus"), better)
    rare = [add(store, note(f"rare {n}", tags=["rare"]), index(f"a walrus {n} among others")) for n in range(12)]
    scope = Scope(tags=("rare",))

    by_text = found_by_text(store, "walrus", scope=scope, limit=10)
    by_vector = found_by_vector(store, "walrus walrus", scope=scope, limit=10)

    assert by_text == [document.id for document in rare[:10]]
    assert len(by_vector) == 10
    assert set(by_vector) <= {document.id for document in rare}
