import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kb.engine.ingestion.chunking import split_into_passages
from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.token_spans import MAX_CHARACTERS_PER_TOKEN
from kb.engine.model import Passage


def token_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def split(text: str, max_tokens: int) -> list[str]:
    return [passage.text for passage in split_into_passages([Section(text)], token_spans, max_tokens=max_tokens)]


def test_a_short_section_is_one_passage_with_its_place() -> None:
    passages = split_into_passages([Section(" Hello. \n", "A > B", 3)], token_spans, max_tokens=10)

    assert passages == [Passage("Hello.", "A > B", 3)]


def test_a_passage_never_spans_two_sections() -> None:
    """I6"""
    sections = [Section("One.", page_num=1), Section("  \n"), Section("Two.", page_num=2)]

    passages = split_into_passages(sections, token_spans, max_tokens=100)

    assert [(passage.text, passage.page_num) for passage in passages] == [("One.", 1), ("Two.", 2)]


def test_text_is_cut_at_paragraphs_before_sentences() -> None:
    """I6"""
    text = "One two three. Four five six.\n\nSeven eight. Nine ten eleven twelve. Thirteen fourteen fifteen."

    assert split(text, 12)[0] == "One two three. Four five six."


def test_a_sentence_that_fits_is_not_cut() -> None:
    """I6"""
    text = "Go on. This sentence has nine words in all, okay? Short one. " + "Another of them is here. " * 4

    passages = split(text, 12)

    assert all(passage[-1] in ".?" for passage in passages)


@pytest.mark.parametrize(
    "text", ["He met Dr. Smith and J. Doe there.", "It costs approx. Five euros, see fig. 3 here."]
)
def test_an_abbreviation_does_not_end_a_sentence(text: str) -> None:
    first = split(f"{text} {text}", len(token_spans(text)) + 3)[0]

    assert first == text


def test_chinese_is_cut_after_its_full_stops() -> None:
    def characters(text: str) -> list[tuple[int, int]]:
        return [(position, position + 1) for position in range(len(text))]

    passages = split_into_passages([Section("今天天气很好。我们去公园。他说好。")], characters, max_tokens=10)

    assert [passage.text for passage in passages] == ["今天天气很好。", "我们去公园。他说好。"]


def test_list_items_and_lines_of_code_hold_together() -> None:
    items = "\n".join(f"- item number {n} of the list" for n in range(8))
    code = "```\n" + "\n".join(f"x{n} = f(a. b, {n})" for n in range(12)) + "\n```"

    assert all(passage.startswith("- item") for passage in split(items, 20))
    assert all(line in code.split("\n") for passage in split(code, 30) for line in passage.split("\n"))


def test_the_last_passage_is_not_a_scrap() -> None:
    text = "Alpha beta gamma. " * 11

    sizes = [len(token_spans(passage)) for passage in split(text, 40)]

    assert len(sizes) == 2
    assert min(sizes) >= 10


@pytest.mark.parametrize("unit", ["x", "word ", "今天天气。", "a b\n", '."', "```\n", "\n", "`", ". "])
def test_a_million_characters_are_split_in_linear_time(unit: str) -> None:
    """I6: a word of a million characters is one token to the model, and still becomes readable passages."""
    text = (unit * 1_000_000)[:1_000_000]

    started = time.process_time()
    passages = split(text, 240)

    assert time.process_time() - started < 10
    assert all(len(passage) <= 240 * MAX_CHARACTERS_PER_TOKEN for passage in passages)
    assert sum(map(len, passages)) >= len("".join(text.split()))


TEXTS = st.text(alphabet=st.sampled_from("ab .!?\n-#`今。é\t1|"), max_size=300) | st.text(max_size=200)


@settings(deadline=None)
@given(TEXTS, st.integers(min_value=1, max_value=30))
def test_no_text_is_lost_and_no_passage_is_too_long_or_blank(text: str, max_tokens: int) -> None:
    """I6"""
    passages = split(text, max_tokens)

    assert "".join("".join(passages).split()) == "".join(text.split())
    assert all(passage.strip() == passage != "" for passage in passages)
    assert all(len(token_spans(passage)) <= max_tokens for passage in passages)
    assert all(passage in text for passage in passages)
    assert passages == split(text, max_tokens)


def knows_only_short_words(text: str) -> list[tuple[int, int]]:
    """Like the model's tokenizer: short words letter by letter, an overlong one as a single unknown token."""
    words = [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]
    return [
        span
        for start, end in words
        for span in ([(start, end)] if end - start > 12 else [(i, i + 1) for i in range(start, end)])
    ]


WORDS = st.integers(min_value=1, max_value=14) | st.integers(min_value=100, max_value=900)


@settings(deadline=None)
@given(st.lists(st.tuples(WORDS, st.sampled_from([" ", ",", "\n", ". "])), max_size=30))
@example([(346, ". "), (11, " "), (2, ","), (487, "\n"), (10, ",")])
def test_scraps_of_overlong_words_do_not_overfill_a_passage(words: list[tuple[int, str]]) -> None:
    """I6"""
    text = "".join("x" * length + end for length, end in words)

    passages = split_into_passages([Section(text)], knows_only_short_words, max_tokens=20)

    assert all(len(knows_only_short_words(passage.text)) <= 20 for passage in passages)
    assert "".join("".join(passage.text for passage in passages).split()) == "".join(text.split())
