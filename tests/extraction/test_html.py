"""HTML of several programs, read as the engine reads it."""

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.reading import ReadDocument, read_file, read_sample

from kb.engine.ingestion.extraction.readers.web.html_pages import read_html

DEEPER_THAN_THE_PARSER_GOES = 2_100


def with_body(folder: Path, body: str) -> ReadDocument:
    path = folder / "page.html"
    path.write_text(f"<!doctype html><html><body>{body}</body></html>", encoding="utf-8")
    return read_file(path)


def text_of(body: str) -> str:
    return "\n\n".join(section.text for section in read_html(body.encode()).sections)


def test_a_page_of_pandoc_is_read_by_its_headings() -> None:
    """I1, I2, I7."""
    document = read_sample("html/pandoc.html")

    assert document.format == "html"
    assert document.title == "Handbook of the Lighthouse"
    assert [section.heading for section in document.sections] == [
        "Handbook of the Lighthouse",
        "The lamp",
        "The lamp > Oil",
        "The lamp > Log",
        "The harbour",
    ]
    assert document.sections[2].text == (
        "Oil\n\n1. Fill the tank.\n2. Trim the wick:\n  - with the brass scissors\n  - never with a knife\n"
        "3. Write the hour into the log.\n\n"
        "Month | Litres | Remark\nJanuary | 310 | long nights\nJune | 95\nOctober | 240 | fog"
    )
    assert "21:40  lamp lit\n       wind NNW 5\n05:10  lamp out" in document.sections[3].text
    assert "Dusk\n  Forty minutes after sunset." in document.sections[3].text
    assert "A chart of the harbour with three buoys" in document.sections[4].text
    assert "The depth is d=4.2 metres & falling." in document.sections[4].text
    assert document.metadata == {
        "author": "Nora Feld",
        "subject": "How the lamp is kept.",
        "keywords": "lamp, harbour, fog",
        "language": "en",
        "created": "2023-09-14",
    }


def test_a_page_of_libreoffice_keeps_its_lists_table_and_footnote() -> None:
    """I1, I2."""
    document = read_sample("html/libreoffice.html")

    assert document.metadata["author"] == "Nora Feld"
    assert "2. Trim the wick:\n\n  - with the brass scissors\n  - never" in document.text
    assert "January | 310 | long nights\nJune | 95\n" in document.text
    assert "by Marten Oss. 1" in document.text
    assert "1 The invoice is kept in the blue chest." in document.text


def test_spans_of_cells_keep_the_columns_of_a_table() -> None:
    document = read_sample("html/docutils.html")

    table = "Sort | Mill | Price\nRye | Norder | 1.20\n | Suder | 1.35\nSpelt by order |  | 2.10"
    assert table in document.text
    assert document.sections[2].heading == "Bread in the fen > Rye > Flour"
    assert document.metadata == {"author": "Lise Aumann", "language": "en", "created": "2022-03-05"}


def test_a_page_of_groff_is_read() -> None:
    """I1."""
    document = read_sample("html/groff.html")

    assert document.title == "Notes on the Tides"
    assert document.sections[-1].heading == "Notes on the Tides > 2. Neap tides"
    assert "Mussels are gathered at noon." in document.sections[-1].text


def test_the_encoding_that_a_page_states_is_used() -> None:
    document = read_sample("html/windows-1252.html")

    assert document.title == "Müllers Mühle im Überblick"
    assert document.metadata == {"author": "Jörg Weiß", "language": "de"}
    assert "„fast“ jeder Besucher fragt, warum. Der Eintritt kostet 3 €." in document.text


@pytest.mark.parametrize("name", ["shift-jis", "utf-16"])
def test_japanese_is_read_in_its_encodings(name: str) -> None:
    document = read_sample(f"html/{name}.html")

    assert document.title == "港の記録"
    assert document.sections[1].text == "灯台\n\n灯台の明かりは毎晩点灯されます。油は一月に三百リットル必要です。"
    assert document.sections[2].heading == "灯台 > 霧の日"


@pytest.mark.parametrize("stated", ["windows-1252", "utf-16", "no-such-charset", "zlib"])
def test_a_false_encoding_is_seen_through(stated: str) -> None:
    page = f'<meta charset="{stated}"><p>Größe und Naïveté</p>'

    assert read_html(page.encode("utf-8")).sections[0].text == "Größe und Naïveté"


def test_text_that_is_not_in_the_stated_utf8_is_guessed() -> None:
    page = '<meta charset="utf-8"><p>Größe der Mühle und Äcker über dem Fluß, schöne Häuser für alle</p>'

    assert "Größe der Mühle und Äcker über dem Fluß" in read_html(page.encode("cp1252")).sections[0].text


def test_the_title_is_what_the_page_says_else_its_first_heading(tmp_path: Path) -> None:
    """I7."""
    for head, title in (
        ("<title> The\n pilot </title><h1>Boat</h1>", "The pilot"),
        ('<meta property="og:title" content="The pilot"><h1>Boat</h1>', "The pilot"),
        ("<title>Untitled Document</title><h2>Oars</h2><h1>Boat</h1>", "Boat"),
        ("<p>Words.</p>", None),
    ):
        path = tmp_path / "page.html"
        path.write_text(f"<html>{head}<p>Words.</p></html>")

        assert read_file(path).title == title


def test_a_second_title_is_text() -> None:
    """I6."""
    page = read_html(
        b"<title>The pilot</title><h1>Boat <title>and oars</title></h1><p>Words.</p><title>A drawing</title><svg>"
        b"<title>An arrow</title></svg>"
    )

    assert page.told["title"] == "The pilot"
    assert [section.text for section in page.sections] == ["Boat and oars\n\nWords.\n\nA drawing\n\nAn arrow"]


@pytest.mark.parametrize("body", ["<h1>A <title>boat</title></h1>", "<svg><title>A boat</title></svg>"])
def test_a_title_in_a_heading_or_a_drawing_is_not_that_of_the_page(body: str) -> None:
    """I6."""
    page = read_html(body.encode())

    assert "title" not in page.told
    assert [section.text for section in page.sections] == ["A boat"]


def test_scripts_and_styles_are_not_text_but_what_is_hidden_at_first_is(tmp_path: Path) -> None:
    document = with_body(
        tmp_path,
        "<script>var a = '<p>no</p>';</script><style>p {}</style><noscript>no</noscript><template>no</template>"
        "<!-- no --><p hidden>An answer</p><details><summary>More</summary>about it</details>",
    )

    assert document.text == "An answer\n\nMore\n\nabout it"


def test_space_is_collapsed_as_a_browser_does() -> None:
    assert text_of("<p> one\n  two <b> three</b><i>four</i> <br> five&nbsp;six </p> seven") == (
        "one two threefour\nfive six\n\nseven"
    )


def test_forms_show_what_is_filled_in_and_pictures_what_they_show() -> None:
    page = (
        '<p><label>Name <input value="Nora"></label> <input type="hidden" value="secret">'
        '<input type="checkbox" checked> lamp <input type="checkbox"> bell <img src="a" alt="Two buoys"></p>'
        "<select><option>Monday<option>Tuesday</select><textarea>two\n  lines</textarea>"
    )

    assert text_of(page) == "Name Nora [x] lamp [ ] bell Two buoys\n\n- Monday\n- Tuesday\n\ntwo\n  lines"


def test_the_mark_of_a_footnote_does_not_become_part_of_the_word() -> None:
    assert text_of('The lamp<a href="#n"><sup>1</sup></a> burns<sup><a href="#m">2</a></sup>, 10 m<sup>2</sup>.') == (
        "The lamp 1 burns 2, 10 m2."
    )


def test_a_table_in_a_table_is_layout_and_the_inner_one_has_rows() -> None:
    page = (
        "<table><tr><td>Menu<td><h1>Ferries</h1><p>They run hourly.</p>"
        "<table><tr><th>Port<th>Hour<tr><td>Holm<td>six</table>Mind the tide.<tr><td>left<td>right</table>"
    )

    sections = read_html(page.encode()).sections

    assert [(section.heading, section.text) for section in sections] == [
        (None, "Menu"),
        ("Ferries", "Ferries\n\nThey run hourly.\n\nPort | Hour\nHolm | six\n\nMind the tide.\n\nleft | right"),
    ]


def test_text_beside_the_cells_of_a_table_keeps_its_place() -> None:
    page = "<table><tr><td>one</td>two<td>three</td></tr>four<tr><td>five<td>six</table>seven"

    assert text_of(page).replace(" | ", "\n\n").split("\n\n") == [
        *("one", "two", "three", "four", "five", "six", "seven"),
    ]


def test_a_long_row_of_paragraphs_keeps_its_paragraphs() -> None:
    page = f"<table><tr><td><p>{'first ' * 100}</p><p>{'second ' * 100}</p></table>"

    assert text_of(page) == f"{'first ' * 100}".strip() + "\n\n" + f"{'second ' * 100}".strip()


def test_spans_that_ask_for_millions_of_cells_are_ignored() -> None:
    page = "<table>" + "<tr><td colspan=1000 rowspan=1000>a<td>b" * 1_000 + "</table>"

    assert len(text_of(page)) < 1_000_000


def test_a_heading_that_is_never_closed_is_a_paragraph() -> None:
    page = f"<h1>{'All the text stands in the heading. ' * 20}<span>And ends.</span>"

    assert [section.heading for section in read_html(page.encode()).sections] == [None]


@pytest.mark.parametrize("depth", [200, 2_000, DEEPER_THAN_THE_PARSER_GOES, 200_000])
def test_no_depth_of_nesting_loses_text(tmp_path: Path, depth: int) -> None:
    """I6."""
    document = with_body(
        tmp_path, f"<h1>Top</h1><p>before{'<div>' * depth}deep &amp; dark{'</div>' * depth}<p>after<script>no</script>"
    )

    assert document.text == "Top\n\nbefore\n\ndeep & dark\n\nafter"


@pytest.mark.parametrize(
    "hostile",
    [
        "<" + "a" * 100_000,
        "<a" * 50_000,
        "<a " * 33_000,
        "</" * 50_000,
        "<!" + "-" * 100_000,
        "<!--" * 25_000,
        "<script" * 14_000,
        "<script>" + "</script" * 12_000,
        "<title>" * 14_000,
        "<p>" + " \n" * 50_000,
        "<meta charset=" + " " * 100_000,
        "<td rowspan=9>" * 7_000,
        "&" * 100_000,
        "&#x" + "0" * 100_000,
        "<h1>" * 25_000,
        "<li>" * 25_000,
    ],
)
@pytest.mark.parametrize("depth", [0, DEEPER_THAN_THE_PARSER_GOES])
def test_hostile_html_takes_no_longer_than_its_length(hostile: str, depth: int) -> None:
    started = time.process_time()
    read_html((hostile + "<div>" * depth).encode())
    read_html(("<div>" * depth + hostile).encode())

    assert time.process_time() - started < 5


def test_attributes_that_are_none_do_no_harm() -> None:
    """Templates that a program was to fill in."""
    assert text_of("<p {{ note }} {=1 a:b=2 }>Words</p>") == "Words"


def test_a_page_without_text_has_no_sections(tmp_path: Path) -> None:
    assert with_body(tmp_path, "<p> &nbsp; </p><img src='a.png'>").sections == []


WORDS = st.integers(min_value=0, max_value=10**6).map(lambda number: f"w{number}")
TAGS = st.sampled_from(
    ["p", "div", "b", "h1", "h3", "ul", "ol", "li", "table", "tr", "td", "th", "pre", "dl", "dt", "dd", "a", "sup", "q"]
)
MARKUP = st.recursive(
    WORDS,
    lambda inner: st.tuples(TAGS, st.lists(inner, max_size=4)).map(
        lambda made: f"<{made[0]}>{' '.join(made[1])}</{made[0]}>"
    ),
    max_leaves=30,
)


@settings(deadline=None)
@given(st.lists(MARKUP, max_size=6).map(" ".join), st.sampled_from([0, DEEPER_THAN_THE_PARSER_GOES]))
def test_every_word_is_read_once_and_in_order_however_elements_nest(page: str, depth: int) -> None:
    """I6: both ways of reading, by the tree and by the tags, lose nothing."""
    written = [word for word in page.replace("<", " <").replace(">", "> ").split() if word.startswith("w")]

    text = text_of(page + "<div>" * depth)

    assert [word.strip('"') for word in text.split() if word.strip('"').startswith("w")] == written
