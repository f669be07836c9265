from collections.abc import Callable, Mapping, Sequence
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.cli.evaluating.measures import Judgments, all_alike, ndcg, recall, reciprocal_rank

Measure = Callable[[Sequence[int], Judgments[int], int], float]

MEASURES: tuple[Measure, ...] = (ndcg, recall, reciprocal_rank)
RANKINGS = st.lists(st.integers(0, 20), max_size=20, unique=True)
JUDGMENTS = st.dictionaries(st.integers(0, 20), st.integers(1, 3), min_size=1)


@pytest.mark.parametrize(
    ("ranking", "expected", "figures"),
    [
        ([7], {7}, (1.0, 1.0, 1.0)),
        ([1, 2, 7], {7}, (1 / log2(4), 1.0, 1 / 3)),
        ([1, 7, 2, 8], {7, 8}, ((1 / log2(3) + 1 / log2(5)) / (1 + 1 / log2(3)), 1.0, 1 / 2)),
        ([7, 1], {7, 8}, (1 / (1 + 1 / log2(3)), 0.5, 1.0)),
        ([1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 7], {7}, (0.0, 0.0, 0.0)),
        ([1, 2], {7}, (0.0, 0.0, 0.0)),
        ([], {7}, (0.0, 0.0, 0.0)),
    ],
)
def test_the_figures_are_those_computed_by_hand(
    ranking: list[int], expected: set[int], figures: tuple[float, float, float]
) -> None:
    measured = [measure(ranking, all_alike(expected), 10) for measure in MEASURES]

    assert measured == pytest.approx(figures)


def test_a_perfect_ranking_of_items_with_different_grades_scores_one_in_every_measure() -> None:
    measured = [measure([7, 8, 9], {7: 2, 8: 1}, 10) for measure in MEASURES]

    assert measured == pytest.approx([1.0, 1.0, 1.0])


def test_ndcg_prefers_the_higher_grade_first() -> None:
    judgments = {7: 3, 8: 1}

    assert ndcg([7, 8], judgments, 10) > ndcg([8, 7], judgments, 10)


def test_an_item_judged_with_grade_zero_is_not_relevant() -> None:
    assert recall([7], {7: 0, 8: 1}, 10) == 0.0
    assert reciprocal_rank([7, 8], {7: 0, 8: 1}, 10) == 0.5


def test_where_nothing_is_relevant_every_measure_is_zero() -> None:
    nothing: Mapping[int, int] = {}

    assert [measure([7], nothing, 10) for measure in MEASURES] == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("measure", MEASURES)
def test_what_stands_below_the_depth_does_not_count(measure: Measure) -> None:
    assert measure([1, 2, 7], {7: 1}, 2) == 0.0


def test_of_more_than_fit_the_best_order_has_as_many_as_fit() -> None:
    expected = all_alike(range(12))

    assert ndcg(range(10), expected, 10) == pytest.approx(1)
    assert recall(range(10), expected, 10) == pytest.approx(10 / 12)


@given(RANKINGS, JUDGMENTS, st.integers(1, 20))
def test_every_figure_is_between_0_and_1_and_0_only_together(
    ranking: list[int], judgments: dict[int, int], depth: int
) -> None:
    figures = [measure(ranking, judgments, depth) for measure in MEASURES]

    assert all(0 <= figure <= 1 + 1e-9 for figure in figures)
    assert len({figure > 0 for figure in figures}) == 1


@given(RANKINGS, JUDGMENTS, st.integers(1, 20))
def test_the_most_relevant_at_the_top_makes_no_figure_worse(
    ranking: list[int], judgments: dict[int, int], depth: int
) -> None:
    best_first = sorted(ranking, key=lambda item: -judgments.get(item, 0))

    for measure in MEASURES:
        assert measure(best_first, judgments, depth) >= measure(ranking, judgments, depth) - 1e-9
