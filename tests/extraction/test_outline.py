"""How headings, paragraphs and pages become sections."""

from hypothesis import given
from hypothesis import strategies as st

from kb.engine.ingestion.extraction.readers.shared.outline import MAX_LEVEL, Outline, render_table, tidy

LEVELS = st.integers(0, 12)
WORDS = st.text("abc é\n\u00ad\x07", max_size=8)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("heading"), LEVELS, WORDS),
        st.tuples(st.just("paragraph"), LEVELS, WORDS),
        st.tuples(st.just("item"), LEVELS, WORDS),
        st.tuples(st.just("page"), st.integers(1, 3), WORDS),
    ),
    max_size=20,
)


def follow(steps: list[tuple[str, int, str]]) -> Outline:
    outline = Outline()
    for kind, number, text in steps:
        match kind:
            case "heading":
                outline.add_heading(number, text)
            case "paragraph":
                outline.add_paragraph(text)
            case "item":
                outline.add_item(text)
            case "page":
                outline.begin_page(number)
    return outline


@given(STEPS)
def test_every_word_is_in_some_section_in_its_order(steps: list[tuple[str, int, str]]) -> None:
    """I6: no text is lost."""
    words = [word for kind, _, text in steps if kind != "page" for word in tidy(text).split()]

    sections = follow(steps).sections()

    assert [word for section in sections for word in section.text.split()] == words
    assert all(section.text == tidy(section.text) and section.text.strip() for section in sections)


def test_a_heading_begins_a_section_unless_it_only_carries_a_sub_heading() -> None:
    outline = Outline()
    outline.add_heading(1, "Trees")
    outline.add_heading(2, "Apples")
    outline.add_paragraph("Red ones.")
    outline.add_heading(2, "Pears")
    outline.add_heading(1, "Shrubs")
    outline.add_heading(3, "Currants")
    outline.add_paragraph("Black ones.")

    assert [(section.heading, section.text) for section in outline.sections()] == [
        ("Trees > Apples", "Trees\n\nApples\n\nRed ones."),
        ("Trees > Pears", "Pears"),
        ("Shrubs > Currants", "Shrubs\n\nCurrants\n\nBlack ones."),
    ]


def test_a_page_ends_a_section_but_not_what_its_heading_governs() -> None:
    """I2: no section lies on two pages."""
    outline = Outline()
    outline.begin_page(1)
    outline.add_heading(1, "Trees")
    outline.begin_page(2)
    outline.add_paragraph("Tall ones.")
    outline.begin_page(2)
    outline.add_paragraph("Old ones.")

    assert [(section.page_num, section.heading, section.text) for section in outline.sections()] == [
        (1, "Trees", "Trees"),
        (2, "Trees", "Tall ones.\n\nOld ones."),
    ]


def test_items_stand_on_lines_of_their_own() -> None:
    outline = Outline()
    for item in ("- one", "", "- two"):
        outline.add_item(item)
    outline.add_paragraph("After it.")
    outline.add_item("- three")

    assert [section.text for section in outline.sections()] == ["- one\n- two\n\nAfter it.\n\n- three"]


def test_the_title_is_the_first_heading_of_the_highest_level() -> None:
    """I7."""
    steps = [("paragraph", 0, "Hello."), ("heading", 3, "A motto"), ("heading", 1, "The book"), ("heading", 0, "More")]

    assert [follow(steps[:count]).title for count in range(5)] == [None, None, "A motto", "The book", "The book"]


def test_a_path_of_headings_is_bounded() -> None:
    outline = Outline()
    for level in range(1, 1_000):
        outline.add_heading(level, f"{level} " + "word " * 100)
    (*_, last) = outline.sections()

    assert last.heading is not None
    assert last.heading.count(" > ") < MAX_LEVEL
    assert len(last.heading) < 130 * MAX_LEVEL


def test_a_table_keeps_its_empty_cells_but_for_the_last_ones() -> None:
    rows = [["Name", "", "Age"], ["Ann\nMarie", "", ""], ["", ""], ["", "b", "|"]]

    assert render_table(rows) == "Name |  | Age\nAnn Marie\n | b | |"
