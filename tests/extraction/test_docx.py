"""DOCX files of several programs, read as the engine reads them."""

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.reading import SAMPLES, ReadDocument, read_file, read_sample

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.office.docx_styles import Lists, ParagraphStyle
from kb.engine.ingestion.extraction.readers.shared.xml_trees import parse_xml

DOCUMENT = "word/document.xml"


def places(document: ReadDocument) -> list[tuple[int | None, str | None]]:
    return [(section.page_num, section.heading) for section in document.sections]


def edited(sample: str, folder: Path, edit: Callable[[str, str], str]) -> Path:
    """A copy of the sample with the text of each XML part edited; `edit` gets its name and content."""
    path = folder / Path(sample).name
    with zipfile.ZipFile(SAMPLES / sample) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            is_xml = name.endswith((".xml", ".rels"))
            target.writestr(name, edit(name, content.decode()) if is_xml else content)
    return path


def with_body(folder: Path, body: str) -> ReadDocument:
    """`bienen.docx` with other paragraphs in its body."""

    def edit(name: str, content: str) -> str:
        return (
            re.sub("(<w:body>).*(</w:body>)", rf"\1{body}\2", content, flags=re.DOTALL) if name == DOCUMENT else content
        )

    return read_file(edited("docx/bienen.docx", folder, edit))


def paragraph(text: str, *, before: str = "", properties: str = "") -> str:
    return f"<w:p><w:pPr>{properties}</w:pPr><w:r>{before}<w:t>{text}</w:t></w:r></w:p>"


def test_a_document_with_everything_is_read_in_its_order() -> None:
    """I1, I2: headings, lists, tables, comments and pages of python-docx."""
    document = read_sample("docx/harbour.docx")

    assert places(document) == [
        (1, "Harbour survey > Depths"),
        (2, "Harbour survey > Moorings > Rings"),
        (None, None),
    ]
    first, second, margins = (section.text for section in document.sections)
    assert first == (
        "Harbour survey\n\nDepths\n\nThe basin is five metres deep at low water.\n\n"
        "- Sand near the slip\n- Mud by the crane\n1. Drop the lead\n2. Read the line\n\n"
        "Berth | Depth | Keeper\nNorth | 4.8 m\nSouth | 5.2 m | Ola Nordmann\n\n"
        "ebb | flood\n\nThe last line on the first page."
    )
    assert second == ("Moorings\n\nRings\n\nForty rings of iron are sound.\n\nComment (Per): Count them again.")
    assert margins == "Survey office, north quay\n\nFor members only"


def test_metadata_is_what_the_document_says() -> None:
    document = read_sample("docx/harbour.docx")

    assert document.title == "Harbour survey"
    assert document.metadata == {
        "author": "Ingrid Solheim",
        "subject": "Depths and moorings",
        "keywords": "harbour, depth",
        "language": "en-GB",
        "created": "2024-05-01T10:00:00Z",
        "modified": "2024-05-02T11:30:00Z",
        "pages": 2,
    }


def test_heading_styles_are_known_by_their_names_and_by_what_they_are_based_on() -> None:
    """I7: "Word Document" is no title, so the first heading is."""
    document = read_sample("docx/bienen.docx")

    assert places(document) == [(None, "Bienen > Schwärme")]
    assert document.title == "Bienen"


def test_notes_lists_tables_and_formulas_of_pandoc_are_read() -> None:
    document = read_sample("docx/orchard.docx")

    assert [section.heading for section in document.sections] == [
        "Care of the orchard",
        "Care of the orchard > Winter work",
        "Care of the orchard > Winter work > Tools",
        "Care of the orchard > Winter work > Yields",
        "Care of the orchard > Arithmetic",
    ]
    _, work, tools, yields, arithmetic = (section.text for section in document.sections)
    assert "sap is low.[1] A sharp saw" in work
    assert work.endswith("\n\n[1] Sap rises again towards the end of February.")
    assert tools == (
        "Tools\n\n1. Folding saw\n2. Bypass secateurs\n  a. for twigs\n  b. for suckers\n3. Ladder with three legs\n"
        "- Oil the blades\n- Burn the canker"
    )
    assert yields == "Yields\n\nVariety | Kilograms | Remark\nBramley | 412\nDiscovery | 97 | eaten early"
    assert "The mean is a+b/2, and the area x^2." in arithmetic


def test_what_was_deleted_is_left_out_and_what_was_inserted_is_kept() -> None:
    text = read_sample("docx/tracked.docx").text

    assert "The fee is ninety crowns a year." in text
    assert "seventy" not in text
    assert text.endswith("It falls due in April, as before.\n\nComment (Bo): Is this really decided?")


def test_a_comment_that_nothing_refers_to_is_not_lost(tmp_path: Path) -> None:
    """I6."""
    path = edited("docx/tracked.docx", tmp_path, lambda _, content: content.replace("w:commentReference", "w:none"))

    assert read_file(path).text.endswith("Comment (Bo): Is this really decided?")


def test_pages_are_counted_by_sections_and_paragraphs_that_begin_one() -> None:
    """I2."""
    document = read_sample("docx/kiln.docx")

    assert places(document) == [(1, "First firing"), (2, "Glazes > Celadon"), (3, "Glazes > Celadon"), (None, None)]
    first = document.sections[0].text
    assert "The kiln reached 1220 degrees[1]\nat noon.\tSlow cooling\n\n[1] Cone six, fired slowly." in first
    assert "I. Load the shelves\nII. Close the door\n  II.1 Seal it\n\nThe supplier's page" in first
    assert "lead" not in document.text


def test_a_text_box_that_is_noted_in_two_forms_is_read_once() -> None:
    text = read_sample("docx/ferry.docx").text

    assert text.count("Children travel free in a box.") == 1
    assert "1. Show the ticket\n  a) on paper\n  b) on a screen\n2. Walk to the bow\n- Dogs on a leash" in text
    assert "Kind | Summer | Winter\nAdult |  | 40" in text
    assert "Secret words" not in text
    assert "withdrawn clause" not in text


def test_no_page_is_named_if_there_are_more_than_the_breaks_tell_of() -> None:
    """LibreOffice says that there are three pages, but notes the author's one break only."""
    assert {page for page, _ in places(read_sample("docx/ferry.docx"))} == {None}


def test_a_break_that_was_made_and_then_rendered_counts_once(tmp_path: Path) -> None:
    """As Word notes them: the rendered break stands again behind each that the author made."""
    made, rendered = '<w:br w:type="page"/>', "<w:lastRenderedPageBreak/>"
    begins_page = "<w:pageBreakBefore/>"

    document = with_body(
        tmp_path,
        paragraph("one")
        + f"<w:p><w:r>{made}</w:r></w:p>"
        + paragraph("two", before=rendered)
        + f"<w:p><w:r><w:t>still two</w:t>{rendered}<w:t>three</w:t></w:r></w:p>"
        + paragraph("four", before=rendered, properties=begins_page)
        + f"<w:p><w:r>{made}</w:r></w:p><w:p><w:r>{rendered}{made}</w:r></w:p>"
        + paragraph("six", before=rendered),
    )

    assert [(section.page_num, section.text) for section in document.sections] == [
        (1, "one"),
        (2, "two\n\nstill two"),
        (3, "three"),
        (4, "four"),
        (6, "six"),
    ]
    assert document.metadata["pages"] == 6


def test_a_break_that_was_never_rendered_counts_too(tmp_path: Path) -> None:
    """As in a document that was changed by a program which lays out no pages."""
    made, rendered = '<w:br w:type="page"/>', "<w:lastRenderedPageBreak/>"

    document = with_body(
        tmp_path, paragraph("one") + paragraph("two", before=made) + paragraph("three", before=rendered)
    )

    assert [section.page_num for section in document.sections] == [1, 2, 3]


def test_a_section_begins_a_page_unless_it_says_that_it_goes_on(tmp_path: Path) -> None:
    goes_on, ends = '<w:sectPr><w:type w:val="continuous"/></w:sectPr>', "<w:sectPr/>"

    document = with_body(
        tmp_path,
        paragraph("one", properties=ends) + paragraph("still one", properties=goes_on) + paragraph("two") + ends,
    )

    assert [(section.page_num, section.text) for section in document.sections] == [(1, "one\n\nstill one"), (2, "two")]


def test_an_inner_list_counts_anew_under_each_item() -> None:
    lists = Lists(
        parse_xml(
            b"""<numbering><abstractNum abstractNumId="7"><lvl ilvl="0"><numFmt val="upperLetter"/>
            <lvlText val="%1)"/></lvl><lvl ilvl="1"><start val="3"/><lvlText val="%1.%2"/></lvl></abstractNum>
            <num numId="1"><abstractNumId val="7"/></num><num numId="2"><abstractNumId val="7"/></num>
            <num numId="3"><abstractNumId val="7"/><lvlOverride><startOverride val="1"/></lvlOverride></num>
            </numbering>"""
        )
    )
    items = [("1", 0), ("1", 1), ("1", 1), ("1", 0), ("1", 1), ("2", 0), ("3", 0), ("none", 0)]

    marks = [lists.mark(ParagraphStyle(list_id=list_id, list_level=level)) for list_id, level in items]

    assert marks == ["A) ", "  A.3 ", "  A.4 ", "B) ", "  B.3 ", "C) ", "A) ", ""]


def test_a_table_that_runs_over_two_pages_is_cut_between_rows(tmp_path: Path) -> None:
    """I2; the break is noted in each cell that it goes through, and is one break all the same."""
    rendered = "<w:lastRenderedPageBreak/>"
    rows = [
        [paragraph("a"), paragraph("b")],
        [paragraph("c", before=rendered), paragraph("d", before=rendered)],
        [paragraph("e"), paragraph("f")],
    ]
    table = "".join("<w:tr>" + "".join(f"<w:tc>{cell}</w:tc>" for cell in row) + "</w:tr>" for row in rows)

    document = with_body(tmp_path, f"<w:tbl>{table}</w:tbl>" + paragraph("after"))

    assert [(section.page_num, section.text) for section in document.sections] == [
        (1, "a | b"),
        (2, "c | d\ne | f\n\nafter"),
    ]


def test_a_table_of_one_cell_is_only_a_frame(tmp_path: Path) -> None:
    heading = paragraph("Framed", properties='<w:outlineLvl w:val="0"/>')

    document = with_body(tmp_path, f"<w:tbl><w:tr><w:tc>{heading}{paragraph('text')}</w:tc></w:tr></w:tbl>")

    assert [(section.heading, section.text) for section in document.sections] == [("Framed", "Framed\n\ntext")]


def test_signs_fields_and_controls_are_read_as_they_are_seen(tmp_path: Path) -> None:
    runs = (
        "<w:r><w:t>Zu</w:t><w:softHyphen/><w:t>sam\u00admen</w:t><w:noBreakHyphen/><w:t>x</w:t><w:tab/></w:r>"
        '<w:r><w:sym w:font="Symbol" w:char="F070"/><w:sym w:font="Wingdings" w:char="F0FC"/></w:r>'
        '<w:r><w:fldChar w:fldCharType="begin"/><w:instrText>REF _1</w:instrText>'
        '<w:fldChar w:fldCharType="separate"/><w:t> page 7</w:t><w:fldChar w:fldCharType="end"/></w:r>'
        "<w:sdt><w:sdtPr><w:alias/></w:sdtPr><w:sdtContent><w:r><w:t> chosen</w:t></w:r></w:sdtContent></w:sdt>"
    )

    assert with_body(tmp_path, f"<w:p>{runs}</w:p>").text == "Zusammen-x\tπ page 7 chosen"


@pytest.mark.parametrize("place", ["-41", "-" + "F" * 50, "D83D", "F" * 50, "none", ""])
def test_a_sign_that_is_in_no_font_is_passed_over(tmp_path: Path, place: str) -> None:
    body = f'<w:p><w:r><w:t>be</w:t><w:sym w:font="Symbol" w:char="{place}"/><w:t>fore</w:t></w:r></w:p>'

    assert with_body(tmp_path, body).text == "before"


def test_parts_that_are_named_in_the_manner_of_windows_are_found(tmp_path: Path) -> None:
    path = tmp_path / "windows.docx"
    with zipfile.ZipFile(SAMPLES / "docx/orchard.docx") as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            target.writestr(name.replace("/", "\\"), source.read(name))

    assert read_file(path) == read_sample("docx/orchard.docx")


def test_the_strict_variant_is_read_like_the_usual_one(tmp_path: Path) -> None:
    usual, strict = "http://schemas.openxmlformats.org/", "http://purl.oclc.org/ooxml/"

    def edit(name: str, content: str) -> str:
        content = content.replace(f"{usual}wordprocessingml/2006/", f"{strict}wordprocessingml/")
        return content.replace(f"{usual}officeDocument/2006/", f"{strict}officeDocument/")

    document = read_file(edited("docx/orchard.docx", tmp_path, edit))

    assert document == read_sample("docx/orchard.docx")


def test_damaged_properties_do_not_cost_the_text(tmp_path: Path) -> None:
    path = edited("docx/tracked.docx", tmp_path, lambda name, content: "<" if "docProps" in name else content)

    assert read_file(path).text == read_sample("docx/tracked.docx").text


def test_a_damaged_body_is_told(tmp_path: Path) -> None:
    path = edited("docx/tracked.docx", tmp_path, lambda name, content: content[:-9] if name == DOCUMENT else content)

    with pytest.raises(Unreadable) as refusal:
        read_file(path)

    assert refusal.value.code == "corrupt_file"


def test_an_encrypted_document_is_told() -> None:
    """I5."""
    with pytest.raises(Unreadable) as refusal:
        read_sample("docx/encrypted.docx")

    assert refusal.value.code == "encrypted_file"
