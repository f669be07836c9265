import codecs
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.errors import Unreadable, UnsupportedFormat
from kb.engine.ingestion.extraction import detect_format, extract, sections_of_markdown, supported_formats
from kb.engine.ingestion.titles import MAX_TITLE_CHARACTERS, derive_note_title


@pytest.mark.parametrize(
    ("filename", "format"),
    [
        ("notes.md", "md"),
        ("NOTES.MARKDOWN", "md"),
        ("a.txt", "txt"),
        ("server.log", "txt"),
        ("README", "txt"),
        (".env", "txt"),
        ("folder.d/Makefile", "txt"),
        ("C:\\docs\\a.md", "md"),
    ],
)
def test_text_is_told_apart_by_its_name(filename: str, format: str) -> None:
    """I1"""
    assert detect_format(filename, b"some text") == format


@pytest.mark.parametrize(
    "head",
    [
        b"%PDF-1.7\n",
        b"\xef\xbb\xbf\n%PDF-1.4",
        b"PK\x03\x04rest",
        b"\x89PNG\r\n\x1a\n",
        b"\xff\xd8\xff\xe0",
        b"\x1f\x8b\x08rest",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"{\\rtf1",
        b"text with a \x00 in it",
    ],
)
def test_what_is_not_text_is_refused_whatever_its_name(head: bytes) -> None:
    """I1"""
    with pytest.raises(UnsupportedFormat):
        detect_format("a.txt", head)


def test_an_unknown_extension_is_refused_with_what_is_supported() -> None:
    """I1"""
    with pytest.raises(UnsupportedFormat) as refused:
        detect_format("a.xyz", b"text")

    assert refused.value.details == {"supported_formats": supported_formats(), "filename": "a.xyz"}


def test_wide_text_with_a_byte_order_mark_is_text() -> None:
    assert detect_format("a.txt", codecs.BOM_UTF16_LE + "hi".encode("utf-16-le")) == "txt"


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

    assert extract("txt", file).sections[0].text == text


def test_a_broken_byte_does_not_spoil_the_rest(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes("größer und schöner, für ".encode() + b"\xff" + "übermorgen".encode())

    assert extract("txt", file).sections[0].text == "größer und schöner, für \ufffdübermorgen"


def test_control_characters_go_and_line_ends_are_one(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"a\r\nb\rc\x0cd\x00\x1b\te")

    assert extract("txt", file).sections[0].text == "a\nb\nc\nd\te"


@pytest.mark.parametrize("format", ["txt", "md"])
def test_a_blank_file_is_unreadable(tmp_path: Path, format: str) -> None:
    file = tmp_path / "blank"
    file.write_bytes(b" \r\n\x00")

    with pytest.raises(Unreadable) as refused:
        extract(format, file)

    assert refused.value.reason == "no_text_found"


def test_markdown_is_cut_at_headings_with_their_path() -> None:
    text = "intro\n\n# A\none\n## B *b*\ntwo\n\nC\n===\n\nthree\n"

    sections = sections_of_markdown(text)

    assert [section.heading for section in sections] == [None, "A", "A > B b", "C"]
    assert "".join(section.text for section in sections) == text


def test_a_heading_with_nothing_under_it_joins_its_first_subheading() -> None:
    sections = sections_of_markdown("# A\n\n## B\ntext\n## C\n")

    assert [(section.text, section.heading) for section in sections] == [
        ("# A\n\n## B\ntext\n", "A > B"),
        ("## C\n", "A > C"),
    ]


@pytest.mark.parametrize(
    "text", ["```\n# no\n```\n", "~~~sh\n# no\n", "#hashtag\n", "    # code\n", "a\nb\n---\n", "- a\n---\n"]
)
def test_what_only_looks_like_a_heading_is_none(text: str) -> None:
    assert [section.heading for section in sections_of_markdown(text)] == [None]


def test_front_matter_gives_title_and_metadata(tmp_path: Path) -> None:
    """I7"""
    file = tmp_path / "a.md"
    file.write_text("---\ntitle: 'My plan'\ntags: [a, \"b c\"]\nauthor: Ann\naliases:\n  - x\n---\n# Heading\ntext\n")

    extracted = extract("md", file)

    assert extracted.title == "My plan"
    assert extracted.metadata == {"tags": ["a", "b c"], "author": "Ann", "aliases": ["x"]}
    assert [section.text for section in extracted.sections] == ["# Heading\ntext\n"]


@pytest.mark.parametrize(
    "text",
    [
        "---\nauthor:\n  name: Ann\n---\ntext\n",
        "---\nabout: >\n  long\n---\ntext\n",
        "---\nJust a rule above.\n---\ntext\n",
        "---\ntitle: only this\n---\n",
    ],
)
def test_front_matter_that_is_not_understood_stays_in_the_text(tmp_path: Path, text: str) -> None:
    file = tmp_path / "a.md"
    file.write_text(text)

    extracted = extract("md", file)

    assert "".join(section.text for section in extracted.sections) == text
    assert extracted.metadata == {}


def test_the_title_is_the_first_main_heading_else_the_first(tmp_path: Path) -> None:
    """I7"""
    main, minor = tmp_path / "a.md", tmp_path / "b.md"
    main.write_text("## Before\nx\n# The Title #\ny\n")
    minor.write_text("text\n\n## Only\nx\n")

    assert extract("md", main).title == "The Title"
    assert extract("md", minor).title == "Only"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("\n\n  ## Shopping list ##\nmilk", "Shopping list"),
        ("---\nfirst words\n", "first words"),
        ("🎉\n", "🎉"),
        ("#hashtag first", "#hashtag first"),
        ("  \n", ""),
    ],
)
def test_a_note_is_titled_by_its_first_line(text: str, title: str) -> None:
    """I7"""
    assert derive_note_title(text) == title


def test_a_long_first_line_is_cut_at_a_word() -> None:
    """I7"""
    title = derive_note_title("word " * 100)

    assert title.endswith("word…")
    assert len(title) <= MAX_TITLE_CHARACTERS
    assert len(derive_note_title("今" * 500)) == MAX_TITLE_CHARACTERS


@given(st.text(alphabet=st.sampled_from("a #=-\n`~|>*1."), max_size=200))
def test_sections_of_markdown_lose_nothing_but_blank_text(text: str) -> None:
    sections = sections_of_markdown(text)

    assert "".join("".join(section.text for section in sections).split()) == "".join(text.split())
