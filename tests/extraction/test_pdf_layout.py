"""A page's lines made readable and cut at its headings: laws that hold for any text."""

from hypothesis import given
from hypothesis import strategies as st
from tests.extraction.clean_text import is_clean

from kb.engine.ingestion.extraction.readers.pdf.bookmarks import Bookmarks, Heading
from kb.engine.ingestion.extraction.readers.pdf.text import lay_out


def test_names_keep_their_hyphen_at_a_line_end() -> None:
    assert lay_out("an X\uffferay, COVID\ufffe19, DNA\ufffebased; AGREE\ufffeMENT") == (
        "an X-ray,\nCOVID-19,\nDNA-based;\nAGREEMENT"
    )


def test_accents_that_are_quotation_marks_stay_what_they_are() -> None:
    assert lay_out("it´s `a` quote, 20 ˚C") == "it´s `a` quote, 20 ˚C"  # noqa: RUF001 - accents on purpose


@given(st.text() | st.text(alphabet="ab -.\r\n\x02\ufffe\u00ad\u2010\u00a8\u00b4`\u0131"))
def test_any_text_is_laid_out_cleanly(text: str) -> None:
    assert is_clean(lay_out(text))


@given(st.text(alphabet="aB7 -.\r\n\ufffe\u2010é漢"))
def test_no_letter_is_lost_in_the_layout(text: str) -> None:
    """I6: words may be put together; nothing else happens to them."""
    assert [letter for letter in lay_out(text) if letter.isalnum()] == [letter for letter in text if letter.isalnum()]


@given(st.lists(st.sampled_from(["", "One", "2 Two", "Three", "Some words.", "more words"])), st.data())
def test_cutting_at_headings_loses_no_line(lines: list[str], data: st.DataObject) -> None:
    """I6: each line is in one section, in order, whatever the outline says."""
    drawn = data.draw(st.lists(st.tuples(st.sampled_from(["one", "two", "three", "four"]), st.integers(0, 2))))
    headings = [Heading(title=key, level=level, path=key, key=key, page_index=4) for key, level in drawn]

    sections = Bookmarks(headings).cut(4, "\n".join(lines))

    kept = [line for section in sections for line in section.text.split("\n") if line]
    assert kept == [line for line in lines if line]
    assert all(section.page_num == 5 and section.text for section in sections)


@given(st.lists(st.tuples(st.sampled_from(["one", "two"]), st.integers(0, 2), st.integers(0, 5))), st.integers(0, 5))
def test_the_end_of_a_page_stands_under_the_last_heading_of_its_last_line(
    drawn: list[tuple[str, int, int]], page_index: int
) -> None:
    """I2: of whatever is put behind the page's text"""
    bookmarks = bookmarks_of(*drawn)

    assert bookmarks.heading_at_end(page_index) == bookmarks.cut(page_index, "Some words.")[-1].heading


def bookmarks_of(*headings: tuple[str, int, int]) -> Bookmarks:
    """Each heading by its title, level and page; the path is the title alone."""
    return Bookmarks(
        [
            Heading(title=title, level=level, path=title, key=title.casefold(), page_index=page_index)
            for title, level, page_index in headings
        ]
    )


def cut(bookmarks: Bookmarks, page_index: int, text: str) -> list[tuple[str | None, str]]:
    return [(section.heading, section.text) for section in bookmarks.cut(page_index, text)]


def test_a_heading_that_is_not_on_its_page_holds_from_the_one_before_it() -> None:
    bookmarks = bookmarks_of(("Alpha", 0, 0), ("Missing", 1, 0), ("Gamma", 0, 0), ("Delta", 0, 1))

    assert cut(bookmarks, 0, "Before the first.\nAlpha\nwords\nGamma\nend") == [
        (None, "Before the first."),
        ("Missing", "Alpha\nwords"),
        ("Gamma", "Gamma\nend"),
    ]
    assert cut(bookmarks, 1, "Another page") == [("Delta", "Another page")]


def test_a_running_head_stays_with_the_heading_below_it_but_the_end_of_a_sentence_does_not() -> None:
    bookmarks = bookmarks_of(("Alpha", 0, 0), ("Beta", 0, 1), ("Gamma", 0, 2))

    assert cut(bookmarks, 1, "My Book\nBeta\nwords") == [("Beta", "My Book\nBeta\nwords")]
    assert cut(bookmarks, 2, "the end.\nGamma\nwords") == [("Beta", "the end."), ("Gamma", "Gamma\nwords")]


def test_a_bare_heading_begins_the_section_of_its_child_but_not_of_its_sibling() -> None:
    bookmarks = bookmarks_of(("Alpha", 0, 0), ("Beta", 0, 0), ("Gamma", 1, 0))

    assert cut(bookmarks, 0, "Alpha\n\nBeta\nGamma\nwords") == [("Alpha", "Alpha"), ("Gamma", "Beta\nGamma\nwords")]
