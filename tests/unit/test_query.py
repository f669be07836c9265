import time
import timeit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.search.query import MAX_TERMS, parse_query
from kb.engine.words import find_words


def test_phrases_in_quotes_are_required_and_their_words_count() -> None:
    """S4"""
    query = parse_query('the "big red dog" barks')

    assert query.required == ("big red dog",)
    assert query.words == ("big", "red", "dog", "barks")
    assert query.meaning == "the big red dog barks"


def test_typographic_quotes_are_quotes() -> None:
    query = parse_query("\u201chello world\u201d -\u201cbad thing\u201d")

    assert query.required == ("hello world",)
    assert query.excluded == ("bad thing",)


def test_a_hyphen_in_front_of_a_word_or_phrase_excludes_it() -> None:
    """S4"""
    query = parse_query('jaguar -car -"sports team" -日本')

    assert query.excluded == ("car", "sports team", "日本")
    assert query.words == ("jaguar",)
    assert query.meaning == "jaguar"


@pytest.mark.parametrize("text", ["state-of-the-art", "run --flag", "below -5 degrees", "a - b", '12" pipe 6" long'])
def test_other_hyphens_and_quotes_are_plain_text(text: str) -> None:
    """S4"""
    query = parse_query(text)

    assert query.excluded == ()
    assert query.required == ()


def test_exclusions_alone_are_read_as_plain_words() -> None:
    query = parse_query('-cats -"black birds"')

    assert query.words == ("cats", "black", "birds")
    assert query.excluded == ()
    assert query.meaning == "cats black birds"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("how do I renew the passport", ("renew", "passport")),
        ("the who", ("the", "who")),
        ("The company's plan isn't vitamin d", ("company", "plan", "vitamin", "d")),
        ("dog dog cat", ("dog", "dog", "cat")),
        ("今天天气 iPhone手机", ("今天天气", "iPhone", "手机")),
        ("🎉 !!!", ()),
    ],
)
def test_stop_words_go_only_while_others_remain(text: str, words: tuple[str, ...]) -> None:
    assert parse_query(text).words == words


def test_names_and_codes_are_looked_for_in_other_spellings_too() -> None:
    query = parse_query('does "SHP-2" need wi-fi and/or e-mail -anti-virus')

    assert query.words == ("SHP", "2", "need", "wi", "fi", "e", "mail")
    assert query.spellings == ("SHP2", "SHP 2", "wifi", "wi fi", "andor", "email", "e mail")


@pytest.mark.parametrize(
    ("text", "is_english"),
    [
        ("TNFAIP3 is a tumor suppressor in glioblastoma", True),
        ("the who", True),
        ("In welchem Jahr wurde das Lied Fog on the Tyne von der Band aus England veröffentlicht", False),
        ("Ivermectin onchocerciasis", False),
        ("waar is de sleutel", False),
        ("regler for opsigelse", False),
        ("cine are cheia", False),
        ("Versand per Nachnahme", False),
        ("Was kostet die Fahrkarte nach Hamburg am Wochenende", False),
        ("Cine a scris romanul și în ce an", False),
        ("столица страны", False),
        ("🎉", False),
    ],
)
def test_english_is_known_by_its_small_words(text: str, is_english: bool) -> None:  # noqa: FBT001 - a parameter
    assert parse_query(text).is_english == is_english


def test_a_query_without_words_keeps_its_meaning() -> None:
    assert parse_query("🎉").meaning == "🎉"
    assert parse_query('""').meaning == '""'


def test_terms_are_bounded_in_every_script() -> None:
    assert len(parse_query("word " * 500).words) == MAX_TERMS
    assert parse_query("今" * 10_000).words == ("今" * (MAX_TERMS + 1),)


@pytest.mark.parametrize(
    "unit", ['"-"-"', '-"', '" "', "-a ", 'a"', "NEAR(* ", "^:", "n't", ' -"', "今-", "a-1.", "a1"]
)
def test_ten_thousand_characters_of_operators_are_parsed_at_once(unit: str) -> None:
    """S4: linear time; the bound is some ten times what is measured, for busy machines.

    The best of three: a collection of all the garbage of other tests may fall into one.
    """
    text = (unit * 10_000)[:10_000]

    assert min(timeit.repeat(lambda: parse_query(text), timer=time.process_time, number=1, repeat=3)) < 0.1


@pytest.mark.parametrize(
    ("text", "beginning"),
    [
        ("install kuber", "kuber"),
        ("ku", "ku"),
        ("k", ""),
        ("kuber ", ""),
        ('"kuber"', ""),
        ("\u201ckuber\u201d", ""),
        ('"in kuber', "kuber"),
        ("walrus -kuber", ""),
        ("kuber?", ""),
        ("what is the", ""),
        ("図書館", ""),
        ("node kuber -pod", ""),
        (" ".join(f"word{number}" for number in range(MAX_TERMS + 1)), ""),
    ],
)
def test_only_a_word_that_may_go_on_is_completed(text: str, beginning: str) -> None:
    """W1"""
    assert parse_query(text, complete_last_word=True).beginning == beginning
    assert parse_query(text).beginning == ""


@given(st.text(alphabet=st.one_of(st.sampled_from('"-\u201c\u201d *:^()ab今'), st.characters()), min_size=1))
def test_any_text_is_a_legal_query(text: str) -> None:
    """S4"""
    query = parse_query(text)

    assert max(len(query.words), len(query.spellings)) <= MAX_TERMS
    assert all(any(find_words(phrase)) and '"' not in phrase for phrase in query.required + query.excluded)
    assert bool(query.meaning) == bool(text.strip())
    assert query.words or not query.excluded
