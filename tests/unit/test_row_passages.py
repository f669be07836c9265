import re
import time
from collections.abc import Iterable
from itertools import accumulate, chain

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.engine.ingestion.chunking import split_into_passages
from kb.engine.ingestion.sections import Rows, Section
from kb.engine.ingestion.token_spans import MAX_CHARACTERS_PER_TOKEN, TokenSpans
from kb.engine.model import Passage


def token_spans(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def knows_only_short_words(text: str) -> list[tuple[int, int]]:
    """Like the model's tokenizer: short words letter by letter, an overlong one as a single unknown token."""
    return [
        span
        for start, end in token_spans(text)
        for span in ([(start, end)] if end - start > 12 else [(i, i + 1) for i in range(start, end)])
    ]


def split(
    rows: list[str],
    header: str = "",
    *,
    max_tokens: int,
    numbers: tuple[int, ...] | None = None,
    spans: TokenSpans = token_spans,
) -> list[Passage]:
    section = Section("\n".join(rows), "Sheet", 3, Rows(header, numbers or tuple(range(2, 2 + len(rows)))))
    return split_into_passages([section], spans, max_tokens=max_tokens)


def test_rows_fill_passages_that_repeat_the_header_and_name_their_rows() -> None:
    """I2"""
    passages = split(["a | 1", "b | 2", "c | 3", "d | 4"], "x | y", max_tokens=12)

    assert passages == [
        Passage("x | y\na | 1\nb | 2\nc | 3", "Sheet > rows 2\u20134", 3),
        Passage("x | y\nd | 4", "Sheet > row 5", 3),
    ]


def test_rows_with_no_heading_are_named_all_the_same() -> None:
    section = Section("a | 1\nb | 2", rows=Rows("", (7, 9)))

    passages = split_into_passages([section], token_spans, max_tokens=100)

    assert passages == [Passage("a | 1\nb | 2", "rows 7\u20139", None)]


def test_a_row_too_long_for_a_passage_is_cut_and_each_piece_has_the_header() -> None:
    """I6"""
    passages = split(["short | 1", "one two three four five six seven eight", "last | 2"], "x | y", max_tokens=12)

    assert [(passage.text.split("\n"), passage.heading) for passage in passages] == [
        (["x | y", "short | 1"], "Sheet > row 2"),
        (["x | y", "one two three four five six seven eight"], "Sheet > row 3"),
        (["x | y", "last | 2"], "Sheet > row 4"),
    ]
    pieces = [
        passage for passage in split(["word " * 30], "x | y", max_tokens=12) if passage.heading == "Sheet > row 2"
    ]
    assert len(pieces) > 3
    assert all(piece.text.startswith("x | y\nword") for piece in pieces)
    assert sum(piece.text.count("word") for piece in pieces) == 30


def test_a_header_too_long_is_shortened_and_stands_by_itself_once() -> None:
    """I6: its end would be lost otherwise."""
    header = " | ".join(f"column{n}" for n in range(10))

    first, *others = split(["a | 1"] * 8, header, max_tokens=20)

    assert first == Passage(header, "Sheet", 3)
    assert len(others) > 1
    assert all(passage.text.startswith("column0 | column1\na | 1") for passage in others)


def test_a_table_with_nothing_in_it_gives_nothing() -> None:
    assert split_into_passages([Section("", rows=Rows("x | y", ()))], token_spans, max_tokens=20) == []


CELLS = st.text(alphabet="ab1.|- \u4eca\u00e9", max_size=12) | st.sampled_from(["x" * 30, "y" * 200, "word " * 40])
LINES = st.lists(CELLS, min_size=1, max_size=5).map(lambda cells: " | ".join(cells).strip()).filter(bool)
TABLES = st.lists(st.tuples(LINES, st.integers(min_value=1, max_value=3)), max_size=25)
# No row has an h.
HEADERS = st.lists(st.sampled_from(["h", "hh", "h" * 15, "h" * 100]), max_size=10).map(" | ".join)
# What is cut from an overlong word must not be shorter than what the tokenizer knows.
LIMITS = st.tuples(st.just(token_spans), st.integers(min_value=1, max_value=60)) | st.tuples(
    st.just(knows_only_short_words), st.integers(min_value=20, max_value=60)
)


@settings(deadline=None)
@given(TABLES, HEADERS, LIMITS)
def test_every_row_is_in_one_passage_that_is_short_enough_and_names_it(
    table: list[tuple[str, int]], header: str, limits: tuple[TokenSpans, int]
) -> None:
    """I2, I6"""
    spans, max_tokens = limits
    rows = [row for row, _ in table]
    numbers = tuple(accumulate(step for _, step in table))

    passages = split(rows, header, max_tokens=max_tokens, numbers=numbers, spans=spans)

    assert all(len(spans(passage.text)) <= max_tokens for passage in passages)
    assert all(len(passage.text) <= max_tokens * MAX_CHARACTERS_PER_TOKEN for passage in passages)
    tables = [passage for passage in passages if rows_named(passage)]
    bodies = [[line for line in passage.text.split("\n") if "h" not in line] for passage in tables]
    assert without_spaces(chain.from_iterable(bodies)) == without_spaces(rows)
    for passage, body in zip(tables, bodies, strict=True):
        named = [row for row, number in zip(rows, numbers, strict=True) if number in rows_named(passage)]
        assert body == named or (len(named) == len(body) == 1 and body[0] in named[0])
    others = [passage.text for passage in passages if not rows_named(passage)]
    assert not rows or without_spaces(others) == without_spaces([header]) or header in passages[0].text


def without_spaces(lines: Iterable[str]) -> str:
    return "".join("".join(lines).split())


def rows_named(passage: Passage) -> range:
    place = re.fullmatch(r"Sheet(?: > rows? (\d+)(?:\u2013(\d+))?)?", passage.heading or "")
    assert place
    return range(int(place[1]), int(place[2] or place[1]) + 1) if place[1] else range(0)


@pytest.mark.parametrize("row", ["a | 1", "x" * 1_000, "word " * 500, "|"])
def test_a_million_characters_of_rows_are_split_in_linear_time(row: str) -> None:
    """I6"""
    rows = [row.strip()] * (1_000_000 // len(row))

    started = time.process_time()
    passages = split(rows, "name | value", max_tokens=190)

    assert time.process_time() - started < 10
    assert len(passages) > 100


def test_a_row_of_megabytes_is_not_tokenised_at_once() -> None:
    longest = 0

    def watched(text: str) -> list[tuple[int, int]]:
        nonlocal longest
        longest = max(longest, len(text))
        return [(0, len(text))] if text.strip() else []

    split(["a | 1", "x" * 5_000_000, "b | 2"], "name | value", max_tokens=190, spans=watched)

    assert longest < 1_000_000
