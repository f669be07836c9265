"""Codes of vectors, and the rows that are searched by them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kb.engine.model import Vectors
from kb.engine.storage.sqlite.vectors import coded
from kb.engine.storage.sqlite.vectors.coded import CodedRows, count_steps
from kb.engine.storage.sqlite.vectors.codes import (
    VECTORS_AT_ONCE,
    compare_signs,
    count_differences,
    encode,
    pick_nearest,
)
from kb.engine.storage.sqlite.vectors.nearest import join_backgrounds, measure_background

COUNT, DIMENSION = 3_000, 100


def make_vectors(count: int, *, seed: int = 1) -> Vectors:
    """Around some topics, as the chunks of a base are."""
    chance = np.random.default_rng(seed)
    topics = np.random.default_rng(0).normal(size=(40, DIMENSION))
    vectors = topics[chance.integers(40, size=count)] + chance.normal(size=(count, DIMENSION))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


VECTORS = make_vectors(COUNT)


@pytest.fixture(scope="module")
def rows() -> CodedRows:
    ids = np.arange(COUNT)
    sampled = np.arange(0, COUNT, 10)
    return CodedRows(
        codes=encode(VECTORS),
        steps=count_steps(VECTORS),
        chunk_ids=ids + 1,
        document_ids=ids // 10 + 1,
        ordinals=ids % 10,
        is_alive=np.ones(COUNT, np.bool_),
        sampled_rows=sampled,
        sample=VECTORS[sampled],
        compared=60,
    )


@given(st.integers(1, 200), st.integers(1, 70), st.integers(0, 1000))
def test_the_distance_of_two_codes_is_the_number_of_signs_that_differ(dimension: int, count: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    vectors = chance.normal(size=(count, dimension)).astype(np.float32)
    query = chance.normal(size=dimension).astype(np.float32)

    distances = count_differences(encode(vectors), query)

    assert distances.tolist() == ((vectors > 0) != (query > 0)).sum(axis=1).tolist()


@given(st.integers(1, 200), st.integers(1, 70), st.integers(0, 1000))
def test_signs_are_compared_with_the_vector_itself(dimension: int, count: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    vectors = chance.normal(size=(count, dimension)).astype(np.float32)
    query = chance.normal(size=dimension).astype(np.float32)
    rows = chance.permutation(count)[: count // 2]

    similarities = compare_signs(encode(vectors), rows, query)

    assert np.allclose(similarities, np.where(vectors[rows] > 0, query, -query).sum(axis=1), atol=1e-3)


def test_more_codes_than_are_counted_at_once_are_all_counted() -> None:
    vectors = make_vectors(VECTORS_AT_ONCE + 3)

    distances = count_differences(encode(vectors), vectors[-1])

    assert len(distances) == len(vectors)
    assert distances[-1] == 0
    assert distances[:-1].min() > 0


@given(arrays.arrays(np.uint16, st.integers(1, 300), elements=st.integers(0, 400)), st.integers(1, 400))
def test_those_picked_are_as_many_as_wanted_and_none_left_out_is_nearer(
    distances: "np.ndarray[tuple[int], np.dtype[np.uint16]]", count: int
) -> None:
    picked = pick_nearest(distances, count)

    left_out = np.setdiff1d(np.arange(len(distances)), picked)
    assert len(set(picked.tolist())) == len(picked) == min(count, len(distances))
    assert not len(left_out) or distances[picked].max() <= distances[left_out].min()


@pytest.mark.parametrize("share", [1.0, 0.5, 0.1, 0.01, 0.001])
def test_s3_under_any_filter_the_nearest_are_found_and_nothing_else(
    rows: CodedRows, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(coded, "COMPARED_WITHOUT_CODES", 10)
    allowed = np.random.default_rng(3).random(COUNT) < share
    recalls = []

    for query in make_vectors(50, seed=2):
        nearest = rows.find_nearest(query, allowed, limit=10)
        exact = np.where(allowed, VECTORS @ query, -2)
        expected = np.argsort(-exact)[: min(10, np.count_nonzero(allowed))]
        recalls.append(np.isin(expected, nearest.rows).mean() if len(expected) else 1.0)
        assert allowed[nearest.rows].all()
        assert len(nearest.rows) == min(10, np.count_nonzero(allowed))
        assert np.allclose(nearest.scores, exact[nearest.rows], atol=1e-4)

    assert np.mean(recalls) > 0.97


def test_where_nothing_is_allowed_nothing_is_found(rows: CodedRows) -> None:
    nearest = rows.find_nearest(VECTORS[0], np.zeros(COUNT, np.bool_), limit=10)

    assert len(nearest.rows) == 0
    assert nearest.background.count == 0


@pytest.mark.parametrize("share", [1.0, 0.05])
def test_how_all_scores_are_spread_is_told_from_a_sample(rows: CodedRows, share: float) -> None:
    allowed = np.random.default_rng(4).random(COUNT) < share
    query = make_vectors(1, seed=5)[0]

    told = rows.find_nearest(query, allowed, limit=10).background

    scores = (VECTORS @ query)[allowed]
    assert told.count == np.count_nonzero(allowed)
    assert told.mean == pytest.approx(scores.mean(), abs=0.2 * float(scores.std()))
    assert told.deviation == pytest.approx(scores.std(), rel=0.1)


def test_s5_chunks_of_buried_documents_are_dead_and_their_rows_are_told(rows: CodedRows) -> None:
    left, died = rows.bury([3, 7])
    again, nobody = left.bury([3])

    assert died.tolist() == [*range(20, 30), *range(60, 70)]
    assert np.flatnonzero(~left.is_alive).tolist() == died.tolist()
    assert rows.is_alive.all()
    assert again is left
    assert len(nobody) == 0


@given(st.lists(st.floats(-1, 1, width=32), max_size=20), st.lists(st.floats(-1, 1, width=32), max_size=20))
def test_the_background_of_two_parts_is_that_of_the_whole(one: list[float], other: list[float]) -> None:
    parts = [np.array(scores, np.float32) for scores in (one, other) if scores]
    if not parts:
        return

    joined = measure_background(parts[0], len(parts[0]))
    for part in parts[1:]:
        joined = join_backgrounds(joined, measure_background(part, len(part)))

    whole = np.concatenate(parts)
    assert joined.count == len(whole)
    assert joined.mean == pytest.approx(whole.mean(), abs=1e-5)
    assert joined.deviation == pytest.approx(whole.std(), abs=1e-3)
