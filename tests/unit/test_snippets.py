import re
import time
import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.search.snippets import cut_snippet, find_stretches


def test_the_part_with_the_most_distinct_words_is_shown() -> None:
    text = "apple " * 60 + "filler " * 60 + "apple and pear in one place " + "filler " * 60

    snippet = cut_snippet(text, ["apple", "pear"], width=80)

    assert "**apple** and **pear**" in snippet
    assert snippet.startswith("…")
    assert snippet.endswith("…")


@pytest.mark.parametrize("text", ["Pods on Kubernetes", "Pods on Kübernetes"])
def test_what_begins_with_a_word_that_is_still_typed_is_marked(text: str) -> None:
    """W1"""
    assert cut_snippet(text, ["pods", "ku"], beginning="ku").startswith("**Pods** on **K")
    assert "**K" not in cut_snippet(text, ["pods", "ku"])


def test_stretches_are_what_a_snippet_marks() -> None:
    text = "Walruses and a walrus\nwith SHP 2"

    stretches = find_stretches(text, ["walrus", "SHP 2", "shp", "w"])

    assert [text[start:end] for start, end in stretches] == ["Walruses", "walrus", "SHP 2"]


def test_the_earliest_of_equal_parts_is_shown() -> None:
    text = "first pear. " + "filler " * 100 + "second pear."

    assert cut_snippet(text, ["pear"], width=40).startswith("first **pear**.")


@pytest.mark.parametrize(
    ("word", "text"),
    [
        ("plan", "planned"),
        ("planning", "planned"),
        ("policy", "Policies"),
        ("cat", "cats"),
        ("elan", "Élan"),
        ("migration", "migrated"),
        ("city", "cities"),
        ("date", "dating"),
    ],
)
def test_words_that_differ_by_an_ending_are_marked(word: str, text: str) -> None:
    assert cut_snippet(text, [word]) == f"**{text}**"


@pytest.mark.parametrize(
    ("word", "text"),
    [("2023", "2024"), ("form", "fort"), ("cat", "category"), ("it", "item"), ("frost", "from"), ("plant", "plane")],
)
def test_words_that_only_look_alike_are_not_marked(word: str, text: str) -> None:
    assert cut_snippet(text, [word]) == text


def test_unspaced_words_are_marked_whole_or_by_their_pairs() -> None:
    """S6"""
    assert cut_snippet("我说今天天气很好。", ["今天天气"]) == "我说**今天天气**很好。"
    assert cut_snippet("今天很热。天气不好", ["今天天气"]) == "**今天**很热。**天气**不好"


@pytest.mark.parametrize("written", ["SHP-2", "shp 2", "SHP\u20112"])
def test_a_phrase_is_marked_whatever_stands_between_its_parts(written: str) -> None:
    text = "Nothing of it stands here. " * 20 + f"They need {written} and 2 more, not SHP-23."

    assert cut_snippet(text, ["SHP2", "SHP 2"]).endswith(f"They need **{written}** and 2 more, not SHP-23.")


def test_a_phrase_weighs_no_more_than_a_word() -> None:
    text = "Of SHP-2 first. " + "Nothing of it stands here. " * 20 + "Pancreas cancer and kras in cells."

    assert "**Pancreas**" in cut_snippet(text, ["SHP", "2", "SHP2", "SHP 2", "cancer", "pancreas", "kras", "cells"])


def test_without_a_match_the_beginning_is_shown_cut_at_a_word() -> None:
    assert cut_snippet("one two three four", ["zebra"], width=10) == "one two…"


def test_whitespace_is_collapsed_and_the_texts_own_emphasis_dropped() -> None:
    assert cut_snippet("a\n\n  **bold**\tmove", ["bold"]) == "a **bold** move"


def test_an_empty_text_has_an_empty_snippet() -> None:
    assert cut_snippet("", ["word"]) == ""


def test_a_huge_chunk_costs_no_more_than_its_beginning() -> None:
    text = "word " * 200_000

    # The best of three: a collection of all the garbage of other tests may fall into one.
    seconds = min(timeit.repeat(lambda: cut_snippet(text, ["word"]), timer=time.process_time, number=1, repeat=3))

    assert seconds < 0.2
    assert cut_snippet(text, ["word"]).endswith("…")


@given(
    st.text(alphabet="ab cd\n今天é.", max_size=400),
    st.lists(st.text(alphabet="abcd今天é", min_size=1, max_size=6), max_size=5),
    st.integers(min_value=10, max_value=100),
)
def test_a_snippet_is_a_piece_of_the_text_no_wider_than_asked(text: str, words: list[str], width: int) -> None:
    bare = re.sub(r"\*\*|^…|…$", "", cut_snippet(text, words, width=width))

    assert len(bare) <= width
    assert bare in " ".join(text.split())


plain_words = st.lists(st.text("aAbBcC19", min_size=1, max_size=6), min_size=1, max_size=12)


@given(
    plain_words,
    plain_words,
    st.sampled_from([" ", "_", "-", "\u2019", "\u2014", "\u00b6", "\u2192", "\ufffd", "\U0001f600"]),
)
def test_plain_text_is_marked_like_any_other(sought: list[str], words: list[str], between: str) -> None:
    """An accent anywhere makes it text of the other kind."""
    text = between.join(words)

    assert cut_snippet(f"{text} é", sought) == f"{cut_snippet(text, sought)} é"
