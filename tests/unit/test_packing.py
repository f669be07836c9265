import re

from hypothesis import given, settings
from hypothesis import strategies as st

from kb.engine.ingestion.chunking import split_into_passages
from kb.engine.ingestion.packing import (
    CHARACTERS_PER_TOKEN,
    MANY_TINY_SECTIONS,
    TINY_CHARACTERS,
    join_tiny_sections,
)
from kb.engine.ingestion.sections import Rows, Section

LONG = "long " * TINY_CHARACTERS


def words(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\w+|[^\w\s]", text)]


def join(sections: list[Section], max_tokens: int = 160) -> list[Section]:
    return list(join_tiny_sections(sections, max_tokens=max_tokens))


def bare_headings(count: int, page_num: int | None = None) -> list[Section]:
    return [Section(f"## Part {n}\n", f"Book > Part {n}", page_num) for n in range(count)]


def test_in_an_ordinary_document_each_short_section_keeps_its_heading() -> None:
    """I2"""
    sections = bare_headings(MANY_TINY_SECTIONS)

    assert join(sections) == sections


def test_ten_thousand_bare_headings_become_some_hundred_passages() -> None:
    """I6"""
    passages = split_into_passages(bare_headings(10_000), words, max_tokens=160)

    assert len(passages) < 500
    assert all(len(words(passage.text)) <= 160 for passage in passages)
    assert [int(n) for passage in passages for n in re.findall(r"Part (\d+)", passage.text)] == list(range(10_000))
    assert {passage.heading for passage in passages} == {"Book"}


def test_what_is_joined_stands_under_what_the_headings_have_in_common() -> None:
    """I2"""
    sections = [
        Section(f"Item {n}", heading)
        for n, heading in enumerate(["A > B > C", "A > B", "A > B > D"] * MANY_TINY_SECTIONS)
    ]
    strangers = [Section(f"Item {n}", heading) for n, heading in enumerate(["A", "B", None] * MANY_TINY_SECTIONS)]

    assert {section.heading for section in join(sections)} == {"A > B"}
    assert {section.heading for section in join(strangers)} == {None}


def test_no_two_pages_are_joined() -> None:
    """I2"""
    sections = [section for page_num in range(1, 5) for section in bare_headings(50, page_num)]

    joined = join(sections)

    assert [section.page_num for section in joined] == [1, 1, 2, 2, 3, 3, 4, 4]


def test_a_longer_section_and_rows_of_a_table_stand_alone_among_tiny_ones() -> None:
    chapter, rows = Section(LONG, "Book > Chapter"), Section("1 | 2", "Sheet", rows=Rows("a | b", (2,)))
    tiny = bare_headings(MANY_TINY_SECTIONS)

    joined = join([*tiny, chapter, *tiny, rows, rows, *tiny])

    assert [section for section in joined if section.heading != "Book"] == [chapter, rows, rows]


def test_joined_code_keeps_its_indentation_and_blank_sections_leave_no_gap() -> None:
    sections = [Section("    x = 1\n"), Section(" \n"), Section("    y = 2\n")] * MANY_TINY_SECTIONS

    assert join(sections)[0].text.startswith("    x = 1\n\n    y = 2\n\n    x = 1\n\n")


SECTIONS = st.lists(
    st.tuples(
        st.integers(min_value=0, max_value=2 * TINY_CHARACTERS),
        st.sampled_from([None, "A", "A > B", "A > B > C", "D"]),
        st.sampled_from([1, 1, 1, 2]),
    ),
    min_size=1,
    max_size=20,
)


@settings(deadline=None)
@given(SECTIONS, st.integers(min_value=1, max_value=200))
def test_nothing_is_lost_moved_or_put_under_a_wrong_heading(
    shapes: list[tuple[int, str | None, int]], max_tokens: int
) -> None:
    """I2, I6"""
    repeats = 2 * MANY_TINY_SECTIONS // len(shapes) + 1
    sections = [
        Section(f"s{n} " + "x" * length, heading, page_num)
        for n, (length, heading, page_num) in enumerate(shapes * repeats)
    ]

    joined = join(sections, max_tokens)

    parts_of = [[sections[int(n)] for n in re.findall(r"s(\d+) ", section.text)] for section in joined]
    assert "".join("".join(section.text for section in joined).split()) == "".join(
        "".join(section.text for section in sections).split()
    )
    assert [part for parts in parts_of for part in parts] == sections
    for section, parts in zip(joined, parts_of, strict=True):
        assert {part.page_num for part in parts} == {section.page_num}
        assert all(f"{part.heading} > ".startswith(f"{section.heading} > ") for part in parts if section.heading)
        if len(parts) > 1:
            assert all(len(part.text) <= TINY_CHARACTERS for part in parts)
            assert sum(len(part.text) for part in parts) <= max_tokens * CHARACTERS_PER_TOKEN


@settings(deadline=None)
@given(SECTIONS, st.integers(min_value=1, max_value=200))
def test_what_was_joined_is_split_again_where_a_letter_is_a_token(
    shapes: list[tuple[int, str | None, int]], max_tokens: int
) -> None:
    """I6"""
    repeats = 2 * MANY_TINY_SECTIONS // len(shapes) + 1
    sections = [Section("語" * length, heading, page_num) for length, heading, page_num in shapes * repeats]

    passages = split_into_passages(
        sections, lambda text: [match.span() for match in re.finditer(r"\S", text)], max_tokens=max_tokens
    )

    letters = ["".join(passage.text.split()) for passage in passages]
    assert all(0 < len(text) <= max_tokens for text in letters)
    assert sum(map(len, letters)) == sum(len(section.text) for section in sections)
