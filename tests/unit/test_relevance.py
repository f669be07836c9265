import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.search.fusion import Candidates
from kb.engine.search.relevance import estimate_relevance

BEST_POSSIBLE = 10.0


def relevance(keyword_score: float | None, cosine: float | None, best_possible: float = BEST_POSSIBLE) -> float:
    one = np.ones(1, np.int64)
    told = [np.array([np.nan if score is None else score]) for score in (keyword_score, cosine, 0.0)]
    (estimate,) = estimate_relevance(Candidates(one, one, one, *told), best_possible).tolist()
    return float(estimate)


anything = st.none() | st.floats(allow_nan=True, allow_infinity=True)


@given(anything, anything, st.floats(allow_nan=True, allow_infinity=True))
def test_it_is_between_0_and_1_whatever_the_scores(
    keyword_score: float | None, cosine: float | None, best_possible: float
) -> None:
    estimate = relevance(keyword_score, cosine, best_possible)

    assert math.isfinite(estimate)
    assert 0.0 <= estimate <= 1.0


@given(st.none() | st.floats(-1, 1), st.floats(0, 10), st.floats(0, 10))
def test_a_higher_keyword_score_is_never_less_relevant(cosine: float | None, one: float, other: float) -> None:
    low, high = sorted((one, other))

    assert relevance(low, cosine) <= relevance(high, cosine)


@given(st.none() | st.floats(0, 10), st.floats(-1, 1), st.floats(-1, 1))
def test_a_higher_cosine_is_never_less_relevant(keyword_score: float | None, one: float, other: float) -> None:
    low, high = sorted((one, other))

    assert relevance(keyword_score, low) <= relevance(keyword_score, high)


@pytest.mark.parametrize("cosine", [None, 0.4])
def test_a_chunk_that_has_none_of_the_words_is_as_relevant_as_one_that_scores_nothing(cosine: float | None) -> None:
    assert relevance(None, cosine) == relevance(0.0, cosine)


def test_only_the_share_of_the_best_possible_score_counts() -> None:
    assert relevance(2.0, 0.4, best_possible=4.0) == relevance(20.0, 0.4, best_possible=40.0)


def test_where_no_words_could_be_looked_for_the_cosine_alone_decides() -> None:
    """Else a synonym would be marked down for missing words that no chunk has."""
    assert relevance(None, 0.5, best_possible=0.0) > relevance(None, 0.5)


def test_a_match_in_both_ways_is_likely_and_one_in_neither_is_not() -> None:
    assert relevance(9.0, 0.7) > 0.7
    assert relevance(None, 0.05) < 0.3
