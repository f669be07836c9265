import math
from collections.abc import Callable, Sequence

import pytest
from evaluation.metrics import Judgments, fuse_ranks, ndcg, recall, reciprocal_rank


def test_a_perfect_ranking_scores_one_in_every_metric() -> None:
    ranking, judgments = ["a", "b", "c"], {"a": 2, "b": 1}

    scores = [metric(ranking, judgments, 10) for metric in (ndcg, recall, reciprocal_rank)]

    assert scores == pytest.approx([1.0, 1.0, 1.0])


def test_a_ranking_without_anything_relevant_scores_zero_in_every_metric() -> None:
    ranking, judgments = ["x", "y"], {"a": 1}

    scores = [metric(ranking, judgments, 10) for metric in (ndcg, recall, reciprocal_rank)]

    assert scores == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("metric", [ndcg, recall, reciprocal_rank])
def test_what_stands_below_the_depth_does_not_count(metric: Callable[[Sequence[str], Judgments, int], float]) -> None:
    assert metric(["x", "y", "a"], {"a": 1}, 2) == 0.0


def test_ndcg_discounts_by_the_logarithm_of_the_place() -> None:
    assert ndcg(["x", "a"], {"a": 1}, 10) == pytest.approx(1 / math.log2(3))


def test_ndcg_prefers_the_higher_grade_first() -> None:
    judgments = {"a": 3, "b": 1}

    assert ndcg(["a", "b"], judgments, 10) > ndcg(["b", "a"], judgments, 10)


def test_ndcg_is_one_when_there_are_more_relevant_items_than_places() -> None:
    judgments = {str(number): 1 for number in range(20)}

    assert ndcg([str(number) for number in range(5)], judgments, 5) == pytest.approx(1.0)


def test_recall_is_the_share_of_the_relevant_that_was_found() -> None:
    assert recall(["a", "x", "b"], {"a": 1, "b": 1, "c": 1, "d": 1}, 10) == 0.5


def test_an_item_judged_with_grade_zero_is_not_relevant() -> None:
    assert recall(["a"], {"a": 0, "b": 1}, 10) == 0.0
    assert reciprocal_rank(["a", "b"], {"a": 0, "b": 1}, 10) == 0.5


def test_rank_fusion_puts_what_both_lists_hold_before_what_one_holds() -> None:
    assert fuse_ranks(["a", "b", "c"], ["d", "b", "e"])[0] == "b"


def test_rank_fusion_orders_equals_by_their_name() -> None:
    assert fuse_ranks(["b"], ["a"]) == ["a", "b"]
