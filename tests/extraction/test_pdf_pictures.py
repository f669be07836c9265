"""Pages of PDF files that are pictures, pictures on pages that have text, and how they are drawn."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from tests.extraction.hasty_pdf import write_pdf
from tests.reading import SAMPLES, list_parts, list_sections, read_sample

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Picture
from kb.engine.ingestion.extraction.readers.pdf import pdf
from kb.engine.ingestion.extraction.readers.pdf.pictures import open_pictures

PDF = SAMPLES / "pdf"
FONT = "/Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>"


def pictures_of(path: Path) -> list[list[Picture]]:
    return [[item for item in part if isinstance(item, Picture)] for part in list_parts(pdf.read(path))]


def names_of(path: Path) -> list[list[str]]:
    return [[picture.name for picture in part] for part in pictures_of(path)]


def page_of(name: str) -> Picture:
    number = int(name.split()[1])
    return Picture(name, number, is_page=True)


def write_page(folder: Path, content: str, page: str = "", *objects: str) -> Path:
    """One page of 400 x 300 points that draws `content`; the objects are numbered from 5."""
    return write_pdf(
        folder,
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 1/Kids[3 0 R]>>",
        f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 400 300]/Contents 4 0 R"
        f"/Resources<<{FONT}/XObject<</I 5 0 R>>>>{page}>>",
        f"<</Length {len(content)}>> stream\n{content}\nendstream",
        *objects,
    )


def image(width: int, height: int) -> str:
    """A picture that claims a size, and has hardly any content."""
    return (
        f"<</Type/XObject/Subtype/Image/Width {width}/Height {height}/BitsPerComponent 8/ColorSpace/DeviceGray"
        f"/Length 9>> stream\n{width:09}\nendstream"
    )


def test_scanned_pages_are_pictures_and_the_others_are_not() -> None:
    """I3: each page is decided on by itself."""
    first, second, third = list_parts(pdf.read(PDF / "mixed-qpdf.pdf"))

    assert first == [page_of("page 1")]
    assert third == [page_of("page 3")]
    assert [type(item).__name__ for item in second] == ["Section"]


@pytest.mark.parametrize("name", ["strips-reportlab.pdf", "outlines-ghostscript.pdf", "turned-img2pdf.pdf"])
def test_a_page_of_strips_or_of_outlined_letters_is_one_picture(name: str) -> None:
    """I3"""
    assert list_parts(pdf.read(PDF / name))[0] == [page_of("page 1")]


def test_a_page_whose_text_is_rubbish_is_a_picture_under_its_heading() -> None:
    """I3"""
    [[picture]] = list_parts(pdf.read(PDF / "unmapped-pikepdf.pdf"))

    assert picture == Picture("page 1", 1, "Measuring fine flour > Results", is_page=True)


def test_the_good_layer_that_a_scanner_has_left_is_taken_as_it_is() -> None:
    """I3"""
    [[section]] = list_parts(pdf.read(PDF / "layer-tesseract.pdf"))

    assert "The ferry Brimstone leaves at seven" in section.text
    assert not isinstance(section, Picture)


def test_every_page_is_a_picture_if_that_is_wished_and_keeps_its_text_for_want_of_better() -> None:
    """I3: `force_ocr`"""
    scanned, written, _ = list_parts(pdf.read_as_pictures(PDF / "mixed-qpdf.pdf"))

    assert scanned == [page_of("page 1")]
    assert isinstance(written[0], Picture)
    assert written[0].is_page
    assert written[0].text.startswith("Harbour office, Grönland quay")


def test_white_paper_and_a_page_with_a_frame_and_a_rule_are_no_pictures(tmp_path: Path) -> None:
    """I3"""
    white = write_page(tmp_path, " ")
    assert list_parts(pdf.read(white)) == [[]]

    assert list_parts(pdf.read(PDF / "outlines-ghostscript.pdf"))[1] == []


def test_what_was_written_on_a_scan_afterwards_is_read_beside_it(tmp_path: Path) -> None:
    note = "/Annots[<</Type/Annot/Subtype/Text/Rect[9 9 29 29]/Contents(Filed under harbour dues)>>]"
    path = write_page(tmp_path, "q 400 0 0 300 0 0 cm /I Do Q", note, image(800, 600))

    picture, section = list_parts(pdf.read(path))[0]

    assert picture == page_of("page 1")
    assert section.text == "Filed under harbour dues"


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("60 150", "Page 17"),
        ("60 9", "Downloaded from the archive of the harbour office on 4 March 2024"),
        ("60 900", "Words that stand where no paper is, and nobody sees them"),
    ],
)
def test_stamps_and_words_beside_the_paper_are_no_text_of_a_scan(tmp_path: Path, place: str, words: str) -> None:
    """I3"""
    content = f"q 400 0 0 300 0 0 cm /I Do Q BT /F 9 Tf {place} Td ({words}) Tj ET"
    path = write_page(tmp_path, content, "", image(800, 600))

    [[picture]] = list_parts(pdf.read(path))

    assert picture == replace(page_of("page 1"), text=words)


def test_specks_that_a_program_took_for_letters_are_no_text_at_all(tmp_path: Path) -> None:
    """I3"""
    specks = "l , ; .~ _ 1I |- . i ;= , ! .. : l = ~ -. ,: / . ; i"
    path = write_page(
        tmp_path, f"q 400 0 0 300 0 0 cm /I Do Q BT /F 9 Tf 60 150 Td ({specks}) Tj ET", "", image(800, 600)
    )

    [[picture]] = list_parts(pdf.read(path))

    assert picture == page_of("page 1")


def test_a_picture_on_a_page_of_text_stands_behind_the_text_under_its_heading() -> None:
    """I3"""
    [[section, picture]] = list_parts(pdf.read(PDF / "screenshot-libreoffice.pdf"))

    assert section.text.endswith("left at noon.")
    assert picture == Picture("page 1 picture 1", 1, "Heating log")


def test_a_logo_is_read_once_and_a_picture_in_bands_is_one() -> None:
    assert names_of(PDF / "letterhead-reportlab.pdf") == [["page 1 picture 1"], [], ["page 3 picture 2"]]


@pytest.mark.parametrize(
    ("drawn", "pixels", "words", "is_read"),
    [
        ("200 0 0 100 50 50", (400, 200), "Beside", True),
        ("40 0 0 100 50 50", (400, 200), "Beside", False),
        ("200 0 0 20 50 50", (400, 200), "Beside", False),
        ("200 0 0 100 50 50", (60, 30), "Beside", False),
        ("200 0 0 100 450 50", (400, 200), "Beside", False),
        ("200 0 0 100 50 50", (400, 200), "Words upon it, as a caption", False),
    ],
)
def test_small_coarse_unseen_and_labelled_pictures_are_left_out(
    tmp_path: Path, drawn: str, pixels: tuple[int, int], words: str, *, is_read: bool
) -> None:
    place = "60 90" if "upon" in words else "60 200"
    content = (
        f"BT /F 9 Tf 60 250 Td (A page that has text enough of its own) Tj ET q {drawn} cm /I Do Q "
        f"BT /F 9 Tf {place} Td ({words}) Tj ET"
    )
    path = write_page(tmp_path, content, "", image(*pixels))

    assert names_of(path) == [["page 1 picture 1"] if is_read else []]


def write_page_of_pictures(folder: Path, shown: Sequence[int]) -> Path:
    """A page of text, with pictures of the given numbers in front of each other."""
    count = max(shown) + 1
    names = " ".join(f"/P{number} {number + 5} 0 R" for number in range(count))
    drawn = " ".join(
        f"q 50 0 0 30 {place % 30 * 7} {place % 30 * 5} cm /P{number} Do Q" for place, number in enumerate(shown)
    )
    content = f"BT /F 9 Tf 60 250 Td (A page that has text enough of its own) Tj ET {drawn}"
    images = [image(400 + number, 200) for number in range(count)]
    return write_page(folder, content, f"/Resources<<{FONT}/XObject<<{names}>>>>", *images)


def test_a_page_has_at_most_twenty_pictures(tmp_path: Path) -> None:
    path = write_page_of_pictures(tmp_path, range(30))

    assert names_of(path) == [[f"page 1 picture {number}" for number in range(1, 21)]]


@pytest.mark.parametrize(("logos", "is_read"), [(199, True), (200, False)])
def test_a_picture_behind_many_logos_is_read(tmp_path: Path, logos: int, *, is_read: bool) -> None:
    """Those that are known do not count as pictures. To look at each takes time, so there is an end to them."""
    path = write_page_of_pictures(tmp_path, [0] * logos + [1])

    expected = ["page 1 picture 1", *([f"page 1 picture {logos + 1}"] if is_read else [])]
    assert names_of(path) == [expected]


def test_pages_are_drawn_upright_with_the_dots_that_the_scan_has() -> None:
    turned = open_pictures(PDF / "turned-img2pdf.pdf")("page 1")
    outlines = open_pictures(PDF / "outlines-ghostscript.pdf")("page 1")

    assert turned.size == (1000, 700)
    assert turned.crop((80, 80, 500, 200)).getextrema() == (0, 255)
    assert turned.crop((0, 400, 1000, 700)).getextrema() == (255, 255)
    assert outlines.size == (1250, 834)


def test_a_picture_is_drawn_from_the_page_it_stands_on() -> None:
    drawn = open_pictures(PDF / "letterhead-reportlab.pdf")("page 1 picture 1")

    assert drawn.size == (208, 83)
    assert drawn.getpixel((2, 2)) == pytest.approx(232, abs=4)


def test_a_picture_on_a_turned_page_in_a_form_is_found(tmp_path: Path) -> None:
    form = (
        "<</Type/XObject/Subtype/Form/BBox[0 0 999 999]/Matrix[2 0 0 2 0 0]/Resources<</XObject<</J 6 0 R>>>>"
        "/Length 29>> stream\nq 100 0 0 50 10 20 cm /J Do Q\nendstream"
    )
    content = "BT /F 9 Tf 60 250 Td (A page that has text enough of its own) Tj ET q 0.5 0 0 0.5 30 40 cm /I Do Q"
    path = write_page(tmp_path, content, "/Rotate 90", form, image(200, 100))

    drawn = open_pictures(path)(names_of(path)[0][0])

    assert drawn.size == pytest.approx((104, 208), abs=2)


@pytest.mark.parametrize(("width", "height"), [(1_000_000, 1_000_000), (1_000_000, 1), (3, 14_400)])
def test_the_largest_page_that_can_be_claimed_is_drawn_small(tmp_path: Path, width: int, height: int) -> None:
    """I5: a bomb costs nothing."""
    box = f"/MediaBox[0 0 {width} {height}]"
    path = write_page(tmp_path, f"q {width} 0 0 {height} 0 0 cm /I Do Q", box, image(60_000, 1_000))

    drawn = open_pictures(path)("page 1")

    assert max(drawn.size) <= 15_001
    assert drawn.width * drawn.height < 20_100_000


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    """I5"""
    path = write_page(tmp_path, "q 400 0 0 300 0 0 cm /I Do Q", "", image(60_000, 60_000))

    assert names_of(path) == [["page 1"]]
    with pytest.raises(Unreadable, match="60,000 x 60,000") as caught:
        open_pictures(path)("page 1")

    assert caught.value.code == "extraction_limit"


def test_a_page_of_a_hundred_thousand_objects_is_looked_at_in_no_time(tmp_path: Path) -> None:
    """I5"""
    path = write_page(tmp_path, "q 1 0 0 1 0 0 cm /I Do Q " * 110_000, "", image(4, 4))

    assert list_sections(pdf.read(path)) == [[]]


def test_a_scan_between_pages_of_text_is_read() -> None:
    """I3: a page with no usable text layer is OCRed by itself."""
    scanned, written, last = read_sample("pdf/mixed-qpdf.pdf").parts

    assert scanned[0].text.startswith("Harbour office, 4 March")
    assert "The ferry Brimstone leaves at seven\nfrom the eastern quay." in scanned[0].text
    assert written[0].text.endswith("T. Brandt")
    assert "crate of brass hinges." in last[0].text
    assert [part[0].page_num for part in (scanned, written, last)] == [1, 2, 3]


def test_the_words_of_a_screenshot_are_read() -> None:
    """I3"""
    [[section, screenshot]] = read_sample("pdf/screenshot-libreoffice.pdf").parts

    assert section.text.startswith("Heating log")
    assert "Burner lockout: code E71, reset required" in screenshot.text
    assert (screenshot.page_num, screenshot.heading) == (1, "Heating log")
