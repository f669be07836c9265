from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reading import list_sections, read_file, read_sample

from kb.engine.ingestion.extraction.readers.tables import csv
from kb.engine.ingestion.sections import Rows, Section

COSTS = Section(
    "Dachrinne | Müller & Söhne; Spenglerei | 1250.5 | 03.05.2024 | zwei Raten, größere zuerst\n"
    'Fensterläden | Tischlerei Groß | 890 | 17.06.2024 | Farbe "Moosgrün"\n'
    "Heizöl | Wärme König | 2400.75 | 01.10.2024 | 1.800 Liter à 1,33 €",
    rows=Rows("Posten | Empfänger | Betrag | Fällig am | Bemerkung", (2, 3, 4)),
)


@pytest.mark.parametrize("name", ["costs-windows-1252.csv", "costs-utf-16.tsv"])
def test_encoding_and_delimiter_are_found_out(name: str) -> None:
    """I1"""
    document = read_sample(f"csv/{name}")

    assert document.format == "csv"
    assert document.sections == [COSTS]


def test_japanese_in_its_old_encoding_is_read() -> None:
    """I1"""
    [section] = read_sample("csv/staff-shift-jis.csv").sections

    assert section.rows == Rows("名前 | 部署 | 電話番号 | 備考", (2, 3, 4))
    assert section.text.startswith("山田太郎 | 営業部 | 03-1234-5678 | 来週は京都へ出張します")


def test_rows_are_numbered_by_record_and_keep_all_their_cells() -> None:
    """I2, I6"""
    [section] = read_sample("csv/journal.csv").sections

    assert section.rows == Rows("Date | Place | Entry", (2, 3, 5, 6))
    assert section.text.split("\n") == [
        '2024-06-01 | Lake shore | Fog until ten. Then a heron, "very close", fishing.',
        "2024-06-02 | Old quarry | Two lizards, one slow-worm",
        "2024-06-04 | Meadow | Orchids: 14 | extra cell",
        "2024-06-05",
    ]


def test_quotes_commas_and_line_breaks_inside_cells_do_not_cut_them() -> None:
    [section] = read_sample("csv/rivers.csv").sections

    assert section.text.split("\n") == [
        "Glomma | Oglefjord | 621 | longest of the set",
        "Otra | Kristiansand, harbour | 245",
        'Skien "old arm" | Frierfjord | 252 | two locks',
    ]


def test_a_long_file_is_read_in_parts_that_all_know_its_header() -> None:
    """I4"""
    document = read_sample("csv/inventory.csv")

    assert [[section.rows.numbers[0] for section in part if section.rows] for part in document.parts] == [[2], [1001]]
    assert {section.rows.header for section in document.sections if section.rows} == {"Article | Shelf | Count"}
    assert len(document.text.split()) == 1100 * 6


@pytest.mark.parametrize(
    ("text", "header", "rows", "numbers"),
    [
        ("Anna,Berlin,34\nBo,Oslo,29\n", "", "Anna | Berlin | 34\nBo | Oslo | 29", (1, 2)),
        ("Region;2023;2024\nNord;1,5;2,5\nSüd;1;2\n", "Region | 2023 | 2024", "Nord | 1,5 | 2,5\nSüd | 1 | 2", (2, 3)),
        ("1,5;2,5\n3,5;4,5\n", "", "1,5 | 2,5\n3,5 | 4,5", (1, 2)),
        ("sep=#\na#b\n1#2\n", "a | b", "1 | 2", (2,)),
        ("only\none\ncolumn\n", "", "only\none\ncolumn", (1, 2, 3)),
        ("a,a\n1,2\n", "", "a | a\n1 | 2", (1, 2)),
        ("#,Name\n1,Anna\n", "# | Name", "1 | Anna", (2,)),
        ("a,,c\n1,,3\n,2,\n", "a |  | c", "1 |  | 3\n | 2", (2, 3)),
        ("name,b\x00\n1\x00,2\n", "name | b", "1 | 2", (2,)),
    ],
)
def test_headers_are_told_from_rows(
    text: str, header: str, rows: str, numbers: tuple[int, ...], tmp_path: Path
) -> None:
    """I2"""
    path = tmp_path / "some.csv"
    path.write_text(text, encoding="utf-8")

    [[section]] = list_sections(csv.read(path))

    assert section.rows == Rows(header, numbers)
    assert section.text == rows


def test_a_title_above_the_header_is_its_caption(tmp_path: Path) -> None:
    path = tmp_path / "titled.csv"
    path.write_text(
        "Members of the choir\nName,Voice,Since\nIda,alto,2019\n\nWaiting list\n\nName,Asked on\nUwe,3.4.\n"
    )

    sections = read_file(path).sections

    assert [(section.text, section.heading, section.rows) for section in sections] == [
        ("Members of the choir", None, Rows("", (1,))),
        ("Ida | alto | 2019\nWaiting list", "Members of the choir", Rows("Name | Voice | Since", (3, 5))),
        ("Uwe | 3.4.", "Waiting list", Rows("Name | Asked on", (8,))),
    ]


def test_blank_rows_inside_a_table_do_not_end_it(tmp_path: Path) -> None:
    """I2"""
    path = tmp_path / "spaced.csv"
    path.write_text("Name,Voice\nIda,alto\n\nUwe,bass\nKim,tenor\n\n\nAda,soprano\n")

    [section] = read_file(path).sections

    assert section.text == "Ida | alto\nUwe | bass\nKim | tenor\nAda | soprano"
    assert section.rows == Rows("Name | Voice", (2, 4, 5, 8))


def test_a_quote_that_is_never_closed_swallows_nothing(tmp_path: Path) -> None:
    """I6"""
    path = tmp_path / "open.csv"
    path.write_text('size,name\n"5,pipe\n6,hose\n7,tap\n')

    [section] = read_file(path).sections

    assert section.text == '"5 | pipe\n6 | hose\n7 | tap'


def test_parts_can_be_read_in_any_order(tmp_path: Path) -> None:
    """I5: a reader that is started again goes on at the next part."""
    path = tmp_path / "long.csv"
    path.write_text("number,square\n" + "".join(f"{n},{n * n}\n" for n in range(2, 4500)))
    parts = csv.read(path).parts

    in_order = [parts[index] for index in range(len(parts))]

    assert len(in_order) == 5
    assert [parts[index] for index in (3, 1, 1, 4, 0, 2)] == [in_order[index] for index in (3, 1, 1, 4, 0, 2)]
    assert csv.read(path).parts[4] == in_order[4]


LETTERS = "abn\u00e9"
CELLS = st.text(alphabet="ab1 ,;|\t\"'\n\u00e9.", max_size=8)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=30))
def test_no_word_of_any_file_is_lost(tmp_path: Path, records: list[list[str]]) -> None:
    """I6"""
    path = tmp_path / "any.csv"
    lines = "\n".join(map(",".join, records)).split("\n")
    # Two headers alike would be read as the same one, so no two lines are.
    written = "\n".join(f"{line},n{number}n" if line else "" for number, line in enumerate(lines))
    path.write_text(f"word\n{written}", encoding="utf-8")

    sections = [section for part in list_sections(csv.read(path)) for section in part]

    read = "".join(section.text + (section.rows.header if section.rows else "") for section in sections)
    assert {letter: read.count(letter) for letter in LETTERS} == {letter: written.count(letter) for letter in LETTERS}
    assert all(len(section.text.split("\n")) == len(section.rows.numbers) for section in sections if section.rows)
