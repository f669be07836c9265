from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.cli.evaluating.measures import ndcg, recall, reciprocal_rank

RANKINGS = st.lists(st.integers(0, 20), max_size=20, unique=True)
EXPECTED = st.frozensets(st.integers(0, 20), min_size=1)


@pytest.mark.parametrize(
    ("ranking", "expected", "figures"),
    [
        ([7], {7}, (1.0, 1.0, 1.0)),
        ([1, 2, 7], {7}, (1 / log2(4), 1.0, 1 / 3)),
        ([1, 7, 2, 8], {7, 8}, ((1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)), 1.0, 1 / 2)),
        ([7, 1], {7, 8}, (1 / (1 + 1 / log2(3)), 0.5, 1.0)),
        ([1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 7], {7}, (0.0, 0.0, 0.0)),
        ([], {7}, (0.0, 0.0, 0.0)),
    ],
)
def test_the_figures_are_those_computed_by_hand(
    ranking: list[int], expected: set[int], figures: tuple[float, float, float]
) -> None:
    measured = [measure(ranking, expected, 10) for measure in (ndcg, recall, reciprocal_rank)]

    assert measured == pytest.approx(figures)


def test_of_more_than_fit_the_best_order_has_as_many_as_fit() -> None:
    expected = set(range(12))

    assert ndcg(range(10), expected, 10) == pytest.approx(1)
    assert recall(range(10), expected, 10) == pytest.approx(10 / 12)


@given(RANKINGS, EXPECTED, st.integers(1, 20))
def test_every_figure_is_between_0_and_1_and_0_only_together(
    ranking: list[int], expected: set[int], depth: int
) -> None:
    figures = [measure(ranking, expected, depth) for measure in (ndcg, recall, reciprocal_rank)]

    assert all(0 <= figure <= 1 + 1e-9 for figure in figures)
    assert len({figure > 0 for figure in figures}) == 1


@given(RANKINGS, EXPECTED, st.integers(1, 20))
def test_what_was_expected_at_the_top_makes_no_figure_worse(ranking: list[int], expected: set[int], depth: int) -> None:
    best_first = sorted(ranking, key=lambda item: item not in expected)

    for measure in (ndcg, recall, reciprocal_rank):
        assert measure(best_first, expected, depth) >= measure(ranking, expected, depth) - 1e-9
