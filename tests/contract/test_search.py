from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.backends import MODEL, Backend
from tests.handmade_documents import (
    LATER,
    add,
    add_note,
    commit,
    found_by_text,
    found_by_vector,
    index,
    note,
    revision,
    vector_of,
)

from kb.engine.model import (
    ChunkId,
    Document,
    IndexedChunk,
    IndexedText,
    Passage,
    Scope,
)
from kb.engine.ports import Store


def test_chunks_are_found_by_any_of_the_words(store: Store) -> None:
    both = add_note(store, "a walrus and an otter")
    one = add_note(store, "an otter that is alone in a rather long line of other words")
    add_note(store, "neither")

    assert found_by_text(store, "walrus", "otter") == [both.id, one.id]
    assert found_by_text(store, "seal") == []
    assert found_by_text(store) == []


def test_the_nearest_are_told_with_what_they_stand_out_from(store: Store) -> None:
    texts = ["walrus", "otter", "seal", "beaver"]
    for text in texts:
        add_note(store, text)
    cosines = np.array([vector_of(text) @ vector_of("otter") for text in texts])

    found = store.find_by_vector(vector_of("otter"), Scope(), limit=1)

    assert found.background.count == len(texts)
    assert found.background.mean == pytest.approx(cosines.mean(), abs=1e-5)
    assert found.background.deviation == pytest.approx(cosines.std(), abs=1e-5)
    assert store.find_by_vector(vector_of("otter"), Scope(tags=("none",)), limit=1).background.count == 0


def test_a_word_in_the_title_counts_more_than_one_in_the_text(store: Store) -> None:
    in_text = add(store, note("n", title="Untitled"), index("walrus here"))
    in_title = add(store, note("n", title="walrus"), index("other here"))

    assert found_by_text(store, "walrus") == [in_title.id, in_text.id]


def test_a_word_in_the_heading_is_found(store: Store) -> None:
    document = add(store, note("n"), index("text", heading="Chapter > Walrus"))

    assert found_by_text(store, "walrus") == [document.id]


def test_equal_keyword_scores_are_ordered_by_id(store: Store) -> None:
    documents = [add_note(store, "walrus") for _ in range(5)]

    matches = store.find_by_text(["walrus"], Scope(), limit=3).matches

    assert matches.document_ids.tolist() == [document.id for document in documents[:3]]
    assert len(set(matches.scores)) == 1


def test_chunks_are_found_by_nearness_best_first(store: Store) -> None:
    texts = ["walrus", "otter", "seal", "beaver"]
    documents = {text: add_note(store, text) for text in texts}
    expected = sorted(texts, key=lambda text: -float(vector_of(text) @ vector_of("otter")))

    matches = store.find_by_vector(vector_of("otter"), Scope(), limit=10).matches

    assert matches.document_ids.tolist() == [documents[text].id for text in expected]
    assert matches.scores[0] == pytest.approx(1.0, abs=1e-5)
    assert found_by_vector(store, "otter", limit=2) == [documents[text].id for text in expected[:2]]


def test_equally_near_chunks_are_ordered_by_id(store: Store) -> None:
    documents = [add(store, note(str(n)), index("walrus")) for n in range(5)]

    assert found_by_vector(store, "walrus", limit=5) == [document.id for document in documents]


def test_matches_tell_their_place_in_the_document(store: Store) -> None:
    document = add(store, note("n"), index("walrus", "otter"))
    chunk = store.read_document(document.id).chunks[1]

    by_text = store.find_by_text(["otter"], Scope(), limit=10).matches
    by_vector = store.find_by_vector(vector_of("otter"), Scope(), limit=1).matches

    for found in (by_text, by_vector):
        (place,) = zip(found.chunk_ids, found.document_ids, found.ordinals, strict=True)
        assert place == (chunk.id, document.id, 1)


def test_the_vectors_of_chosen_chunks_are_loaded(store: Store) -> None:
    document = add(store, note("n"), index("walrus", "otter", "beaver"))
    first, second, _ = store.read_document(document.id).chunks
    absent = ChunkId(second.id + 2)

    vectors = store.load_vectors(np.array([second.id, absent, first.id]))

    assert vectors.chunk_ids.tolist() == [second.id, first.id]
    assert vectors.matrix == pytest.approx(np.stack([vector_of("otter"), vector_of("walrus")]), abs=1e-5)


def test_in_an_empty_base_nothing_is_found(store: Store) -> None:
    assert found_by_text(store, "walrus") == []
    assert found_by_vector(store, "walrus") == []
    assert len(store.load_vectors(np.array([1])).chunk_ids) == 0
    assert store.load_chunks([ChunkId(1)]) == []
    assert store.suggest_words(["walrus"]) == {}


def test_chunks_are_loaded_in_the_order_asked_for(store: Store) -> None:
    document = add(store, note("n", tags=["t"]), index("a", "b", "c"))
    a, b, c = store.read_document(document.id).chunks

    loaded = store.load_chunks([c.id, a.id, ChunkId(c.id + 1)])

    assert [found.chunk for found in loaded] == [c, a]
    assert {found.document.id for found in loaded} == {document.id}
    assert loaded[0].document == document
    assert b not in [found.chunk for found in loaded]


def changing(store: Store, document: Document, how: str) -> None:
    match how:
        case "delete":
            store.delete_document(document.id, expected_version=None, now=LATER)
        case "rewrite":
            store.replace_note(document.id, revision("otter"), index("otter"), expected_version=None, now=LATER)
        case "replace":
            commit(store, note("otter", source_path=document.source_path), index("otter"), now=LATER)
        case "clear":
            store.delete_everything(now=LATER)


@pytest.mark.parametrize("how", ["delete", "rewrite", "replace", "clear"])
@pytest.mark.parametrize("who", ["the same", "another"])
def test_s5_what_was_deleted_or_replaced_is_found_no_more(store: Store, other_store: Store, how: str, who: str) -> None:
    document = add(store, note("walrus", source_path="/w.md"), index("walrus", "walrus two"))
    chunk_ids = [chunk.id for chunk in store.read_document(document.id).chunks]
    assert set(found_by_vector(store, "walrus")) == {document.id}
    assert found_by_text(store, "walrus") == [document.id] * 2

    changing(store if who == "the same" else other_store, document, how)

    assert found_by_text(store, "walrus") == []
    found = store.find_by_vector(vector_of("walrus"), Scope(), limit=10).matches
    assert not {*found.chunk_ids.tolist()} & {*chunk_ids}
    assert store.load_chunks(chunk_ids) == []
    left = [] if how in ("delete", "clear") else [document.id]
    assert found_by_vector(store, "otter") == found_by_text(store, "otter") == left


def test_within_one_moment_nothing_changes(store: Store, other_store: Store) -> None:
    walrus = add(store, note("walrus"), index("walrus"))
    [chunk] = store.read_document(walrus.id).chunks

    with store.one_moment():
        assert found_by_text(store, "walrus") == [walrus.id]
        other_store.delete_document(walrus.id, expected_version=None, now=LATER)
        with ThreadPoolExecutor() as threads:
            assert threads.submit(found_by_vector, store, "walrus").result() == []
        assert found_by_vector(store, "walrus") == [walrus.id]
        with store.one_moment():
            assert [found.document.id for found in store.load_chunks([chunk.id])] == [walrus.id]
        assert found_by_text(store, "walrus") == [walrus.id]

    assert found_by_text(store, "walrus") == []
    assert store.load_chunks([chunk.id]) == []


def test_s5_what_another_store_added_is_found_at_once(store: Store, other_store: Store) -> None:
    first = add_note(store, "walrus")
    assert found_by_vector(store, "walrus") == [first.id]

    second = add(other_store, note("walrus"), index("walrus"))
    tagged = other_store.change_tags(first.id, add=["t"], remove=[], expected_version=None, now=LATER)

    assert found_by_vector(store, "walrus") == found_by_text(store, "walrus") == [first.id, second.id]
    assert found_by_vector(store, "walrus", scope=Scope(tags=("t",))) == [tagged.id]


def test_many_changes_leave_just_what_is_there(store: Store) -> None:
    """Enough of them that the index in memory grows and is squeezed several times."""
    for round_number in range(4):
        big = index(*(f"chunk {round_number} {n}" for n in range(700)))
        add(store, note("big", source_path="/big.md", metadata={"round": round_number}), big)
        commit(store, note(f"big {round_number}", source_path="/big.md"), big)
        found = store.find_by_vector(vector_of(f"chunk {round_number} 699"), Scope(), limit=5_000).matches
        assert len(found) == 700
        assert found.ordinals[0] == 699
        assert found.scores[0] == pytest.approx(1.0, abs=1e-5)


def test_e28_vectors_of_another_model_take_no_part(backend: Backend, store: Store) -> None:
    document = add_note(store, "walrus")
    chunk = store.read_document(document.id).chunks[0]

    other_model = backend.open("another-model")
    try:
        statistics = other_model.read_statistics()
        assert (statistics.vectors, statistics.stale_vectors) == (0, 1)
        assert found_by_vector(other_model, "walrus") == []
        assert found_by_text(other_model, "walrus") == [document.id]
        assert len(other_model.load_vectors(np.array([chunk.id])).chunk_ids) == 0
    finally:
        other_model.close()


def test_vectors_come_back_as_they_were_given(store: Store) -> None:
    exact = np.zeros(16, dtype=np.float32)
    exact[3] = 1.0
    add(store, note("n"), IndexedText([IndexedChunk(Passage("walrus"), exact)], MODEL))

    found = store.find_by_vector(exact, Scope(), limit=1)

    assert found.matches.scores.tolist() == [1.0]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("databse", "database"),
        ("retreival", "retrieval"),
        ("Databse", "database"),
        ("database", None),
        ("databases", None),
        ("zzzzzz", None),
        ("dat", None),
        ("d4tabase", None),
        ("", None),
    ],
)
def test_s4_a_likely_misspelling_is_recognised(store: Store, typed: str, meant: str | None) -> None:
    add_note(store, "the database and the retrieval of text")

    assert store.suggest_words([typed]) == ({} if meant is None else {typed: meant})


def test_the_best_possible_keyword_score_is_above_what_is_reached(store: Store) -> None:
    add_note(store, "walrus otter")
    for number in range(20):
        add_note(store, f"other words {number} here")

    found = store.find_by_text(["walrus", "otter"], Scope(), limit=10)

    assert 0 < found.matches.scores[0] <= found.best_possible


def test_leaving_words_out_does_not_change_what_the_rest_could_score(store: Store) -> None:
    """S2: or a hit would seem less relevant for every word that it rightly does not have."""
    add_note(store, "the walrus rests")
    add_note(store, "the otter swims")

    plain = store.find_by_text(["walrus"], Scope(), limit=10)
    excluding = store.find_by_text(["walrus"], Scope(excluded=("otter",)), limit=10)

    assert excluding.best_possible == plain.best_possible
