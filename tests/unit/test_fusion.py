from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit import plain_fusion
from tests.unit.plain_fusion import Found

from kb.engine.model import LoadedVectors, Matches, Vector
from kb.engine.search.fusion import (
    Candidates,
    add_neighbours,
    add_peers,
    best_of_each_document,
    fuse,
    join,
    rank,
    standardise,
)

LIMIT = 5


def match(chunk_id: int, score: float, *, document_id: int | None = None, ordinal: int = 0) -> Found:
    return Found(chunk_id, chunk_id if document_id is None else document_id, ordinal, score)


def candidate(chunk_id: int, score: float, *, document_id: int = 1, ordinal: int = 0) -> Found:
    return Found(chunk_id, document_id, ordinal, score)


def candidates_of(found: Sequence[Found]) -> Candidates:
    matches = Matches.of_rows(sorted(found))
    unknown = np.full(len(found), np.nan)
    return Candidates(matches.chunk_ids, matches.document_ids, matches.ordinals, unknown, unknown, matches.scores)


def listed(candidates: Candidates) -> list[Found]:
    arrays = (candidates.chunk_ids, candidates.document_ids, candidates.ordinals, candidates.scores)
    return [Found(*values) for values in zip(*(array.tolist() for array in arrays), strict=True)]


def fused(
    keyword: Sequence[Found],
    vector: Sequence[Found],
    cosines: Mapping[int, float] | None = None,
    weigh: Callable[[float], float] = lambda _: 0.5,
) -> Candidates:
    matches = Matches.of_rows(keyword), Matches.of_rows(vector)
    found = join(*matches)
    for chunk_id, cosine in (cosines or {}).items():
        found.cosines[found.chunk_ids == chunk_id] = cosine
    lowest = keyword[-1].score if len(keyword) >= LIMIT else 0.0
    return rank(fuse(found, matches[1].scores, weigh=weigh, lowest_keyword_score=lowest).candidates)


def ids(candidates: Candidates) -> list[int]:
    chunk_ids: list[int] = candidates.chunk_ids.tolist()
    return chunk_ids


def rank_by_id(candidates: Candidates) -> Candidates:
    return candidates.take(np.argsort(candidates.chunk_ids))


def scores_by_id(candidates: Candidates) -> dict[int, float]:
    return {found.chunk_id: found.score for found in listed(candidates)}


def test_what_both_methods_put_first_is_first() -> None:
    keyword = [match(1, 9.0), match(2, 3.0)]
    vector = [match(1, 0.8), match(3, 0.5), match(2, 0.2)]

    assert ids(fused(keyword, vector))[0] == 1


def test_how_far_ahead_counts_and_not_only_the_rank() -> None:
    keyword = [match(1, 20.0), match(2, 2.0), match(3, 1.9), match(4, 1.8)]
    vector = [match(2, 0.52), match(1, 0.51), match(3, 0.30), match(4, 0.10)]

    assert ids(fused(keyword, vector))[:2] == [1, 2]


def test_each_method_tells_its_own_score() -> None:
    keyword, vector = [match(1, 9.0)], [match(2, 0.8)]

    found = rank_by_id(fused(keyword, vector, {1: 0.3}))

    assert found.keyword_scores.tolist() == [9.0, pytest.approx(np.nan, nan_ok=True)]
    assert found.cosines.tolist() == [0.3, 0.8]


def test_a_single_keyword_match_stands_out_from_all_that_have_none_of_the_words() -> None:
    vector = [match(chunk_id, 0.5 - chunk_id / 100) for chunk_id in range(1, 10)]

    assert ids(fused([match(6, 7.0)], vector))[0] == 6


def test_in_a_list_that_was_cut_off_the_last_is_no_better_than_what_is_missing() -> None:
    keyword = [match(1, 9.0), match(2, 8.0), match(3, 7.0), match(4, 6.0), match(5, 5.0)]
    vector = [match(6, 0.4), match(5, 0.4), match(1, 0.3), match(2, 0.2)]

    by_id = scores_by_id(fused(keyword, vector))

    assert by_id[6] == pytest.approx(by_id[5])


def test_a_chunk_without_a_vector_stands_with_the_least_similar() -> None:
    keyword = [match(1, 5.0), match(2, 5.0)]
    vector = [match(3, 0.9), match(2, 0.1)]

    found = rank_by_id(fused(keyword, vector))

    assert np.isnan(found.cosines[0])
    assert found.scores[0] == pytest.approx(found.scores[1])


def test_equal_candidates_are_ordered_by_chunk() -> None:
    keyword = [match(7, 5.0), match(3, 5.0), match(5, 5.0)]
    vector = [match(5, 0.5), match(7, 0.5), match(3, 0.5)]

    assert ids(fused(keyword, vector)) == [3, 5, 7]


def test_scores_that_differ_only_by_rounding_are_equal() -> None:
    assert standardise(np.array([0.1, 0.3]), np.array([0.1] * 300)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("keyword", "vector"), [([], []), ([match(1, 5.0)], []), ([], [match(1, 0.5)])])
def test_where_one_list_is_empty_the_other_one_counts(keyword: list[Found], vector: list[Found]) -> None:
    assert listed(join(Matches.of_rows(keyword), Matches.of_rows(vector))) == [*keyword, *vector]


pairs = st.lists(
    st.tuples(st.integers(1, 30), st.floats(0, 50)), min_size=1, max_size=30, unique_by=lambda pair: pair[0]
).map(lambda pairs: plain_fusion.rank(match(chunk_id, score) for chunk_id, score in pairs))


@given(pairs, pairs)
def test_every_chunk_of_both_lists_comes_once_and_better_by_both_is_never_below(
    keyword: list[Found], vector: list[Found]
) -> None:
    found = fused(keyword, vector)

    assert sorted(ids(found)) == sorted({one.chunk_id for one in (*keyword, *vector)})
    for above, below in pairwise(found.scores):
        assert above >= below
    both = found.take(~np.isnan(found.keyword_scores + found.cosines))
    for one in range(len(both)):
        is_worse = (both.keyword_scores <= both.keyword_scores[one]) & (both.cosines <= both.cosines[one])
        assert np.all(both.scores[is_worse] <= both.scores[one] + 1e-9)


def test_the_heavier_method_decides_when_the_two_disagree() -> None:
    keyword, vector = [match(1, 9.0), match(2, 3.0)], [match(2, 0.9), match(1, 0.3)]

    assert ids(fused(keyword, vector, weigh=lambda _: 0.4)) == [1, 2]
    assert ids(fused(keyword, vector, weigh=lambda _: 0.6)) == [2, 1]


def test_the_weight_may_depend_on_how_far_the_best_keyword_score_stands_out() -> None:
    peaks: list[float] = []

    def weigh(keyword_peak: float) -> float:
        peaks.append(keyword_peak)
        return 0.5

    fused([match(1, 9.0), match(2, 1.0), match(3, 1.0)], [match(4, 0.5)], weigh=weigh)
    fused([match(1, 1.0), match(2, 1.0), match(3, 1.0)], [match(1, 0.5)], weigh=weigh)

    assert peaks[0] > 1
    assert peaks[1] == 0


def unit(*numbers: float) -> Vector:
    vector = np.array(numbers, np.float32)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def vectors_of(**by_chunk: Vector) -> LoadedVectors:
    chunk_ids = [int(name.removeprefix("chunk")) for name in by_chunk]
    return LoadedVectors(np.array(chunk_ids, np.int64), np.array([*by_chunk.values()], np.float32))


def with_peers(found: Sequence[Found], vectors: LoadedVectors, vector_weight: float = 0.5) -> list[Found]:
    return listed(rank(add_peers(candidates_of(found), vectors, vector_weight=vector_weight)))


def with_neighbours(found: Sequence[Found], depth: float = 1.0) -> list[Found]:
    return listed(rank(add_neighbours(candidates_of(found), depth=depth)))


def ids_of(found: Sequence[Found]) -> list[int]:
    return [one.chunk_id for one in found]


def test_who_means_the_same_as_the_best_is_raised() -> None:
    found = [candidate(i, score, document_id=i) for i, score in ((1, 4.0), (2, 1.0), (3, 0.9), (4, 0.1))]
    vectors = vectors_of(chunk1=unit(1, 0), chunk2=unit(0, 1), chunk3=unit(0.9, 0.1), chunk4=unit(0.1, 0.9))

    assert ids_of(with_peers(found, vectors)) == [1, 3, 2, 4]


def test_chunks_of_the_same_document_are_no_peers() -> None:
    found = [candidate(1, 4.0), candidate(2, 1.0), candidate(3, 0.5)]
    vectors = vectors_of(chunk1=unit(1, 0), chunk2=unit(0, 1), chunk3=unit(1, 0))

    assert with_peers(found, vectors) == found


def test_what_peers_say_counts_more_the_more_the_vectors_do() -> None:
    found = [candidate(1, 4.0, document_id=1), candidate(2, 1.0, document_id=2)]
    vectors = vectors_of(chunk1=unit(1, 0), chunk2=unit(1, 0.1))

    much, little = (with_peers(found, vectors, weight)[1].score for weight in (0.9, 0.1))

    assert much > little > found[1].score


def test_nobody_is_lowered_by_peers() -> None:
    found = [candidate(i, score, document_id=i) for i, score in ((1, 4.0), (2, -1.0), (3, -2.0), (4, -2.1))]
    vectors = vectors_of(chunk1=unit(1, 0), chunk2=unit(0, 1), chunk3=unit(0.1, 1))

    assert ids_of(with_peers(found, vectors))[-1] == 4


def test_opposites_and_chunks_without_a_vector_say_nothing() -> None:
    found = [candidate(i, score, document_id=i) for i, score in ((1, 4.0), (2, 1.0), (3, 0.5))]

    assert with_peers(found, vectors_of(chunk1=unit(1, 0), chunk2=unit(-1, 0))) == found
    assert with_peers(found, vectors_of(chunk1=unit(1, 0))) == found
    assert with_peers([], vectors_of()) == []


def test_a_good_neighbour_raises_a_chunk() -> None:
    found = [candidate(1, 3.0, ordinal=0), candidate(2, 1.0, document_id=2), candidate(3, 1.0, ordinal=1)]

    assert ids_of(with_neighbours(found)) == [1, 3, 2]


def test_only_the_next_chunk_of_the_same_document_is_a_neighbour() -> None:
    found = [
        candidate(1, 3.0, ordinal=0),
        candidate(2, 1.0, ordinal=2),
        candidate(3, 1.0, document_id=2, ordinal=1),
    ]

    assert with_neighbours(found) == found


def test_a_neighbour_below_the_mean_neither_helps_nor_harms() -> None:
    found = [candidate(1, 3.0, ordinal=0), candidate(2, -5.0, ordinal=1)]

    assert with_neighbours(found)[0] == found[0]


def test_neighbours_count_less_the_fewer_candidates_are_from_long_documents() -> None:
    found = [candidate(1, 3.0, ordinal=0), candidate(2, 1.0, document_id=2), candidate(3, 1.0, ordinal=1)]

    raised = [with_neighbours(found, depth)[1].score for depth in (0.0, 0.5, 1.0)]

    assert raised == sorted(raised)
    assert raised[0] == 1.0 < raised[1] < raised[2]


def test_no_candidates_have_no_neighbours() -> None:
    assert with_neighbours([]) == []


def test_equal_scores_rank_by_chunk() -> None:
    assert ids(rank(candidates_of([candidate(3, 1.0), candidate(1, 1.0), candidate(2, 2.0)]))) == [2, 1, 3]


def test_a_document_is_represented_by_its_best_chunk_in_the_given_order() -> None:
    found = [candidate(5, 3.0, document_id=2), candidate(1, 2.0, document_id=1), candidate(4, 1.0, document_id=2)]

    assert ids(best_of_each_document(rank(candidates_of(found)))) == [5, 1]


# Few documents, so that neighbours and peers of the same one are frequent; scores in steps, so that ties are.
chunk_ids = st.integers(0, 59)
steps = st.integers(0, 40)


def place(chunk_id: int, score: float) -> Found:
    """Two of three documents are long, and the later ones have the smaller ids."""
    document_id, ordinal = (chunk_id, 0) if chunk_id % 3 == 0 else (100 - chunk_id % 3, chunk_id // 3)
    return Found(chunk_id, document_id, ordinal, score)


rankings = st.dictionaries(chunk_ids, steps, min_size=1, max_size=40).map(
    lambda scores: plain_fusion.rank(place(chunk_id, step / 4) for chunk_id, step in scores.items())
)


def nearly(found: Sequence[Found]) -> list[tuple[object, ...]]:
    return [(*one[:3], pytest.approx(one.score, abs=1e-9)) for one in found]


def is_clear(found: Sequence[Found]) -> bool:
    """Whether no two are apart by less than rounding: they might change places."""
    return all(above.score - below.score > 1e-8 for above, below in pairwise(found))


@given(rankings, rankings, st.dictionaries(chunk_ids, steps), st.floats(0, 1))
def test_fusion_agrees_with_the_same_said_plainly(
    keyword: list[Found], vector: list[Found], cosines: dict[int, int], vector_weight: float
) -> None:
    by_words_only = {one.chunk_id for one in keyword} - {one.chunk_id for one in vector}
    known = {chunk_id: float(step) for chunk_id, step in cosines.items() if chunk_id in by_words_only}

    found = listed(fused(keyword, vector, known, lambda peak: vector_weight / (1 + peak)))

    expected = plain_fusion.fuse(keyword, vector, known, weigh=lambda peak: vector_weight / (1 + peak), limit=LIMIT)
    assert sorted(found) == nearly(sorted(expected))
    assert found == nearly(expected) or not is_clear(expected)


@given(rankings, st.integers(0, 2**32), st.floats(0.01, 1))
def test_peers_agree_with_the_same_said_plainly(found: list[Found], seed: int, vector_weight: float) -> None:
    known = [one.chunk_id for one in found if (one.chunk_id + seed) % 4]
    # Similarities are computed in single precision, which holds those of such numbers exactly.
    matrix = (np.random.default_rng(seed).integers(-128, 129, size=(len(known), 4)) / 256).astype(np.float32)

    raised = with_peers(found, LoadedVectors(np.array(known, np.int64), matrix), vector_weight)

    vectors = dict(zip(known, matrix.astype(float).tolist(), strict=True))
    expected = plain_fusion.add_peers(found, vectors, vector_weight=vector_weight)
    assert sorted(raised) == nearly(sorted(expected))
    assert raised == nearly(expected) or not is_clear(expected)


@given(rankings, st.floats(0, 1))
def test_neighbours_agree_with_the_same_said_plainly(found: list[Found], depth: float) -> None:
    raised = with_neighbours(found, depth)

    expected = plain_fusion.add_neighbours(found, depth=depth)
    assert sorted(raised) == nearly(sorted(expected))
    assert raised == nearly(expected) or not is_clear(expected)
