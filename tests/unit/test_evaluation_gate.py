from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from evaluation.gate import Accepted, accept, find_faults, read_accepted, write_accepted
from evaluation.scores import HYBRID, MEASURES, RANK_FUSION, SINGLE_METHODS, SetScores

FTS, VECTOR = SINGLE_METHODS


def scores(hybrid: Sequence[float], *, fts: float = 0.0, languages: Sequence[str | None] = ()) -> SetScores:
    """Every measure of hybrid search has these figures, every one of the single methods one figure throughout."""
    by_method = {HYBRID: hybrid, FTS: [fts] * len(hybrid), VECTOR: [0.0] * len(hybrid), RANK_FUSION: hybrid}
    figures = {method: dict.fromkeys(MEASURES, np.array(values, np.float64)) for method, values in by_method.items()}
    return SetScores("set", figures, languages or [None] * len(hybrid))


def test_the_scores_that_were_accepted_have_not_fallen() -> None:
    thirds = scores([1 / 3, 2 / 3, 1.0, 0.0] * 50, languages=["de", "en"] * 100)

    assert find_faults(thirds, accept(thirds)) == []


def test_a_set_that_was_never_accepted_cannot_fall() -> None:
    assert find_faults(scores([0.1, 0.2]), None) == []


def test_a_mean_that_fell_beyond_the_tolerance_is_told() -> None:
    before = accept(scores([0.5, 0.5]))

    faults = find_faults(scores([0.9, 0.05]), before)

    assert faults == [f"set: {measure} fell from 0.5000 to 0.4750, by more than 0.01." for measure in MEASURES]


def test_the_recall_of_one_language_is_told_when_others_make_up_for_it() -> None:
    before = accept(scores([0.5, 0.5], languages=["de", "en"]))

    faults = find_faults(scores([0.6, 0.4], languages=["de", "en"]), before)

    assert faults == ["set: Recall@10 en fell from 0.5000 to 0.4000, by more than 0.01."]


def test_many_small_falls_are_told_although_each_mean_is_within_the_tolerance() -> None:
    before = accept(scores([0.5] * 200))

    faults = find_faults(scores([0.5] * 100 + [0.49] * 100), before)

    assert len(faults) == 1
    assert faults[0].startswith("set: nDCG@10 fell beyond noise: by 0.0050, and in 95 of 100 samples of its queries by")


def test_falls_and_rises_that_nearly_cancel_out_are_noise() -> None:
    before = accept(scores([0.5] * 200))

    assert find_faults(scores([0.4] * 101 + [0.6] * 99), before) == []


def test_a_rise_is_no_fault() -> None:
    assert find_faults(scores([0.9] * 20), accept(scores([0.5] * 20))) == []


def test_figures_that_only_rounding_moved_have_not_fallen() -> None:
    before = accept(scores([0.6309] * 200))

    assert before.ndcg_of_queries == [0.631] * 200
    assert find_faults(scores([0.63093] * 200), before) == []


def test_hybrid_search_may_be_a_little_below_the_better_of_its_parts() -> None:
    assert find_faults(scores([0.5, 0.5], fts=0.519), None) == []


def test_hybrid_search_far_below_the_better_of_its_parts_is_told_even_if_it_was_accepted() -> None:
    lagging = scores([0.5, 0.5], fts=0.53)

    assert find_faults(lagging, accept(lagging)) == [
        "set: nDCG@10 is 0.5000, more than 0.02 below the 0.5300 of fts alone."
    ]


@pytest.mark.parametrize("other", [scores([0.5] * 3), scores([0.5] * 2, languages=["de", "en"])])
def test_a_set_that_is_not_the_accepted_one_cannot_be_compared(other: SetScores) -> None:
    faults = find_faults(other, accept(scores([0.5] * 2)))

    assert faults == [
        "set: it is not the set whose scores were accepted. Look at its scores and accept them with --accept."
    ]


def test_what_is_accepted_is_read_as_it_was_written(tmp_path: Path) -> None:
    accepted = {"b": Accepted({"nDCG@10": 0.5}, [0.333, 0.667]), "a": accept(scores([0.5], languages=["de"]))}

    write_accepted(accepted, tmp_path / "accepted.json")

    assert read_accepted(tmp_path / "accepted.json") == accepted


def test_the_figures_of_a_set_stand_on_one_line(tmp_path: Path) -> None:
    write_accepted({"set": Accepted({"nDCG@10": 0.5}, [0.333, 0.667])}, tmp_path / "accepted.json")

    lines = (tmp_path / "accepted.json").read_text().splitlines()
    assert '    "ndcg_of_queries": [0.333, 0.667]' in lines


def test_the_means_of_metrics_and_languages_are_accepted_and_of_queries_only_figures() -> None:
    accepted = accept(scores([1 / 3, 0.5], languages=["de", None]))

    assert accepted == Accepted({**dict.fromkeys(MEASURES, 0.4167), "Recall@10 de": 0.3333}, [0.333, 0.5])
