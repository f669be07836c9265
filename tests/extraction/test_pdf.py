"""PDF files of many programs, read as the engine reads them."""

from functools import cache
from pathlib import Path

import pypdfium2 as pdfium
import pytest
from tests.extraction.clean_text import is_clean
from tests.extraction.hasty_pdf import write_pdf
from tests.reading import SAMPLES, ReadDocument, list_sections, read_file, read_sample

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.pdf import pdf
from kb.engine.ingestion.extraction.readers.shared.properties import make_properties

READABLE = sorted(
    path.relative_to(SAMPLES).as_posix()
    for path in (SAMPLES / "pdf").glob("*.pdf")
    if not path.name.startswith("secret")
)


@cache
def read_once(name: str) -> ReadDocument:
    return read_sample(name)


def places(name: str) -> list[tuple[int | None, str | None, str]]:
    """Page, heading and first line of each section."""
    return [
        (section.page_num, section.heading, section.text.partition("\n")[0]) for section in read_once(name).sections
    ]


def test_sections_follow_the_outline_and_the_pages() -> None:
    """I2: every section knows its page and the path of its headings."""
    assert places("pdf/handbook-libreoffice.pdf") == [
        (1, "Greenhouse Handbook", "Greenhouse Handbook"),
        (1, "Watering > Morning round", "Watering"),
        (1, "Watering > Evening round", "Evening round"),
        (2, "Heating", "Heating"),
        (2, "Heating > When the alarm rings", "When the alarm rings"),
        (2, "Heating > Evening round", "Evening round"),
    ]


def test_a_chapter_goes_on_over_the_page_and_pages_count_from_the_first_sheet() -> None:
    """I2: the page is the physical one, whatever number is printed on it."""
    assert places("pdf/timetable-fpdf2.pdf") == [
        (1, "Preface", "Preface"),
        (2, "Preface", "Words that still belong to the preface stand at the top of the"),
        (2, "Line N1 > Weekdays", "Line N1"),
        (2, "Line N1 > Weekends", "Weekends"),
        (3, "Line N1 > Weekends", "Weekend fares are doubled."),
    ]


def test_a_heading_is_found_with_its_number_below_a_running_head() -> None:
    assert places("pdf/manual-groff.pdf") == [
        (1, None, "The Clockmaker’s Manual"),  # noqa: RUF001 - as it is printed
        (1, "1. Escapements", "1. Escapements"),
        (1, "1. Escapements > 1.1. Adjusting the depth", "1.1. Adjusting the depth"),
        (2, "2. Lubrication", "-2-"),
    ]


def test_a_heading_is_found_on_two_lines_and_without_its_number() -> None:
    article = [heading for _, heading, _ in places("pdf/article-weasyprint.pdf")]
    paper = places("pdf/paper-pdflatex.pdf")

    assert article == [
        "Measuring fine flour",
        "Measuring fine flour > Instrumentation and characterisation",
        "Measuring fine flour > Results",
    ]
    assert paper == [
        (1, "Introduction", "1 Introduction"),
        (1, "Method > Measuring agreement", "2 Method"),
        (1, "Conclusion", "3 Conclusion"),
    ]


def test_columns_are_read_one_after_the_other() -> None:
    text = read_once("pdf/columns-reportlab.pdf").text

    words = ["left column", "Rain stopped", "right column", "furrow bee", "Andrena vaga 41 0", "Eucera nigrescens 17"]
    assert sorted(words, key=text.index) == words


def test_paragraphs_are_separated_where_a_sentence_ends_on_a_short_line() -> None:
    text = read_once("pdf/columns-reportlab.pdf").text

    assert "loud with them before noon.\n\nA count along the dyke" in text
    assert "In April the willow\nfeeds the early" in text


def test_divided_words_are_whole_again() -> None:
    groff = read_once("pdf/manual-groff.pdf").text
    weasyprint = read_once("pdf/article-weasyprint.pdf").text
    latex = read_once("pdf/paper-pdflatex.pdf").text

    assert "the deadbeat arrangement\nis found" in groff
    assert "fishmonger:\nfive" in weasyprint
    assert "cross-validation\n" in weasyprint
    assert "handwriting\nsufficiently" in latex


def test_compounds_keep_their_hyphen_at_a_line_end_if_the_page_shows_it() -> None:
    text = read_once("pdf/paper-pdflatex.pdf").text

    assert text.count("dual-encoder") == 3
    assert text.count("Lucene-BM25") == 2


def test_letters_of_all_scripts_come_out_as_they_are_seen() -> None:
    article = read_once("pdf/article-weasyprint.pdf").text
    paper = read_once("pdf/paper-pdflatex.pdf").text
    cjk = read_once("pdf/cjk-reportlab.pdf").text

    assert "five flat officers were sufficient. Straße,\nÅngström, naïve, Übermut und Größe." in article
    assert "Ελληνικά γράμματα: αβγδε. Привет, мир.\nMath 𝑥 and 𝔄, face 😀." in article  # noqa: RUF001 - Greek, Cyrillic
    assert "naïve, Größe,\nfaçade, très, déjà." in paper
    assert "図書館は月曜日に閉まります。" in cjk
    assert "图书馆星期一关门。" in cjk


def test_turned_pages_are_read_whole_and_line_by_line() -> None:
    letter = read_once("pdf/letter-ghostscript.pdf")
    turned = read_once("pdf/cjk-reportlab.pdf").parts[1]

    assert letter.parts[1][0].text.splitlines() == [
        "Enclosure: list of the slate, turned sideways on the sheet",
        "Lot 1 Welsh grey 400 slabs",
        "Lot 2 Spanish black 250 slabs",
    ]
    assert turned[0].text == "Slanted watermark: confidential draft\nUpright words on the second page."


def test_what_was_filled_in_is_read_but_not_what_is_hidden() -> None:
    fields = read_once("pdf/fields-reportlab.pdf").text
    form = read_once("pdf/form-libreoffice.pdf").text

    assert fields == (
        "Claim for a lost parcel\n\n"
        "Sender: Ottoline Krause\nContents of the parcel: Two barometers\nReceived at the counter"
    )
    assert form.endswith("Perpetua Vandermolen\nOosterbeek\nSingle plan\nAllergic to penicillin.")


def test_a_note_stands_on_the_page_that_it_is_stuck_to() -> None:
    noted = [section for section in read_once("pdf/timetable-fpdf2.pdf").sections if "union" in section.text]

    assert [section.page_num for section in noted] == [2]
    assert noted[0].text.endswith("\n\nCheck with the drivers' union before printing.")


def test_the_document_information_becomes_title_and_metadata() -> None:
    """I7: the title is what the document says of itself."""
    columns = read_once("pdf/columns-reportlab.pdf")
    timetable = read_once("pdf/timetable-fpdf2.pdf")
    rules = read_once("pdf/rules-chromium.pdf")

    assert columns.title == "Bees of the river meadows"
    assert columns.metadata == {
        "pages": 1,
        "author": "Femke de Wit",
        "subject": "Field notes",
        "keywords": "bees, meadow",
        "created": "2000-01-01T00:00:00Z",
        "modified": "2000-01-01T00:00:00Z",
    }
    assert timetable.title == "Night bus timetable"
    assert timetable.metadata["created"] == "2024-05-01T12:30:00+02:00"
    assert rules.metadata["language"] == "de"


def test_titles_and_authors_that_programs_make_up_count_as_none() -> None:
    """I7: then the first heading is the title, unless it could be that of any document."""
    article = read_once("pdf/article-weasyprint.pdf")
    cjk = read_once("pdf/cjk-reportlab.pdf")

    assert article.title == "Measuring fine flour"
    assert cjk.title is None
    assert cjk.metadata.keys() == {"pages", "created", "modified"}
    assert read_once("pdf/paper-pdflatex.pdf").title is None
    assert read_once("pdf/manual-groff.pdf").title is None


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("D:20240501120000+02'00'", "2024-05-01T12:00:00+02:00"),
        ("D:20240501120000-0530", "2024-05-01T12:00:00-05:30"),
        ("D:20240501120000Z00'00'", "2024-05-01T12:00:00Z"),
        ("d:20240501120000z", "2024-05-01T12:00:00Z"),
        (" D:20240501120000+02", "2024-05-01T12:00:00+02:00"),
        ("D:202405011200Z", "2024-05-01T12:00:00Z"),
        ("D:20240501120000", "2024-05-01"),
        ("20240501", "2024-05-01"),
        ("D:20241301000000Z", ""),
        ("D:20240230", ""),
        ("D:00000101000000Z", ""),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_dates_are_rfc_3339_or_dropped(written: str, meant: str) -> None:
    assert make_properties({"created": pdf.reshape_date(written)}).metadata.get("created", "") == meant


@pytest.mark.parametrize("name", ["secret-aes256-pikepdf.pdf", "secret-rc4-pikepdf.pdf"])
def test_a_password_is_told_as_such(name: str) -> None:
    with pytest.raises(Unreadable, match="password") as caught:
        read_once(f"pdf/{name}")

    assert caught.value.code == "encrypted_file"


def test_a_file_that_opens_without_a_password_is_read_though_it_is_encrypted() -> None:
    assert read_once("pdf/owner-only-pikepdf.pdf").text == read_once("pdf/letter-ghostscript.pdf").text


def test_a_lost_table_of_objects_is_made_anew(tmp_path: Path) -> None:
    whole = (SAMPLES / "pdf/letter-ghostscript.pdf").read_bytes()
    broken = tmp_path / "broken.pdf"
    broken.write_bytes(whole[: whole.rindex(b"startxref")] + b"startxref\n99999\n%%EOF\n")

    assert read_file(broken).text == read_once("pdf/letter-ghostscript.pdf").text


@pytest.mark.parametrize("length", [0, 9, 400])
def test_a_stump_is_a_corrupt_file(tmp_path: Path, length: int) -> None:
    stump = tmp_path / "stump.pdf"
    stump.write_bytes((SAMPLES / "pdf/letter-ghostscript.pdf").read_bytes()[:length])

    with pytest.raises(Unreadable) as caught:
        pdf.read(stump)

    assert caught.value.code == "corrupt_file"


def test_too_many_pages_are_refused_before_any_is_read(tmp_path: Path) -> None:
    path = write_pdf(
        tmp_path,
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Count 20001/Kids[{'3 0 R ' * 20_001}]>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
    )

    with pytest.raises(Unreadable, match="20,001 pages") as caught:
        read_file(path)

    assert caught.value.code == "extraction_limit"


def test_a_page_that_cannot_be_loaded_takes_no_other_with_it(tmp_path: Path) -> None:
    path = write_pdf(
        tmp_path,
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Count 2/Kids[3 0 R 9 0 R]>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R"
        "/Resources<</Font<</F<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>>",
        "<</Length 37>> stream\nBT /F 9 Tf 9 50 Td (Still here) Tj ET\nendstream",
    )

    parts = pdf.read(path).parts

    assert [section.text for section in parts[0]] == ["Still here"]
    with pytest.raises(pdfium.PdfiumError):
        parts[1]


def test_an_outline_that_loops_is_read_once(tmp_path: Path) -> None:
    path = write_pdf(
        tmp_path,
        "<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R>>",
        "<</Type/Pages/Count 1/Kids[3 0 R]>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>",
        "<</Type/Outlines/First 5 0 R/Last 6 0 R>>",
        "<</Title(Round)/Parent 4 0 R/Dest[3 0 R/Fit]/First 6 0 R/Next 6 0 R>>",
        "<</Title(And round)/Parent 4 0 R/Dest[3 0 R/Fit]/First 5 0 R/Next 5 0 R>>",
    )

    assert pdf.read(path).title == "Round"


def test_a_heading_on_a_later_page_is_not_the_title(tmp_path: Path) -> None:
    """I7"""
    path = write_pdf(
        tmp_path,
        "<</Type/Catalog/Pages 2 0 R/Outlines 5 0 R>>",
        "<</Type/Pages/Count 2/Kids[3 0 R 4 0 R]>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]>>",
        "<</Type/Outlines/First 6 0 R/Last 6 0 R>>",
        "<</Title(Appendix)/Parent 5 0 R/Dest[4 0 R/Fit]>>",
    )

    assert pdf.read(path).title is None


@pytest.mark.parametrize("name", READABLE)
def test_every_text_is_clean(name: str) -> None:
    for part in list_sections(pdf.read(SAMPLES / name)):
        assert all(is_clean(section.text) for section in part)
