"""ODT files of several programs, read as the engine reads them."""

import zipfile
from pathlib import Path

import pytest
from tests.reading import SAMPLES, ReadDocument, read_file, read_sample

from kb.engine.errors import Unreadable


def places(document: ReadDocument) -> list[tuple[int | None, str | None]]:
    return [(section.page_num, section.heading) for section in document.sections]


def with_content(sample: str, folder: Path, before: str, after: str) -> ReadDocument:
    """The sample with a piece of its content replaced."""
    path = folder / Path(sample).name
    with zipfile.ZipFile(SAMPLES / sample) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "content.xml":
                assert before in content.decode()
                content = content.decode().replace(before, after).encode()
            target.writestr(name, content)
    return read_file(path)


def test_a_document_of_libreoffice_is_read_page_by_page() -> None:
    """I1, I2: a break that the program noted, then one that the author made."""
    document = read_sample("odt/ferry.odt")

    assert places(document) == [
        (1, "Boarding"),
        (1, "Boarding > Fares"),
        (2, "Boarding > Fares"),
        (3, "Weather"),
        (None, None),
    ]
    assert document.sections[0].text == (
        "Boarding\n\nFoot passengers board[1] before  cars.\n\n[1] Bicycles count as luggage.\n\n"
        "The ramp closes five minutes before.\n\nComment (Eva): Five or six minutes?\n\n"
        "1. Show the ticket\n  a) on paper\n  b) on a screen\n2. Walk to the bow\n- Dogs on a leash"
    )
    assert document.sections[1].text.startswith(
        "Fares\n\nKind | Summer | Winter\nAdult |  | 40\n\n"
        "Ask the purser\tfor rebates.\nHe knows them.\n\nChildren travel free in a box.\n\nWatch 1."
    )
    assert document.sections[3].text == "Weather\n\nNo crossing above force nine."
    assert document.sections[4].text == "Fjord line, timetable office\n\nPage 3"
    assert "withdrawn clause" not in document.text
    assert "Secret words" not in document.text


def test_metadata_is_what_the_document_says() -> None:
    document = read_sample("odt/ferry.odt")

    assert document.title == "The ferry rules"
    assert document.metadata == {
        "author": "Nils Aas",
        "subject": "Crossings",
        "keywords": "ferry, tickets",
        "created": "2024-02-01",
        "pages": 3,
    }


def test_notes_lists_tables_and_formulas_of_pandoc_are_read() -> None:
    document = read_sample("odt/orchard.odt")

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
    assert "2. Bypass secateurs\n  a. for twigs\n  b. for suckers\n3. Ladder" in tools
    assert yields == "Yields\n\nVariety | Kilograms | Remark\nBramley | 412\nDiscovery | 97 | eaten early"
    assert "The mean is a + b 2, and the area x 2." in arithmetic


def test_a_cell_that_is_repeated_a_million_times_costs_nothing() -> None:
    document = read_sample("odt/walls.odt")

    assert places(document) == [(1, "Foundations > The trench"), (2, "Coping")]
    assert document.sections[0].text.endswith(
        "Dig down to firm soil.\nKeep the turf.\n\n"
        "- Big stones first\n- Small ones last\n\nStone | Weight | Use\nWhin |  | base"
    )
    assert document.metadata == {
        "author": "Fergus Boyd",
        "language": "en",
        "modified": "2022-07-04T12:00:00Z",
        "pages": 2,
    }


def test_repeated_cells_keep_the_columns_in_line(tmp_path: Path) -> None:
    document = with_content(
        "odt/walls.odt", tmp_path, "<table:table-cell/>", '<table:table-cell table:number-columns-repeated="2"/>'
    )

    assert "Whin |  |  | base" in document.text


def test_a_document_without_pages_or_title_takes_its_first_heading() -> None:
    """I7."""
    document = read_sample("odt/wool.odt")

    assert document.title == "Wool"
    assert places(document) == [(None, "Wool > Washing"), (None, "Wool > Dyeing")]
    assert document.sections[0].text == (
        "Wool\n\nWashing\n\nWash in cool water.\n\nBreed | Micron\nMerino | 19\n\n1. Soak\n2. Rinse"
    )


def test_a_numbered_list_goes_on_where_it_is_told_to(tmp_path: Path) -> None:
    apart = "</text:list><text:p>Wait.</text:p><text:list {}>"
    joint = "</text:list-item><text:list-item>"
    style = 'text:style-name="L1"'
    again, on = apart.format(style), apart.format(f'{style} text:continue-numbering="true"')

    goes_on = with_content("odt/wool.odt", tmp_path, joint, f"</text:list-item>{on}<text:list-item>")
    begins_again = with_content("odt/wool.odt", tmp_path, joint, f"</text:list-item>{again}<text:list-item>")

    assert "1. Soak\n\nWait.\n\n2. Rinse" in goes_on.text
    assert "1. Soak\n\nWait.\n\n1. Rinse" in begins_again.text


def test_an_empty_item_leaves_no_bullet_to_the_next_paragraph(tmp_path: Path) -> None:
    item = '<text:p text:style-name="P2">Rinse</text:p>'

    document = with_content(
        "odt/wool.odt", tmp_path, f"{item}</text:list-item></text:list>", f"</text:list-item></text:list>{item}"
    )

    assert "1. Soak\n\nRinse" in document.text


def test_a_paragraph_that_names_a_page_layout_begins_a_page(tmp_path: Path) -> None:
    style = ' style:display-name="Break"><style:paragraph-properties fo:break-before="page"/>'

    document = with_content("odt/walls.odt", tmp_path, style, ' style:master-page-name="Standard">')

    assert places(document) == [(1, "Foundations > The trench"), (2, "Coping")]


@pytest.mark.parametrize("level", ["\u00b2", "-1", "1.5", "", "9" * 5_000])
def test_a_number_that_is_none_does_no_harm(tmp_path: Path, level: str) -> None:
    heading = f'<text:h text:outline-level="{level}">Tides</text:h></office:text>'

    document = with_content("odt/ferry.odt", tmp_path, "</office:text>", heading)

    assert "Tides" in [section.heading for section in document.sections]


def test_an_encrypted_document_is_told() -> None:
    """I5."""
    with pytest.raises(Unreadable) as refusal:
        read_sample("odt/encrypted.odt")

    assert refusal.value.code == "encrypted_file"
