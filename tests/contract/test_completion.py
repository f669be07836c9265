"""W1: whoever searches while typing finds what the last word may become."""

import pytest
from tests.handmade_documents import add_note

from kb.engine.model import DocumentId, Scope
from kb.engine.ports import Store


def find(store: Store, *words: str, scope: Scope | None = None, any_endings: bool = False) -> list[DocumentId]:
    """The documents of the matches, best first; the last word is still being typed."""
    found = store.find_by_text(
        words, scope or Scope(), limit=100, any_endings=any_endings, beginning=words[-1]
    ).matches.document_ids
    documents: list[DocumentId] = found.tolist()
    return documents


@pytest.mark.parametrize("typed", ["ku", "kuber", "kubernete", "kubernetes", "KUBER", "küber"])
def test_w1_each_beginning_finds_the_word(store: Store, typed: str) -> None:
    document = add_note(store, "Kubernetes in the cellar")
    add_note(store, "A walrus in the cellar")

    assert find(store, typed) == [document.id]


@pytest.mark.parametrize(
    "typed", ["uni", "univers", "universi", "universit", "university", "generaliz", "generalizati"]
)
def test_w1_a_word_whose_ending_the_index_has_cut_off_is_found_at_every_letter(store: Store, typed: str) -> None:
    document = add_note(store, "The university makes generalizations")
    add_note(store, "A walrus")

    assert find(store, typed) == [document.id]


def test_w1_the_word_itself_ranks_above_what_it_may_become(store: Store) -> None:
    longer = add_note(store, "helmets and more")
    exact = add_note(store, "helm and no more")

    assert find(store, "helm") == [exact.id, longer.id]


def test_w1_only_the_last_word_is_completed(store: Store) -> None:
    add_note(store, "Kubernetes")
    document = add_note(store, "walruses and otters")

    assert find(store, "kuber", "ott") == [document.id]


def test_w1_a_whole_word_does_not_find_others_that_share_its_stem_s_beginning(store: Store) -> None:
    add_note(store, "the policy of the house")
    document = add_note(store, "the police of the town")

    assert find(store, "police") == [document.id]


@pytest.mark.parametrize(
    ("typed", "meant", "other"),
    [
        ("res", "research", "red"),
        ("hous", "house", "hour"),
        ("hous", "household", "hour"),
        ("bas", "basil", "bad"),
        ("embed", "embedding", "embassy"),
    ],
)
def test_w1_what_looks_like_an_ending_is_not_cut_off_a_word_that_is_being_typed(
    store: Store, typed: str, meant: str, other: str
) -> None:
    document = add_note(store, f"a {meant}")
    add_note(store, f"a {other}")

    assert find(store, typed) == [document.id]


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("knowle", "knowledge"),
        ("key", "keyword"),
        ("meani", "meaning"),
        ("runni", "running"),
        ("taki", "taking"),
        ("educatio", "education"),
    ],
)
def test_w1_a_word_is_found_although_its_beginning_is_kept_otherwise(store: Store, typed: str, word: str) -> None:
    document = add_note(store, f"some {word}")
    add_note(store, "A walrus")

    assert find(store, typed) == [document.id]


def test_w1_nothing_is_completed_by_default(store: Store) -> None:
    add_note(store, "Kubernetes")

    assert not len(store.find_by_text(["kuber"], Scope(), limit=10).matches)


def test_w1_what_is_excluded_and_what_is_required_still_count(store: Store) -> None:
    first = add_note(store, "Kubernetes in the cellar")
    add_note(store, "Kubernetes in the attic")
    add_note(store, "Kubernetes in the cellar with rats")

    scope = Scope(required=("the cellar",), excluded=("rats",))

    assert find(store, "cellar", "kuber", scope=scope) == [first.id]


def test_w1_a_beginning_works_beside_words_with_any_ending(store: Store) -> None:
    document = add_note(store, "столицы мира")
    add_note(store, "A walrus")

    assert find(store, "мир", "столи", any_endings=True) == [document.id]
