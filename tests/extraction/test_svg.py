"""Drawings of several programs, read as the engine reads them."""

import base64
from pathlib import Path

import pytest
from PIL import Image
from tests.reading import ReadDocument, read_file, read_sample
from tests.written_pictures import png_that_claims

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.pictures.svg_drawing import open_pictures

RED = (255, 0, 0)
WHITE = (255, 255, 255)
# Quickly drawn.
THIN = 'viewBox="0 0 20 1"'


def drawing(folder: Path, content: str) -> ReadDocument:
    path = folder / "drawing.svg"
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg">{content}</svg>', encoding="utf-8")
    return read_file(path)


def draw(folder: Path, content: str, attributes: str = "") -> Image.Image:
    path = folder / "drawn.svg"
    names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    path.write_text(f"<svg {names} {attributes}>{content}</svg>", encoding="utf-8")
    return open_pictures(path)("drawing")


def colours_of(picture: Image.Image) -> set[object]:
    width, height = picture.size
    return {colour for _, colour in picture.convert("RGB").getcolors(width * height) or ()}


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


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("svg/glyphs.svg", {"Oil used by the lamp", "long nights", "January June October"}),
        ("svg/bitmap.svg", {"Mooring rules"}),
    ],
)
def test_a_drawing_without_text_is_looked_at(name: str, words: set[str]) -> None:
    """I1, I3"""
    document = read_sample(name)

    assert {phrase for phrase in words if phrase in document.text} == words
    assert document.found["ocr_confidence"] > 0.9


def test_a_drawing_with_text_is_not_drawn() -> None:
    assert read_sample("svg/graphviz.svg").found == {}


def test_a_drawing_of_nothing_has_no_text(tmp_path: Path) -> None:
    """I5."""
    document = drawing(tmp_path, '<path d="M0 0h9v9z"/>')

    assert document.text == ""


@pytest.mark.parametrize(
    ("attributes", "size"),
    [
        ('viewBox="0 0 30 10"', (3000, 1000)),
        ('viewBox="0,0,10,20" width="100000" height="100000"', (1500, 3000)),
        ('width="1000000000" height="500000000"', (3000, 1500)),
        ('width="21cm" height="42cm"', (1500, 3000)),
        ('width="100%" height="100%"', (3000, 3000)),
        ('viewBox="0 0 1 1000000"', (1, 3000)),
        ('viewBox="nan inf -1 1e999"', (3000, 3000)),
    ],
)
def test_a_drawing_is_drawn_in_its_proportions_whatever_its_size(
    tmp_path: Path, attributes: str, size: tuple[int, int]
) -> None:
    """I5: a size that cannot be kept would end the process"""
    shape = '<path d="M0 0h900v900z"/>'

    assert draw(tmp_path, shape, attributes).size == size


def test_what_a_drawing_shows_is_what_is_drawn(tmp_path: Path) -> None:
    shape = '<path fill="red" d="M10 10h10v20h-10z"/>'

    drawn = draw(tmp_path, shape, 'viewBox="10 10 20 1"').convert("RGB")

    assert drawn.getpixel((500, 75)) == RED
    assert drawn.getpixel((2500, 75)) == WHITE


def link_to(path: Path) -> str:
    kind = "jpeg" if path.suffix == ".jpg" else "png"
    return f"data:image/{kind};base64," + base64.b64encode(path.read_bytes()).decode()


@pytest.mark.parametrize("element", ["image", "feImage"])
@pytest.mark.parametrize("link", ["href", "xlink:href"])
def test_only_a_picture_in_the_file_itself_is_drawn(tmp_path: Path, element: str, link: str) -> None:
    """I5: no drawing shows what else is on the disk"""
    red = tmp_path / "red.png"
    Image.new("RGB", (20, 20), "red").save(red)
    tag = f'<{element} width="20" height="20" {link}="%s"/>'
    shape = (
        f'<filter id="f">{tag}</filter><rect width="20" height="20" filter="url(#f)"/>' if element != "image" else tag
    )

    foreign = [draw(tmp_path, shape % name, THIN) for name in (red, red.as_uri(), "red.png")]
    own = draw(tmp_path, shape % link_to(red), THIN)

    # Filters are left out altogether.
    assert [RED in colours_of(drawn) for drawn in (*foreign, own)] == [False, False, False, element == "image"]


def test_a_filter_neither_takes_minutes_nor_hides_what_it_is_laid_upon(tmp_path: Path) -> None:
    """I5"""
    blur = '<feGaussianBlur stdDeviation="900"/><feTurbulence baseFrequency="9" numOctaves="99"/>' * 50
    shape = f'<filter id="f">{blur}</filter>' + "".join(
        f'<rect width="20" height="20" fill="red" {filtered}/>'
        for filtered in ('filter="url(#f)"', 'style="opacity:1; filter: url(#f); stroke:none"')
    )

    assert RED in colours_of(draw(tmp_path, shape, THIN))


def test_a_picture_too_large_to_decode_is_not_drawn(tmp_path: Path) -> None:
    """I5: the rest of the drawing is. A JPEG, too, would be decoded at its full size."""
    bomb, photograph = tmp_path / "bomb.png", tmp_path / "photograph.jpg"
    bomb.write_bytes(png_that_claims(60_000, 60_000))
    Image.new("L", (10_100, 10_000)).save(photograph)

    for huge in (bomb, photograph):
        shapes = f'<image width="9" height="9" href="{link_to(huge)}"/><path fill="red" d="M10 0h10v1h-10z"/>'
        assert colours_of(draw(tmp_path, shapes, THIN)) == {RED, WHITE}


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

    assert refused.value.code == reason
