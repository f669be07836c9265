import math

from hypothesis import given
from hypothesis import strategies as st

from kb.engine.storage.sqlite.word_plan import RANKED_IN_FULL, SMALL_BASE, WordPlan, budget_of, plan_words
from kb.engine.storage.words.counting import CountedPhrase
from kb.engine.storage.words.phrases import Phrase

ROWS = 1_000_000


def counted(chunks: int, *, is_required: bool = False, name: str = "") -> CountedPhrase:
    return CountedPhrase(Phrase(name or str(chunks), is_required=is_required), chunks, worth=1.0)


def plan(*chunks: int, row_count: int = ROWS, share: float = 1.0) -> WordPlan:
    return plan_words([counted(count) for count in chunks], row_count=row_count, share=share)


def test_a_query_of_rare_words_is_ranked_by_all_of_them() -> None:
    assert [p.chunks for p in plan(900, 20, 1_000).ranking] == [20, 900, 1_000]
    assert plan(900, 20, 1_000).adding == []


def test_a_small_base_is_ranked_by_all_words() -> None:
    assert plan(SMALL_BASE, SMALL_BASE, row_count=SMALL_BASE).adding == []
    assert budget_of(SMALL_BASE) == math.inf


def test_common_words_only_add_to_the_score_the_most_telling_first() -> None:
    found = plan(300_000, 2_000, 40_000, 100)

    assert [p.chunks for p in found.ranking] == [100, 2_000]
    assert [p.chunks for p in found.adding] == [40_000, 300_000]
    assert found.cost == 2_100


def test_where_few_chunks_are_allowed_more_words_rank() -> None:
    assert [p.chunks for p in plan(100, 2_000, 30_000, 300_000, share=0.001).ranking] == [100, 2_000, 30_000]


def test_what_no_chunk_has_is_not_looked_for() -> None:
    assert [p.chunks for p in plan(0, 5).ranking] == [5]


def test_required_phrases_rank_however_common_they_are() -> None:
    required = counted(400_000, is_required=True)

    found = plan_words([required, counted(500_000), counted(10)], row_count=ROWS)

    assert found.ranking == [required]
    assert [p.chunks for p in found.adding] == [10, 500_000]


@given(
    st.lists(st.integers(0, ROWS), max_size=12),
    st.integers(0, ROWS),
    st.floats(0, 1),
)
def test_the_rarest_rank_and_the_budget_is_exceeded_by_one_word_at_most(
    chunks: list[int], row_count: int, share: float
) -> None:
    phrases = [counted(count, name=f"{place}: {count}") for place, count in enumerate(chunks)]

    found = plan_words(phrases, row_count=row_count, share=share)

    sought = [phrase for phrase in phrases if phrase.chunks > 0]
    assert sorted([*found.ranking, *found.adding], key=id) == sorted(sought, key=id)
    assert bool(found.ranking) == bool(sought)
    if found.adding:
        assert max(p.chunks for p in found.ranking) <= min(p.chunks for p in found.adding)
    if len(found.ranking) > 1:
        assert found.cost <= max(budget_of(row_count), RANKED_IN_FULL)
