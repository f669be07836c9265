"""Keyword search as it is in a large base, in a small one that is taken for large."""

import math
import random
from contextlib import closing
from pathlib import Path
from typing import Any, NoReturn

import apsw
import pytest
from tests.backends import ONLY_SQLITE, Backend
from tests.handmade_documents import LATER, add, add_note, found_by_text, index, note

from kb.engine.errors import TooBroad
from kb.engine.model import DocumentChange, IndexedChunk, IndexedText, Passage, Scope
from kb.engine.ports import Embedder, Store
from kb.engine.search.hybrid import CANDIDATES, Grouping, Mode, SearchRequest, search
from kb.engine.storage.postgres import keywords as postgres_keywords
from kb.engine.storage.sqlite import chunk_ranking, keywords, time_limit, word_index, word_plan
from kb.engine.storage.words import spelling

COMMON = ("north", "south", "east", "west")
RARE = ("walrus", "otter", "seal")


@pytest.fixture
def budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few chunks are ranked, as in a base that has many times as many."""
    monkeypatch.setattr(word_plan, "SMALL_BASE", 0)
    for module in (word_plan, chunk_ranking):
        monkeypatch.setattr(module, "RANKED_IN_FULL", 5)
    monkeypatch.setattr(word_plan, "FEWEST_TO_RANK", 10)
    monkeypatch.setattr(word_plan, "SHARE_TO_RANK", 0.0)
    monkeypatch.setattr(postgres_keywords, "COMPARED", 10)


def fill(store: Store, count: int = 60) -> dict[str, set[int]]:
    """Documents with some common words and perhaps a rare one; returns in which ones each word is."""
    chance = random.Random(1)  # noqa: S311 - no secret
    documents_with: dict[str, set[int]] = {word: set() for word in (*COMMON, *RARE)}
    for number in range(count):
        words = [word for word in COMMON if chance.random() < 0.5] + [r for r in RARE if chance.random() < 0.05]
        tags = [f"t{number % 3}", *(["few"] if number % 10 == 0 else [])]
        added = add(store, note(str(number), tags=tags), index(" ".join([*words, "filler", str(number)])))
        for word in words:
            documents_with[word].add(added.id)
    return documents_with


@pytest.mark.usefixtures("budget")
@pytest.mark.parametrize(
    "words",
    [("north",), ("north", "south"), ("walrus", "north"), ("walrus", "otter", "north", "east"), ("nobody", "west")],
)
def test_s3_all_chunks_with_any_of_the_words_are_found_however_common_they_are(
    store: Store, words: tuple[str, ...]
) -> None:
    documents_with = fill(store)

    # What is met for the second or third time is found in other ways.
    for tags in 3 * [(), ("t1",), ("few",)]:
        scope = Scope(tags=tags)
        allowed = set(found_by_text(store, "filler", scope=scope, limit=100))
        found = found_by_text(store, *words, scope=scope, limit=100)
        expected = set.union(*(documents_with.get(word, set()) for word in words)) & allowed
        assert len(found) == len(set(found))
        assert set(found) == expected


@pytest.mark.usefixtures("budget")
def test_what_is_ranked_is_the_same_whether_words_are_met_for_the_first_time_or_known(store: Store) -> None:
    fill(store)

    first, second, third = (
        store.find_by_text(["walrus", "otter", "north", "south"], Scope(), limit=9) for _ in range(3)
    )

    assert first.matches.chunk_ids.tolist() == second.matches.chunk_ids.tolist() == third.matches.chunk_ids.tolist()
    assert first.matches.scores.tolist() == pytest.approx(second.matches.scores.tolist())
    assert first.best_possible == second.best_possible == third.best_possible


@pytest.mark.usefixtures("budget")
def test_a_chunk_that_has_a_common_word_as_well_ranks_higher(store: Store) -> None:
    fill(store)
    plain = add_note(store, "beaver and some more")
    both = add_note(store, "beaver and some north")

    for _ in range(3):
        assert found_by_text(store, "beaver", "north", limit=2) == [both.id, plain.id]


@pytest.mark.usefixtures("budget")
def test_of_a_common_word_titles_and_then_the_newest_are_found(store: Store) -> None:
    titled = add(store, note("n", title="north"), index("some text"))
    others = [add_note(store, f"north of here {number}") for number in range(60)]

    found = found_by_text(store, "north", limit=5)

    assert found[0] == titled.id
    assert set(found[1:]) <= {document.id for document in others[-20:]}


@pytest.mark.usefixtures("budget")
@pytest.mark.parametrize(
    ("scope", "names"),
    [
        (Scope(required=("north",)), "ab"),
        (Scope(required=("red north",)), "a"),
        (Scope(excluded=("north",)), "c"),
        (Scope(required=("south",), excluded=("north",)), "c"),
        (Scope(required=("nobody",)), ""),
    ],
)
def test_s4_phrases_hold_for_common_words_too(store: Store, scope: Scope, names: str) -> None:
    texts = {"a": "walrus red north south", "b": "walrus north red east", "c": "walrus south of all"}
    ids = {name: add_note(store, text).id for name, text in texts.items()}
    for number in range(40):
        add_note(store, f"filler {number}")
        add_note(store, f"north south filler {number}")

    for _ in range(3):
        found = found_by_text(store, "walrus", "south", scope=scope, limit=200)
        assert set(found) & set(ids.values()) == {ids[name] for name in names}


@pytest.mark.usefixtures("budget")
def test_s5_new_deleted_and_renamed_documents_are_told_apart_at_once(store: Store, other_store: Store) -> None:
    documents = [add_note(store, f"north {number}") for number in range(60)]
    assert len(found_by_text(store, "north", limit=100)) == 60

    other_store.delete_document(documents[3].id, expected_version=None, now=LATER)
    new = add_note(other_store, "north again")
    renamed = add(other_store, note("n", title="Other"), index("nothing"))
    expected = {document.id for document in documents} - {documents[3].id} | {new.id}
    assert set(found_by_text(store, "north", limit=100)) == expected

    for title in ("North", "Other"):
        change = DocumentChange(title=title)
        other_store.update_document(renamed.id, change, expected_version=None, now=LATER)
        found = set(found_by_text(store, "north", limit=100))
        assert (renamed.id in found) == (title == "North")


def test_s5_a_word_that_was_nowhere_is_found_as_soon_as_it_is_somewhere(
    store: Store, other_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(word_index, "STALE_SHARE", 1.0)
    fill(store)
    assert found_by_text(store, "beaver") == found_by_text(store, "lodge", scope=Scope(required=("lodge",))) == []

    added = add_note(other_store, "beaver lodge")

    assert found_by_text(store, "beaver") == [added.id]
    assert found_by_text(store, "lodge", scope=Scope(required=("beaver lodge",))) == [added.id]


@pytest.mark.usefixtures("budget")
@ONLY_SQLITE
def test_what_is_remembered_of_words_is_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_index, "MOST_BYTES", 1)
    monkeypatch.setattr(word_index, "MOST_COUNTS", 2)
    documents_with = fill(store)

    for _ in range(3):
        found = found_by_text(store, *COMMON, limit=100)

    assert set(found) == set.union(*(documents_with[word] for word in COMMON))


@pytest.fixture
def no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time_limit, "STEPS_BETWEEN_LOOKS", 1)
    for module in (keywords, spelling):
        monkeypatch.setattr(module, "LONGEST_SEARCH_SECONDS", 0.0)


@ONLY_SQLITE
def test_a_search_that_takes_too_long_is_given_up_and_the_next_one_is_not_disturbed(
    store: Store, monkeypatch: pytest.MonkeyPatch, no_time: None
) -> None:
    fill(store)

    for _ in range(20):
        with pytest.raises(TooBroad):
            store.find_by_text(["north"], Scope(), limit=10)
        assert store.suggest_words(["nroth"]) == {}
    monkeypatch.undo()

    assert len(found_by_text(store, "north", limit=10)) == 10
    assert store.suggest_words(["nroth"]) == {"nroth": "north"}
    added = add_note(store, "north pole")
    assert added.id in found_by_text(store, "pole")


@ONLY_SQLITE
def test_when_there_is_no_time_for_all_words_the_rarest_are_looked_for(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents_with = fill(store)
    words = ["north", "walrus", "otter", "south"]
    looks = 0
    last_in_time = math.inf

    def tell_time() -> float:
        nonlocal looks
        looks += 1
        return 0.0 if looks <= last_in_time else 1.0

    monkeypatch.setattr(time_limit, "STEPS_BETWEEN_LOOKS", 1)
    monkeypatch.setattr(time_limit, "thread_time", tell_time)
    everything = set(found_by_text(store, *words, limit=100))
    looks_when_known = -looks
    found_by_text(store, *words, limit=100)
    last_in_time, looks = looks_when_known + looks - 1, 0

    found = set(found_by_text(store, *words, limit=100))

    assert everything == set.union(*(documents_with[word] for word in words))
    assert found == documents_with["walrus"] | documents_with["otter"]


@ONLY_SQLITE
def test_hybrid_search_goes_on_by_meaning_when_words_take_too_long(
    backend: Backend, embedder: Embedder, no_time: None
) -> None:
    text = "the tide comes in"
    with closing(backend.open(embedder.model.fingerprint)) as store:
        indexed = [IndexedChunk(Passage(text), embedder.embed_passages([text])[0])]
        tide = add(store, note("n"), IndexedText(indexed, embedder.model.fingerprint))

        outcome = search(store, embedder, SearchRequest("tide"))

        assert outcome.is_degraded
        assert [hit.document.id for hit in outcome.hits] == [tide.id]
        with pytest.raises(TooBroad):
            search(store, embedder, SearchRequest("tide", mode=Mode.KEYWORD))


@pytest.mark.parametrize("tag", ["t0", "t2", "few"])
def test_s3_a_scope_leaves_out_and_changes_nothing_else(store: Store, tag: str) -> None:
    fill(store)
    scope = Scope(tags=(tag,))
    allowed = set(found_by_text(store, "filler", scope=scope, limit=100))

    for words in [("north",), ("walrus", "north"), ("south", "east", "otter", "seal")]:
        everywhere = found_by_text(store, *words, limit=100)
        within = found_by_text(store, *words, scope=scope, limit=100)
        assert within == [found for found in everywhere if found in allowed]


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is kept although much of so small a base changes."""
    monkeypatch.setattr(word_index, "STALE_SHARE", 0.5)


@pytest.mark.usefixtures("budget", "patient")
@pytest.mark.parametrize("more", range(1, 10))
@ONLY_SQLITE
def test_s5_what_is_remembered_of_a_word_grows_with_the_base(store: Store, more: int) -> None:
    documents_with = fill(store)
    for _ in range(2):
        found_by_text(store, "north", "south", limit=100)

    added = {add_note(store, f"north {number}").id for number in range(more)}

    assert set(found_by_text(store, "north", "south", limit=100)) == {
        *documents_with["north"],
        *documents_with["south"],
        *added,
    }


@pytest.mark.usefixtures("budget", "patient")
def test_s3_a_common_word_is_found_after_the_newest_chunks_with_it_were_deleted(store: Store) -> None:
    for number in range(200):
        add_note(store, f"north {number}")
    long = add(store, note("long"), index(*(f"north long {number}" for number in range(60))))
    for _ in range(2):
        assert len(found_by_text(store, "north", limit=20)) == 20

    store.delete_document(long.id, expected_version=None, now=LATER)
    add_note(store, "something else")

    assert len(found_by_text(store, "north", limit=20)) == 20


@pytest.mark.usefixtures("budget", "patient")
def test_s5_no_deleted_chunk_is_found_however_the_newest_ones_went(store: Store) -> None:
    notes = [add_note(store, f"north {number}") for number in range(60)]
    store.delete_document(notes[57].id, expected_version=None, now=LATER)
    found_by_text(store, "north", limit=10)

    for number in (59, 55, 58):
        store.delete_document(notes[number].id, expected_version=None, now=LATER)

    left = {note.id for number, note in enumerate(notes) if number not in (55, 57, 58, 59)}
    assert set(found_by_text(store, "north", limit=60)) == left


@pytest.mark.usefixtures("budget")
def test_a_word_whose_chunks_were_all_deleted_is_no_longer_known(store: Store) -> None:
    for number in range(100):
        add_note(store, f"north {number}")
    others = [add_note(store, f"southern {number}") for number in range(100)]
    assert store.suggest_words(["southern"]) == {}
    for other in others:
        store.delete_document(other.id, expected_version=None, now=LATER)
    add_note(store, "southerm")

    assert store.suggest_words(["southern"]) == {"southern": "southerm"}


@ONLY_SQLITE
def test_ids_of_chunks_long_gone_cost_nothing(store: Store, folder: Path) -> None:
    first = add_note(store, "first north")
    with closing(apsw.Connection(str(folder / "kb.sqlite"))) as connection:
        connection.execute("UPDATE sqlite_sequence SET seq = 1000000000000 WHERE name = 'chunks'")

    second = add_note(store, "second north", tags=["late"])

    assert found_by_text(store, "north") == [first.id, second.id]
    assert found_by_text(store, "north", scope=Scope(tags=("late",))) == [second.id]


def test_what_the_words_found_is_kept_when_looking_for_what_is_near_takes_too_long(
    store: Store, monkeypatch: pytest.MonkeyPatch, embedder: Embedder
) -> None:
    document = add_note(store, "a walrus and an otter")

    def give_up(*_: object, **__: object) -> NoReturn:
        raise TooBroad("Too many.")

    monkeypatch.setattr(store, "find_by_vector", give_up)
    monkeypatch.setattr(store, "has_whole_vectors", lambda: True)
    outcome = search(store, embedder, SearchRequest('otter "walrus"'))

    assert [hit.document.id for hit in outcome.hits] == [document.id]
    assert outcome.is_degraded
    with pytest.raises(TooBroad):
        search(store, embedder, SearchRequest('otter "walrus"', mode=Mode.VECTOR))


@ONLY_SQLITE
def test_what_shorter_lists_found_is_kept_when_longer_ones_take_too_long(
    store: Store, monkeypatch: pytest.MonkeyPatch, embedder: Embedder
) -> None:
    add(store, note("long"), index(*(f"north north {number}" for number in range(250))))
    add_note(store, "north with a good deal of other text around it")
    rank_chunks = chunk_ranking.rank_chunks

    def give_up_on_long_lists(*given: Any, limit: int) -> Any:
        if limit > CANDIDATES:
            raise TooBroad("Too many.")
        return rank_chunks(*given, limit=limit)

    monkeypatch.setattr(keywords, "rank_chunks", give_up_on_long_lists)
    request = SearchRequest("north", mode=Mode.KEYWORD, group_by=Grouping.DOCUMENT)

    assert len(search(store, embedder, request).hits) == 1
