"""Plain text in whatever encoding it comes."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reading import read_file

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.parts import PART_CHARACTERS, cut_into_parts
from kb.engine.ingestion.sections import Section


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Café à la crème, déjà vu. Où est la bibliothèque?", "cp1252"),
        ("café", "cp1252"),
        ("Привет, как дела? Это проверка.", "cp1251"),
        ("日本語のテキストです。これは文字コードのテストです。", "shift_jis"),
        ("naïve", "utf-8-sig"),
        ("naïve", "utf-16"),
        ("naïve", "utf-32"),
    ],
)
def test_text_is_read_in_its_encoding(tmp_path: Path, text: str, encoding: str) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(text.encode(encoding))

    assert read_file(file).text == text


def test_a_broken_byte_does_not_spoil_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("größer und schöner, für ".encode() + b"\xff" + "übermorgen".encode())

    assert read_file(file).text == "größer und schöner, für \ufffdübermorgen"


def test_control_characters_go_and_line_ends_are_one(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"a\r\nb\rc\x0cd\x01\x1b\te")

    assert read_file(file).text == "a\nb\nc\nd\te"


def test_a_blank_text_is_unreadable(tmp_path: Path) -> None:
    """I5"""
    file = tmp_path / "blank.txt"
    file.write_bytes(b" \r\n\t")

    with pytest.raises(Unreadable) as refused:
        read_file(file)

    assert refused.value.code == "no_text_found"


def test_a_long_text_is_read_in_parts_that_end_with_a_paragraph(tmp_path: Path) -> None:
    """I6"""
    paragraph = "Nobody reads this far. " * 20 + "\n\n"
    file = tmp_path / "long.txt"
    file.write_text(paragraph * (2 * PART_CHARACTERS // len(paragraph)))

    parts = read_file(file).parts

    assert len(parts) > 1
    assert "".join(part[0].text for part in parts) == file.read_text()
    assert all(part[0].text.startswith("Nobody") or part[0].text.startswith("\nNobody") for part in parts)


@given(st.text(alphabet="a \n", min_size=0, max_size=20).map(lambda text: text * 60_000))
def test_parts_of_a_text_lose_nothing(text: str) -> None:
    """I6"""
    parts = cut_into_parts([Section(text, "A"), Section("end", "B")])

    assert "".join(section.text for part in parts for section in part) == text + "end"
    assert all(sum(len(section.text) for section in part) <= PART_CHARACTERS for part in parts)
    assert {section.heading for part in parts for section in part} <= {"A", "B"}
