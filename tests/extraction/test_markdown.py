"""Markdown: sections by heading, and what its front matter says."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reading import read_file

from kb.engine.errors import Unreadable
from kb.engine.ingestion.markdown import sections_of_markdown


def test_markdown_is_cut_at_headings_with_their_path() -> None:
    text = "intro\n\n# A\none\n## B *b*\ntwo\n\nC\n===\n\nthree\n"

    sections = sections_of_markdown(text)

    assert [section.heading for section in sections] == [None, "A", "A > B b", "C"]
    assert "".join(section.text for section in sections) == text


def test_a_heading_with_nothing_under_it_joins_its_first_subheading() -> None:
    sections = sections_of_markdown("# A\n\n## B\ntext\n## C\n")

    assert [(section.text, section.heading) for section in sections] == [
        ("# A\n\n## B\ntext\n", "A > B"),
        ("## C\n", "A > C"),
    ]


@pytest.mark.parametrize(
    "text", ["```\n# no\n```\n", "~~~sh\n# no\n", "#hashtag\n", "    # code\n", "a\nb\n---\n", "- a\n---\n"]
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert [section.heading for section in sections_of_markdown(text)] == [None]


def test_front_matter_gives_title_and_metadata(tmp_path: Path) -> None:
    """I7"""
    file = tmp_path / "a.md"
    file.write_text("---\ntitle: 'My plan'\ntags: [a, \"b c\"]\nauthor: Ann\naliases:\n  - x\n---\n# Heading\ntext\n")

    document = read_file(file)

    assert document.title == "My plan"
    assert document.metadata == {"tags": ["a", "b c"], "author": "Ann", "aliases": ["x"]}
    assert [section.text for section in document.sections] == ["# Heading\ntext\n"]


@pytest.mark.parametrize(
    "text",
    [
        "---\nauthor:\n  name: Ann\n---\ntext\n",
        "---\nabout: >\n  long\n---\ntext\n",
        "---\nJust a rule above.\n---\ntext\n",
        "---\ntitle: only this\n---\n",
    ],
)
def test_front_matter_that_is_not_understood_stays_in_the_text(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.md"
    file.write_text(text)

    document = read_file(file)

    assert "".join(section.text for section in document.sections) == text
    assert document.metadata == {}


def test_the_title_is_the_first_main_heading_else_the_first(tmp_path: Path) -> None:
    """I7"""
    main, minor = tmp_path / "a.md", tmp_path / "b.md"
    main.write_text("## Before\nx\n# The Title #\ny\n")
    minor.write_text("text\n\n## Only\nx\n")

    assert read_file(main).title == "The Title"
    assert read_file(minor).title == "Only"


def test_blank_markdown_is_unreadable(tmp_path: Path) -> None:
    """I5"""
    file = tmp_path / "blank.md"
    file.write_bytes(b" \r\n\t")

    with pytest.raises(Unreadable) as refused:
        read_file(file)

    assert refused.value.code == "no_text_found"


@given(st.text(alphabet=st.sampled_from("a #=-\n`~|>*1."), max_size=200))
def test_sections_of_markdown_lose_nothing_but_blank_text(text: str) -> None:
    sections = sections_of_markdown(text)

    assert "".join("".join(section.text for section in sections).split()) == "".join(text.split())
