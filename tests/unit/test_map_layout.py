"""W1: a map of the base, documents laid out by meaning. Here only the arithmetic."""

import numpy as np
import pytest

from kb.engine.mapping import neighbours
from kb.engine.mapping.layout import lay_out
from kb.engine.mapping.neighbours import find_each_others_neighbours, find_neighbours
from kb.engine.mapping.placing import place_beside
from kb.engine.model import Places, Vectors

DIMENSION = 32
TOPICS = 4


def unit(vectors: np.ndarray) -> Vectors:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.float32)


def topics(each: int, *, seed: int = 1) -> Vectors:
    """So many vectors around each of four centres, centre by centre."""
    chance = np.random.default_rng(seed)
    centres = unit(np.random.default_rng(0).normal(size=(TOPICS, DIMENSION)))
    return unit(np.repeat(centres, each, axis=0) + chance.normal(scale=0.08, size=(TOPICS * each, DIMENSION)))


def distances(places: Places) -> np.ndarray:
    return np.asarray(np.linalg.norm(places[:, None] - places[None], axis=2))


def share_of_neighbours_kept(vectors: Vectors, places: Places) -> float:
    near = np.argsort(-(vectors @ vectors.T), axis=1)[:, 1:11]
    near_on_map = np.argsort(distances(places), axis=1)[:, 1:31]
    return float(np.mean([np.isin(*pair).mean() for pair in zip(near, near_on_map, strict=True)]))


def test_w1_topics_become_islands() -> None:
    each = 60
    places = lay_out(topics(each)).reshape(TOPICS, each, 2)

    centres = np.median(places, axis=1)
    radii = [np.quantile(np.linalg.norm(places[topic] - centres[topic], axis=1), 0.95) for topic in range(TOPICS)]
    between = distances(centres)[np.triu_indices(TOPICS, 1)]
    assert between.min() > 2 * max(radii)


def test_w1_neighbours_stay_neighbours_far_better_than_on_a_plain_projection() -> None:
    chance = np.random.default_rng(5)
    vectors = unit(chance.normal(size=(400, 8)) @ chance.normal(size=(8, DIMENSION)))
    centred = vectors - vectors.mean(axis=0)
    projection = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T

    kept = share_of_neighbours_kept(vectors, lay_out(vectors))

    assert kept > 0.6
    assert kept > 1.5 * share_of_neighbours_kept(vectors, projection)


def test_the_same_vectors_give_the_same_map_and_it_fills_the_square() -> None:
    vectors = topics(20)

    first, second = lay_out(vectors), lay_out(vectors)

    assert np.array_equal(first, second)
    assert first.dtype == np.float32
    assert np.abs(first).max() == pytest.approx(1)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 16, 17])
def test_a_few_documents_have_a_map_too(count: int) -> None:
    places = lay_out(topics(5)[:count])

    assert places.shape == (count, 2)
    assert np.isfinite(places).all()
    assert np.abs(places).max(initial=0) <= 1


@pytest.mark.parametrize("count", [2, 50])
def test_documents_that_say_the_same_do_not_cover_each_other(count: int) -> None:
    same = np.repeat(topics(1)[:1], count, axis=0)

    places = lay_out(same)

    assert np.isfinite(places).all()
    assert distances(places)[np.triu_indices(count, 1)].min() > 1e-3


def test_vectors_of_nothing_but_zeros_do_no_harm() -> None:
    vectors = topics(10)
    vectors[3] = 0

    assert np.isfinite(lay_out(vectors)).all()


def test_from_where_documents_lay_before_the_map_stays_recognisable() -> None:
    vectors = topics(50)
    before = lay_out(vectors[:-20])
    start = np.concatenate([before, place_beside(vectors[-20:], np.arange(20), vectors[:-20], before)])

    after = lay_out(vectors, start=start)

    moved = np.linalg.norm(after[: len(before)] - before, axis=1)
    assert np.median(moved) < 0.25
    assert np.corrcoef(distances(before).ravel(), distances(after[: len(before)]).ravel())[0, 1] > 0.95


def test_a_new_document_is_placed_amid_its_kin() -> None:
    vectors, new = topics(50), topics(3, seed=2)
    places = lay_out(vectors)

    spots = place_beside(new, np.arange(100, 112), vectors, places)

    nearest_on_map = np.linalg.norm(spots[:, None] - places[None], axis=2).argmin(axis=1)
    assert (nearest_on_map // 50).tolist() == (np.arange(12) // 3).tolist()
    assert len(np.unique(spots, axis=0)) == 12


def test_a_new_document_beside_a_single_one_lies_close_to_it_and_not_on_it() -> None:
    vectors = topics(1)
    place = np.array([[1.0, -1.0]], np.float32)

    spots = place_beside(vectors[:2], np.array([7, 8]), vectors[:1], place)

    assert np.abs(spots).max() <= 1
    assert 0 < distances(np.concatenate([place, spots]))[0, 1:].max() < 0.02


def test_neighbours_are_found_exactly_also_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(neighbours, "NUMBERS_AT_ONCE", 1000)
    vectors, breaths = topics(40), []
    likeness = vectors @ vectors.T
    np.fill_diagonal(likeness, -1)

    found = find_each_others_neighbours(vectors, 5, lambda: breaths.append(1))

    assert np.allclose(found.cosines, -np.sort(-likeness, axis=1)[:, :5], atol=1e-6)
    assert np.allclose(np.take_along_axis(likeness, found.rows, axis=1), found.cosines, atol=1e-6)
    assert len(breaths) > 10
    itself = find_neighbours(vectors[:3], vectors, 1, lambda: None)
    assert itself.rows.tolist() == [[0], [1], [2]]
