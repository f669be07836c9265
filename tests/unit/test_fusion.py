from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.model import ChunkId, DocumentId, Match, Vector
from kb.engine.search.fusion import (
    Candidate,
    add_neighbours,
    add_peers,
    best_of_each_document,
    fuse,
    rank,
    standardise,
)

LIMIT = 5


def match(chunk_id: int, score: float, *, document_id: int | None = None, ordinal: int = 0) -> Match:
    return Match(ChunkId(chunk_id), DocumentId(chunk_id if document_id is None else document_id), ordinal, score)


def candidate(chunk_id: int, score: float, *, document_id: int = 1, ordinal: int = 0) -> Candidate:
    return Candidate(ChunkId(chunk_id), DocumentId(document_id), ordinal, None, None, score)


def fused(
    keyword: list[Match], vector: list[Match], cosines: dict[ChunkId, float] | None = None, vector_weight: float = 0.5
) -> list[Candidate]:
    return fuse(keyword, vector, cosines or {}, weigh=lambda _: vector_weight, limit=LIMIT).candidates


def ids(candidates: list[Candidate]) -> list[int]:
    return [candidate.chunk_id for candidate in candidates]


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

    by_id = {found.chunk_id: found for found in fused(keyword, vector, {ChunkId(1): 0.3})}

    assert (by_id[ChunkId(1)].keyword_score, by_id[ChunkId(1)].cosine) == (9.0, 0.3)
    assert (by_id[ChunkId(2)].keyword_score, by_id[ChunkId(2)].cosine) == (None, 0.8)


def test_a_single_keyword_match_stands_out_from_all_that_have_none_of_the_words() -> None:
    vector = [match(chunk_id, 0.5 - chunk_id / 100) for chunk_id in range(1, 10)]

    assert ids(fused([match(6, 7.0)], vector))[0] == 6


def test_in_a_list_that_was_cut_off_the_last_is_no_better_than_what_is_missing() -> None:
    keyword = [match(1, 9.0), match(2, 8.0), match(3, 7.0), match(4, 6.0), match(5, 5.0)]
    vector = [match(6, 0.4), match(5, 0.4), match(1, 0.3), match(2, 0.2)]

    by_id = {found.chunk_id: found.score for found in fused(keyword, vector)}

    assert by_id[ChunkId(6)] == pytest.approx(by_id[ChunkId(5)])


def test_a_chunk_without_a_vector_stands_with_the_least_similar() -> None:
    keyword = [match(1, 5.0), match(2, 5.0)]
    vector = [match(3, 0.9), match(2, 0.1)]

    by_id = {found.chunk_id: found for found in fused(keyword, vector)}

    assert by_id[ChunkId(1)].cosine is None
    assert by_id[ChunkId(1)].score == pytest.approx(by_id[ChunkId(2)].score)


def test_equal_candidates_are_ordered_by_chunk() -> None:
    keyword = [match(7, 5.0), match(3, 5.0), match(5, 5.0)]
    vector = [match(5, 0.5), match(7, 0.5), match(3, 0.5)]

    assert ids(fused(keyword, vector)) == [3, 5, 7]


def test_scores_that_differ_only_by_rounding_are_equal() -> None:
    assert standardise([0.1, 0.3], [0.1] * 300).tolist() == [0.0, 0.0]


@pytest.mark.parametrize(("keyword", "vector"), [([], []), ([match(1, 5.0)], []), ([], [match(1, 0.5)])])
def test_either_list_may_be_empty(keyword: list[Match], vector: list[Match]) -> None:
    assert ids(fused(keyword, vector)) == [found.chunk_id for found in (*keyword, *vector)]


scores = st.lists(st.tuples(st.integers(1, 30), st.floats(0, 50)), max_size=30, unique_by=lambda pair: pair[0])


@given(scores, scores)
def test_every_chunk_of_both_lists_comes_once_and_better_by_both_is_never_below(
    keyword: list[tuple[int, float]], vector: list[tuple[int, float]]
) -> None:
    found = fused([match(*pair) for pair in keyword], [match(*pair) for pair in vector])

    assert sorted(ids(found)) == sorted({chunk_id for chunk_id, _ in (*keyword, *vector)})
    for above, below in pairwise(found):
        assert above.score >= below.score
    both = [c for c in found if c.keyword_score is not None and c.cosine is not None]
    for one in both:
        for other in both:
            if (one.keyword_score or 0) >= (other.keyword_score or 0) and (one.cosine or 0) >= (other.cosine or 0):
                assert one.score >= other.score - 1e-9


def test_the_heavier_method_decides_when_the_two_disagree() -> None:
    keyword, vector = [match(1, 9.0), match(2, 3.0)], [match(2, 0.9), match(1, 0.3)]

    assert ids(fused(keyword, vector, vector_weight=0.4)) == [1, 2]
    assert ids(fused(keyword, vector, vector_weight=0.6)) == [2, 1]


def test_the_weight_may_depend_on_how_far_the_best_keyword_score_stands_out() -> None:
    peaks: list[float] = []

    def weigh(keyword_peak: float) -> float:
        peaks.append(keyword_peak)
        return 0.5

    fuse([match(1, 9.0), match(2, 1.0), match(3, 1.0)], [match(4, 0.5)], {}, weigh=weigh, limit=LIMIT)
    fuse([match(1, 1.0), match(2, 1.0), match(3, 1.0)], [match(1, 0.5)], {}, weigh=weigh, limit=LIMIT)

    assert peaks[0] > 1
    assert peaks[1] == 0


def unit(*numbers: float) -> Vector:
    vector = np.array(numbers, np.float32)
    return np.asarray(vector / np.linalg.norm(vector), np.float32)


def vectors_of(**by_chunk: Vector) -> dict[ChunkId, Vector]:
    return {ChunkId(int(name.removeprefix("chunk"))): vector for name, vector in by_chunk.items()}


def test_who_means_the_same_as_the_best_is_raised() -> None:
    found = [candidate(i, score, document_id=i) for i, score in ((1, 4.0), (2, 1.0), (3, 0.9), (4, 0.1))]
    vectors = vectors_of(chunk1=unit(1, 0), chunk2=unit(0, 1), chunk3=unit(0.9, 0.1), chunk4=unit(0.1, 0.9))

    assert ids(add_peers(found, vectors, vector_weight=0.5)) == [1, 3, 2, 4]


def test_chunks_of_the_same_document_are_no_peers() -> None:
    found = [candidate(1, 4.0), candidate(2, 1.0), candidate(3, 0.5)]
    vectors = vectors_of(chunk1=unit(1, 0), chunk2=unit(0, 1), chunk3=unit(1, 0))

    assert add_peers(found, vectors, vector_weight=0.5) == found


def test_what_peers_say_counts_more_the_more_the_vectors_do() -> None:
    found = [candidate(1, 4.0, document_id=1), candidate(2, 1.0, document_id=2)]
    vectors = vectors_of(chunk1=unit(1, 0), chunk2=unit(1, 0.1))

    much, little = (add_peers(found, vectors, vector_weight=weight)[1].score for weight in (0.9, 0.1))

    assert much > little > found[1].score


def test_nobody_is_lowered_by_peers() -> None:
    found = [candidate(i, score, document_id=i) for i, score in ((1, 4.0), (2, -1.0), (3, -2.0), (4, -2.1))]
    vectors = vectors_of(chunk1=unit(1, 0), chunk2=unit(0, 1), chunk3=unit(0.1, 1))

    assert ids(add_peers(found, vectors, vector_weight=0.5))[-1] == 4


def test_opposites_and_chunks_without_a_vector_say_nothing() -> None:
    found = [candidate(i, score, document_id=i) for i, score in ((1, 4.0), (2, 1.0), (3, 0.5))]

    assert add_peers(found, vectors_of(chunk1=unit(1, 0), chunk2=unit(-1, 0)), vector_weight=0.5) == found
    assert add_peers(found, vectors_of(chunk1=unit(1, 0)), vector_weight=0.5) == found
    assert add_peers([], {}, vector_weight=0.5) == []


def test_a_good_neighbour_raises_a_chunk() -> None:
    found = [candidate(1, 3.0, ordinal=0), candidate(2, 1.0, document_id=2), candidate(3, 1.0, ordinal=1)]

    assert ids(add_neighbours(found, depth=1.0)) == [1, 3, 2]


def test_only_the_next_chunk_of_the_same_document_is_a_neighbour() -> None:
    found = [
        candidate(1, 3.0, ordinal=0),
        candidate(2, 1.0, ordinal=2),
        candidate(3, 1.0, document_id=2, ordinal=1),
    ]

    assert add_neighbours(found, depth=1.0) == found


def test_a_neighbour_below_the_mean_neither_helps_nor_harms() -> None:
    found = [candidate(1, 3.0, ordinal=0), candidate(2, -5.0, ordinal=1)]

    assert add_neighbours(found, depth=1.0)[0] == found[0]


def test_neighbours_count_less_the_fewer_candidates_are_from_long_documents() -> None:
    found = [candidate(1, 3.0, ordinal=0), candidate(2, 1.0, document_id=2), candidate(3, 1.0, ordinal=1)]

    raised = [add_neighbours(found, depth=depth)[1].score for depth in (0.0, 0.5, 1.0)]

    assert raised == sorted(raised)
    assert raised[0] == 1.0 < raised[1] < raised[2]


def test_no_candidates_have_no_neighbours() -> None:
    assert add_neighbours([], depth=1.0) == []


def test_equal_scores_rank_by_chunk() -> None:
    assert ids(rank([candidate(3, 1.0), candidate(1, 1.0), candidate(2, 2.0)])) == [2, 1, 3]


def test_a_document_is_represented_by_its_best_chunk_in_the_given_order() -> None:
    found = [candidate(5, 3.0, document_id=2), candidate(1, 2.0, document_id=1), candidate(4, 1.0, document_id=2)]

    assert ids(best_of_each_document(found)) == [5, 1]
