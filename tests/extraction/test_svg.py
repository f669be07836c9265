"""Drawings of several programs, read as the engine reads them."""

from pathlib import Path

import pytest
from tests.reading import ReadDocument, read_file, read_sample

from kb.engine.errors import Unreadable


def drawing(folder: Path, content: str) -> ReadDocument:
    path = folder / "drawing.svg"
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{content}</svg>', encoding="utf-8")
    return read_file(path)


def test_the_words_of_a_graph_are_read_in_their_order() -> None:
    """I1."""
    document = read_sample("svg/graphviz.svg")

    assert document.format == "svg"
    assert document.text.split("\n") == [
        *("harbour", "Paths of the harbour pilot", "lamp", "Lamp room", "upper floor", "quay", "Quay & crane"),
        *("lamp->quay", "signal", "boat", "Pilot boat", "quay->boat", "three bells"),
    ]


def test_a_chart_tells_its_title_and_date() -> None:
    """I1, I7."""
    document = read_sample("svg/matplotlib.svg")

    assert document.title == "Oil chart"
    assert document.metadata == {"created": "2024-02-03", "subject": "Litres a month"}
    assert document.text.startswith("Oil chart\nJanuary\nJune\nOctober\nMonth\n")
    assert document.text.endswith("Litres\nlong nights\nOil used by the lamp")


def test_a_curve_is_read() -> None:
    """I1."""
    document = read_sample("svg/gnuplot.svg")

    assert document.title == "tides"
    assert document.text.endswith("Metres\nHour\nheight\nTides at Holm")


def test_spans_are_words_or_lines_by_where_they_stand() -> None:
    document = read_sample("svg/svgwrite.svg")

    assert document.title == "Plan of the mill"
    assert document.text == (
        "Plan of the mill\nGround floor with the millstones.\nGrain hopper\nholds two sacks\nMillstone\n"
        "Water runs along here"
    )


def test_a_drawing_without_text_has_no_sections() -> None:
    assert read_sample("svg/glyphs.svg").sections == []


def test_html_in_a_drawing_is_read_and_its_plain_double_is_not(tmp_path: Path) -> None:
    html = '<div xmlns="http://www.w3.org/1999/xhtml"><p>Start the <b>pump</b></p></div>'

    document = drawing(tmp_path, f"<switch><foreignObject>{html}</foreignObject><text>Start the...</text></switch>")

    assert document.text == "Start the pump"


def test_labels_are_read_and_styles_and_scripts_are_not(tmp_path: Path) -> None:
    document = drawing(
        tmp_path,
        '<style>text{fill:red}</style><script>alert(1)</script><g aria-label="Sluice"><path d="M0 0"/></g>'
        '<text x="1" y="1">two <tspan x="20" y="1">words</tspan></text><text><title>Tip</title>Gate</text>',
    )

    assert document.text == "Sluice\ntwo words\nTip\nGate"


def test_a_drawing_with_entities_for_its_namespaces_is_read(tmp_path: Path) -> None:
    path = tmp_path / "drawing.svg"
    path.write_text(
        '<!DOCTYPE svg [<!ENTITY ns "http://www.w3.org/2000/svg"><!ENTITY e SYSTEM "file:///etc/passwd">]>'
        '<svg xmlns="&ns;"><text>Before &e;after</text></svg>'
    )

    assert read_file(path).text == "Before after"


@pytest.mark.parametrize(
    ("content", "reason"),
    [("<svg><text>cut", "corrupt_file"), ("<svg>" + "<g>" * 100_000, "extraction_limit")],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, content: str, reason: str) -> None:
    """I5."""
    path = tmp_path / "drawing.svg"
    path.write_text(content)

    with pytest.raises(Unreadable) as refused:
        read_file(path)

    assert refused.value.reason == reason
