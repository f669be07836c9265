from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.model import Background
from kb.engine.search.weighing import EARLY_CHUNKS, measure_depth, measure_fluency, measure_peak, weigh_vectors


def fluency_of(*tokens: str) -> float:
    ends = list(accumulate(map(len, tokens)))
    return measure_fluency("".join(tokens), [(end - len(token), end) for token, end in zip(tokens, ends, strict=True)])


def weight(keyword_peak: float = 7.0, *, vector_peak: float = 0.0, fluency: float = 1.0, depth: float = 0.0) -> float:
    return weigh_vectors(keyword_peak, vector_peak=vector_peak, fluency=fluency, depth=depth)


def test_a_model_is_less_fluent_the_more_it_has_to_spell_out() -> None:
    known = fluency_of("where", "is", "the", "library")
    half_known = fluency_of("wo", "ist", "di", "e", "bib", "li", "oth", "ek")
    spelt_out = fluency_of(*"где библиотека")

    assert known == 1 > half_known > spelt_out == 0


@pytest.mark.parametrize("token", ["ห้องสมุดประชาชนอยู่ที่ไหน", "ห้องสมุด", "图书馆", "Donaudampfschifffahrtsgesellschaft"])
def test_a_sentence_without_spaces_and_an_overlong_word_are_not_known(token: str) -> None:
    assert fluency_of(token) == 0


def test_a_model_does_not_know_what_is_not_there() -> None:
    assert measure_fluency("", []) == 0


def test_vectors_count_less_the_less_the_model_knows_the_words() -> None:
    assert weight(fluency=1) > weight(fluency=0.5) > weight(fluency=0) > 0


def test_what_stands_out_counts_more() -> None:
    assert weight(vector_peak=3) > weight(vector_peak=0)
    assert weight(keyword_peak=12) < weight(keyword_peak=4)


def test_parts_of_long_documents_are_told_apart_by_their_words() -> None:
    assert weight(depth=1) < weight(depth=0.5) < weight(depth=0)


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9), st.floats(0, 1))
def test_neither_vectors_nor_keywords_are_ever_left_out(
    keyword_peak: float, vector_peak: float, fluency: float
) -> None:
    for depth in (0.0, 1.0):
        assert 0 < weight(keyword_peak, vector_peak=vector_peak, fluency=fluency, depth=depth) < 1


def test_a_peak_is_measured_beyond_what_chance_brings() -> None:
    few = measure_peak(0.8, Background(mean=0.2, deviation=0.1, count=10))
    many = measure_peak(0.8, Background(mean=0.2, deviation=0.1, count=100_000))

    assert few > many > 0


@pytest.mark.parametrize("background", [Background(0.0, 0.0, 0), Background(0.9, 0.0, 1), Background(0.5, 0.0, 300)])
def test_nothing_stands_out_from_nothing_and_from_its_equals(background: Background) -> None:
    assert measure_peak(0.9, background) == 0


def test_depth_is_the_share_of_chunks_from_within_long_documents() -> None:
    assert measure_depth(np.array([0, 1, 2, EARLY_CHUNKS - 1])) == 0
    assert measure_depth(np.array([0, EARLY_CHUNKS, 300, 7_000])) == 0.75
    assert measure_depth(np.array([], np.int64)) == 0
