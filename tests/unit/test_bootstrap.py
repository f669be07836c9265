import numpy as np
import pytest
from evaluation.bootstrap import Floats, Interval, bootstrap_mean
from hypothesis import given, settings
from hypothesis import strategies as st

FIGURES = st.lists(st.floats(0, 1), min_size=1, max_size=50).map(lambda figures: np.array(figures, np.float64))


def bell(*, mean: float, deviation: float, count: int) -> Floats:
    return np.random.default_rng(7).normal(mean, deviation, count)


def test_the_interval_of_a_mean_is_the_one_that_theory_gives() -> None:
    figures = bell(mean=0.5, deviation=0.2, count=400)

    interval = bootstrap_mean(figures)

    standard_error = figures.std() / np.sqrt(len(figures))
    assert interval.low == pytest.approx(figures.mean() - 1.96 * standard_error, abs=0.1 * standard_error)
    assert interval.high == pytest.approx(figures.mean() + 1.96 * standard_error, abs=0.1 * standard_error)


def test_the_same_figures_have_the_same_interval_every_time() -> None:
    figures = bell(mean=0.5, deviation=0.2, count=50)

    assert bootstrap_mean(figures) == bootstrap_mean(figures)


def test_figures_that_are_all_alike_leave_no_doubt() -> None:
    assert bootstrap_mean(np.full(10, 0.25)) == Interval(0.25, 0.25)


def test_in_pairs_a_small_difference_shows_that_two_intervals_would_hide() -> None:
    before = bell(mean=0.5, deviation=0.2, count=200)
    after = before - np.abs(bell(mean=0.02, deviation=0.01, count=200))

    assert bootstrap_mean(after).high > bootstrap_mean(before).low
    assert bootstrap_mean(after - before).high < 0


# Each example is two thousand resamples.
@settings(max_examples=10)
@given(FIGURES)
def test_an_interval_lies_within_the_figures(figures: Floats) -> None:
    interval = bootstrap_mean(figures)

    assert figures.min() - 1e-9 <= interval.low <= interval.high <= figures.max() + 1e-9
