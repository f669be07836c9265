import re
import zipfile
from pathlib import Path

import pytest
from tests.reading import SAMPLES, list_sections, read_file, read_sample

from kb.engine.errors import Unreadable
from kb.engine.ingestion.chunking import split_into_passages
from kb.engine.ingestion.extraction.readers.office import xlsx
from kb.engine.ingestion.sections import Rows, Section
from kb.engine.ports import Embedder


def test_each_sheet_is_read_with_its_name_and_the_numbers_that_its_rows_have_on_the_screen() -> None:
    """I1, I2"""
    document = read_sample("xlsx/orchard.xlsx")

    caption = "Harvest of the community orchard"
    assert document.sections == [
        Section(caption, "Harvest 2024", 1, Rows("", (1,))),
        Section(
            "Boskoop | 2024-10-03 | 14 | 210.5 | TRUE\n"
            "Elstar | 2024-09-12 | 22 | 330.25 | TRUE\n"
            "Jonagold | 2024-09-28 | 9 | 140 | FALSE\n"
            "Gravensteiner | 2024-08-20 | 5 | 71.75 | TRUE | 50",
            f"Harvest 2024 > {caption}",
            1,
            Rows("Variety | Picked on | Crates | Kilograms | Organic", (4, 5, 6, 7)),
        ),
        Section("Comment on B5: Picked a week early because of the storm.", "Harvest 2024", 1),
        Section(
            "Südmarkt | Hauptstraße 5 | 2.4 | 08:30:00\nHafen markt | Am Kai 1 | 2.75 | 09:00:00",
            "Märkte & Preise",
            2,
            Rows("Markt | Straße | Preis je kg | Öffnet um", (2, 3)),
        ),
        Section("Vertraulich: Lieferant Quittenhof", "Alte Liste", 3, Rows("", (1,))),
    ]


def test_two_tables_on_a_sheet_have_each_their_own_header() -> None:
    """I2"""
    loans, members = read_sample("xlsx/tools.xlsx").sections[:2]

    assert loans.rows == Rows("Tool | Lent at | Days | Used for | Ratio", (6, 7, 8))
    assert loans.text == (
        "Cordless drill | 2024-05-01 10:30:00 | 3 | 36:00:00 | 2\nHedge trimmer | 2024-05-02 | 12 | 6:00:00 | 48\n"
        "Broken ladder"
    )
    assert members.rows == Rows("Member | Phone | Fee", (12, 13))
    assert members.text == "Ines | 0170 555 | 20\nPiotr | 0171 444 | 15.5"


def test_comments_text_boxes_charts_and_hidden_sheets_are_read_too() -> None:
    """I6: nothing that stands in the workbook is lost."""
    _, _, remarks, *others = read_sample("xlsx/tools.xlsx").sections

    assert remarks == Section(
        "Comment on C6: Bring the spare battery along.\nReturn everything by Saturday noon.", "Loans", 1
    )
    assert [(section.text, section.heading, section.page_num) for section in others] == [
        ("Days lent per tool", "Overview", 2),
        ("The shed key hangs behind the door", "Keys", 4),
    ]


def test_title_and_metadata_are_the_workbooks_own() -> None:
    """I7"""
    document = read_sample("xlsx/tools.xlsx")

    assert document.title == "Tool lending register"
    assert document.metadata == {
        "author": "Tomas Lind",
        "subject": "Neighbourhood workshop",
        "keywords": "tools, lending",
        "created": "2024-03-01T09:00:00Z",
        "modified": "2024-03-01T09:00:00Z",
        "sheets": 4,
        "sheet_names": ["Loans", "Overview", "Nothing here", "Keys"],
    }


def test_a_long_sheet_is_read_in_parts_that_all_know_its_header() -> None:
    """I4"""
    document = read_sample("xlsx/readings.xlsx")

    assert [len(part) for part in document.parts] == [1, 1]
    assert {section.rows.header for section in document.sections if section.rows} == {"Sensor | Day | Value | Remark"}
    numbers = [number for section in document.sections if section.rows for number in section.rows.numbers]
    assert numbers == list(range(2, 1152))
    assert document.sections[1].text.split("\n")[0] == "S6 | 2023-09-28 | 1 | calibrated"


def test_a_chunk_of_a_workbook_names_its_sheet_and_its_rows(embedder: Embedder) -> None:
    """I2"""
    sections = read_sample("xlsx/orchard.xlsx").sections + read_sample("xlsx/readings.xlsx").sections

    passages = split_into_passages(sections, embedder.token_spans, max_tokens=190)

    market = next(passage for passage in passages if "Südmarkt" in passage.text)
    assert (market.heading, market.page_num) == ("Märkte & Preise > rows 2\u20133", 2)
    readings = [passage for passage in passages if (passage.heading or "").startswith("Readings > row")]
    assert len(readings) > 50
    covered: list[int] = []
    for passage in readings:
        header, *rows = passage.text.split("\n")
        first, *_, last = [*map(int, re.findall(r"\d+", passage.heading or ""))] * 2
        assert header == "Sensor | Day | Value | Remark"
        assert len(rows) == last - first + 1
        assert len(embedder.token_spans(passage.text)) <= 190
        covered += range(first, last + 1)
    assert covered == list(range(2, 1152))


def test_a_workbook_with_a_password_says_so() -> None:
    """I5"""
    with pytest.raises(Unreadable) as raised:
        read_sample("xlsx/locked.xlsx")

    assert raised.value.code == "encrypted_file"


def changed(sample: str, into: Path, parts: dict[str, str]) -> Path:
    """A copy of the workbook with other parts in it, or with more of them."""
    with zipfile.ZipFile(SAMPLES / sample) as original, zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as copy:
        for name in {*original.namelist(), *parts}:
            copy.writestr(name, parts[name] if name in parts else original.read(name))
    return into


def sheet(rows: str) -> str:
    return (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="A1"/>'
        f"<sheetData>{rows}</sheetData></worksheet>"
    )


def row(number: str, cell: str, text: str) -> str:
    return f'<row r="{number}"><c r="{cell}{number}" t="inlineStr"><is><t>{text}</t></is></c></row>'


def test_two_cells_in_opposite_corners_of_a_sheet_do_no_harm(tmp_path: Path) -> None:
    """I5: held as one block, they would be seventeen thousand million cells."""
    corners = sheet(row("1", "A", "first") + row("1048576", "XFD", "last"))
    path = changed("xlsx/readings.xlsx", tmp_path / "corners.xlsx", {"xl/worksheets/sheet1.xml": corners})

    document = read_file(path)

    assert document.sections == [
        Section("first", "Readings", 1, Rows("", (1,))),
        Section("last", "Readings", 1, Rows("", (1_048_576,))),
    ]


def test_a_workbook_is_read_whatever_it_is_called(tmp_path: Path) -> None:
    """I1: originals are kept under names that tell nothing, and both libraries would judge by the name."""
    corners = sheet(row("1", "A", "first") + row("1048576", "XFD", "last"))
    wide = changed("xlsx/readings.xlsx", tmp_path / "0f3a", {"xl/worksheets/sheet1.xml": corners})
    plain = changed("xlsx/readings.xlsx", tmp_path / "some.ods", {})

    assert [section.text for part in list_sections(xlsx.read(wide)) for section in part] == ["first", "last"]
    assert list_sections(xlsx.read(plain))[1][0].rows == Rows("Sensor | Day | Value | Remark", tuple(range(1001, 1152)))


def test_a_sheet_that_one_library_refuses_is_read_by_the_other(tmp_path: Path) -> None:
    odd = '<row r="2"><c r="A2" t="odd"><v>7</v></c><c r="B2" t="e"><v>#DIV/0!</v></c></row>'
    parts = {"xl/worksheets/sheet1.xml": sheet(row("1", "A", "first") + odd)}

    document = read_file(changed("xlsx/readings.xlsx", tmp_path / "odd.xlsx", parts))

    assert document.text == "first\n7"


def test_rows_and_cells_without_numbers_follow_one_another(tmp_path: Path) -> None:
    cells = (f"<c t='inlineStr'><is><t>name {n}</t></is></c><c><v>{n}</v></c>" for n in range(1, 1102))
    rows = "".join(f"<row>{pair}</row>" for pair in cells)
    path = changed("xlsx/readings.xlsx", tmp_path / "plain.xlsx", {"xl/worksheets/sheet1.xml": sheet(rows)})

    document = read_file(path)

    assert [section.rows.numbers[-1] for section in document.sections if section.rows] == [1000, 1101]
    assert document.text.endswith("name 1101 | 1101")


def test_rows_without_numbers_follow_those_that_have_one(tmp_path: Path) -> None:
    """I6"""
    rows = "".join(f"<row><c t='inlineStr'><is><t>name {n}</t></is></c></row>" for n in range(2, 2501))
    parts = {"xl/worksheets/sheet1.xml": sheet(row("1", "A", "name 1") + rows)}

    document = read_file(changed("xlsx/readings.xlsx", tmp_path / "plain.xlsx", parts))

    assert document.text.split() == [word for n in range(1, 2501) for word in ("name", str(n))]
    assert len(document.parts) == 3


def test_a_sheet_is_read_whatever_its_elements_are_called(tmp_path: Path) -> None:
    """I6: a prefix hides the rows from those who only count them."""
    prefixed = (
        '<x:worksheet xmlns:x="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><x:sheetData>'
        "<x:row><x:c><x:v>42</x:v></x:c></x:row></x:sheetData></x:worksheet>"
    )

    document = read_file(
        changed("xlsx/readings.xlsx", tmp_path / "prefix.xlsx", {"xl/worksheets/sheet1.xml": prefixed})
    )

    assert document.text == "42"


def test_a_name_of_megabytes_is_told_in_few_words(tmp_path: Path) -> None:
    """I5: the metadata is stored with the document and shown with every hit."""
    with zipfile.ZipFile(SAMPLES / "xlsx/readings.xlsx") as sample:
        workbook = sample.read("xl/workbook.xml").decode()
    name = "a&#x85;b\u200e" + "x" * 3_000_000
    parts = {"xl/workbook.xml": workbook.replace('"Readings"', f'"{name}"', 1)}

    document = read_file(changed("xlsx/readings.xlsx", tmp_path / "name.xlsx", parts))

    assert document.metadata["sheet_names"] == [document.sections[0].heading]
    assert document.metadata["sheet_names"][0].startswith("a b")
    assert len(document.metadata["sheet_names"][0]) <= 120


def test_todays_comments_are_read_in_place_of_their_copies_for_older_programs(tmp_path: Path) -> None:
    relationships = zipfile.ZipFile(SAMPLES / "xlsx/tools.xlsx").read("xl/worksheets/_rels/sheet1.xml.rels").decode()
    listed = '<Relationship Id="rIdT" Type="http://x/relationships/threadedComment" Target="../threads.xml"/>'
    threads = (
        '<ThreadedComments xmlns="http://schemas.microsoft.com/office/spreadsheetml/2018/threadedcomments">'
        '<threadedComment ref="C6"><text>Is the battery charged?</text></threadedComment>'
        '<threadedComment ref="C6"><text>Since Monday.</text></threadedComment></ThreadedComments>'
    )
    parts = {
        "xl/worksheets/_rels/sheet1.xml.rels": relationships.replace("</Relationships>", f"{listed}</Relationships>"),
        "xl/threads.xml": threads,
    }

    document = read_file(changed("xlsx/tools.xlsx", tmp_path / "threads.xlsx", parts))

    assert document.sections[2].text == (
        "Comment on C6: Is the battery charged?\nComment on C6: Since Monday.\nReturn everything by Saturday noon."
    )


def test_a_sheet_that_is_damaged_does_not_hide_the_others(tmp_path: Path) -> None:
    """I5"""
    path = changed("xlsx/orchard.xlsx", tmp_path / "damaged.xlsx", {"xl/worksheets/sheet2.xml": "<worksheet><sheetD"})

    document = read_file(path)

    assert "Boskoop" in document.text
    assert "Quittenhof" in document.text
