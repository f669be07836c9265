"""RTF as several programs write it, and the traps of the format one by one."""

import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reading import ReadDocument, read_file, read_sample

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.office.rtf import MAX_DEPTH, read

Outlined = list[tuple[int | None, str | None, str]]


def outlined(document: ReadDocument) -> Outlined:
    return [(section.page_num, section.heading, section.text) for section in document.sections]


def test_a_document_of_libreoffice_is_read_whole() -> None:
    """I2, I7: pages, headings, lists, tables, notes and comments; nothing that is hidden or was deleted."""
    document = read_sample("rtf/libreoffice.rtf")

    assert document.format == "rtf"
    assert document.title == "Minutes of the garden club"
    assert document.metadata == {
        "author": "Pía Núñez",
        "created": "2024-05-01",
        "modified": "2024-05-02",
        "subject": "Spring meeting",
        "keywords": "garden, tools",
    }
    assert outlined(document) == [
        (1, None, "Garden club, spring meeting\n\nFor members only"),
        (
            1,
            "Opening",
            "Opening\n\nThe meeting was opened at seven by the chair. Everybody agreed.\n\n"
            "The old chair was on a journey.\n\nComment: Was Anna there?\n\n"
            "- Spades \u2013 three are missing\n- “New” rakes: €30",
        ),
        (
            1,
            "Opening > Tools",
            "Tools\n\n"
            "Tool | Count | Remark\nSpade |  | two lines in one cell\nSchaufel | 4 | inner left inner right\n\n"
            "After the table.\nA second line\tafter a tab.",
        ),
        (
            2,
            "Opening > Tools",
            "On the second page stands a link, Привет, 日本語 and 🌱.\n\nWords in a box\n\nBeside the box.",
        ),
        (2, "Closing", "Closing\n\nClosed at nine."),
    ]


def test_a_document_of_pandoc_is_read_whole() -> None:
    """I2, I7"""
    document = read_sample("rtf/pandoc.rtf")

    assert document.title == "The harbour in winter"
    assert [section.page_num for section in document.sections] == [None] * 5
    assert [section.heading for section in document.sections] == [
        None,
        "The harbour in winter",
        "The harbour in winter > Ships that waited",
        "The harbour in winter > Ships that waited > Costs",
        "Summer",
    ]
    assert document.sections[2].text == (
        "Ships that waited\n\nShip | Days | Cargo\nAurora | 4 | timber\nBergfalke |  | salt\nŚwit | 11 | żelazo\n\n"
        "- The Aurora ran out of coal.\n- The Bergfalke had enough.\n- She even gave some away.\n"
        "1. Break the ice.\n2. Tow the ships in."
    )
    assert document.sections[3].text == (
        "Costs\n\nThe costs were €12,400. See the accounts.\n\nWithout the wages of the pilots."
    )
    assert "Ελληνικά, русский, 日本語 and an emoji 🚢" in document.text


def test_a_document_of_abiword_is_read_whole() -> None:
    """I2, I7: it names its headings by style alone, and marks the text of links as optional."""
    document = read_sample("rtf/abiword.rtf")

    assert document.title == "Harbour report"
    assert [section.heading for section in document.sections] == [
        "Harbour report",
        "Harbour report > The harbour in winter",
        "Harbour report > The harbour in winter > Ships that waited",
        "Harbour report > The harbour in winter > Ships that waited > Costs",
        "Harbour report > Summer",
    ]
    assert "Bergfalke |  | salt\nŚwit | 11 | żelazo\n\n- The Aurora ran" in document.text
    assert "See the accounts." in document.text


def test_a_document_of_pyrtf_is_read_whole() -> None:
    """I2: sections that begin new pages, and headers of which one is for the first page."""
    document = read_sample("rtf/pyrtf.rtf")

    assert outlined(document) == [
        (1, None, "Boat rental, first page\n\nBoat rental"),
        (1, "Price list", "Price list\n\nBoats are let by the hour. Bring them back clean."),
        (
            1,
            "Price list > Rowing boats",
            "Rowing boats\n\nBoat | Price\nSmall | 8\nLarge\n\nChildren go for nothing.",
        ),
        (2, "House rules", "House rules\n\nNo swimming from the jetty."),
    ]


def test_a_document_of_rtf_writer_is_read_whole() -> None:
    """I2, I7"""
    document = read_sample("rtf/rtf_writer.rtf")

    assert document.title == "Recipe for rye bread"
    assert document.metadata["author"] == "Jonas Berg"
    assert outlined(document) == [
        (
            1,
            None,
            "Rye bread\n\n"
            "Mix 500 g of flour with water and a little salt {not more}, and wait: “slowly”, café style.\n\n"
            "Step | Minutes | Remark\nRest | 45 | in the warm\nBake |  | 220 degrees",
        ),
        (2, None, "Eat it on the second page, 你好."),
    ]


def test_a_listing_of_pygments_keeps_its_indentation() -> None:
    document = read_sample("rtf/pygments.rtf")

    assert document.text == 'def grüße(name):\n\n    """Sagt 你好 🌻."""\n\n    return {"a": f"hi {name}\\n"}'


def text_of(tmp_path: Path, body: bytes) -> str:
    file = tmp_path / "a.rtf"
    file.write_bytes(b"{\\rtf1\\ansi " + body + b"}")
    return "\n\n".join(section.text for section in read(file).parts[0])


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (rb"caf\'e9", "café"),
        (b"caf\xe9", "café"),
        (rb"\ansicpg1251 \'cf\'f0\'e8\'e2\'e5\'f2", "Привет"),
        (rb"\mac caf\'8e", "café"),
        (rb"\ansicpg99999 caf\'e9", "café"),
        (rb"{\fonttbl{\f0 A;}{\f1\fcharset204 B;}}a{\f1\'df\'c6}\'e9", "aЯЖé"),
        (rb"{\fonttbl\f0\fswiss\fcharset238 A;}\deff0 \'bf", "ż"),
        (rb"{\fonttbl{\f1\fcharset128 B;}}\f1 \'93\'fa\'96\{", "日本"),
        (rb"\u8364?5 \u8364\'805 \uc0\u8364 5 \uc2\u8364 EU5", "€5 €5 €5 €5"),
        (rb"\u-10179?\u-8542? \u128674?", "🚢 🚢"),
        (rb"{\uc2 \u8364}ab \u8364\endash 5", "€ab €5"),
        (rb"a\emdash b\~c\_d\-e \{x\} \\y \lquote z\rquote\|", "a\u2014b c-de {x} \\y \u2018z\u2019"),
        (b"one\\\ntwo\\\rthree \r\nfour", "one\n\ntwo\n\nthree four"),
        (rb"seen {\v hidden}{\deleted gone}\v never\v0  again", "seen  again"),
        (rb"a{\*\unknown {nested} text}{\*\xyz1 }b", "ab"),
        (rb"{\info{\title T}}{\colortbl;\red0;}{\pict\wmetafile8 0a1b}x{\field{\*\fldinst LINK}{\fldrslt y}}", "xy"),
        (rb"a{\object{\*\objdata 00ff}{\result b}}{\upr{x}{\*\ud{\u8364?}}}c", "ab€c"),
        (rb"{\shp{\*\shpinst{\sp{\sn name}{\sv 1}}{\shptxt boxed\par twice}}{\shprslt boxed}}x", "boxed\ntwice\n\nx"),
        (b"a{\\pict\\bin6 {\\\x00}\\{}b", "ab"),
        (rb"{\header same}{\headerl same}x\par{\footer other\par}{\header same}y", "same\n\nx\n\nother\n\ny"),
        (rb"\pard\intbl a\cell b\line c\cell\row\pard\intbl d\cell\cell e\cell\row\pard f", "a | b c\nd |  | e\n\nf"),
        (rb"{\pntext\'b7\tab}one\par{\listtext 2.\tab}two\par three", "- one\n2. two\n\nthree"),
        (rb"{\mmath{\*\moMath{\mfPr{\mtype bar}}{\mr E=mc}}}", "E=mc"),
    ],
)
def test_what_a_person_sees_is_the_text(tmp_path: Path, body: bytes, text: str) -> None:
    """I6"""
    assert text_of(tmp_path, body) == text


def test_a_byte_order_mark_before_the_first_brace_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.rtf"
    file.write_bytes(b"\xef\xbb\xbf\n{\\rtf1 text}\x00 and what comes after the end")

    assert read_file(file).text == "text"


def test_a_character_in_two_halves_is_whole_wherever_it_stands(tmp_path: Path) -> None:
    """I6"""
    ship = rb"\u-10179?\u-8542?"
    file = tmp_path / "a.rtf"
    file.write_bytes(
        rb"{\rtf1{\info{\title The %b day}{\author {\u-10179?}{\u-8542?} Line}}{\listtext %b\tab}item\par"
        rb"{\footnote a %b}{\header b %b}c}" % (ship, ship, ship, ship)
    )

    document = read(file)

    assert (document.title, document.metadata["author"]) == ("The 🚢 day", "🚢 Line")
    assert "\n\n".join(section.text for section in document.parts[0]) == "- item\n\na 🚢\n\nb 🚢\n\nc"


@pytest.mark.parametrize(
    ("body", "pages"),
    [
        (rb"a\par b", [None]),
        (rb"a\page b\par\page c", [1, 2, 3]),
        (rb"\pagebb a\par\pard b\par\pagebb c", [1, 2]),
        (rb"a\par\sect\sectd b\sect\sectd\sbknone c", [1, 2]),
        (rb"\pard\intbl a\page b\cell\row\pard c", [None]),
        (rb"{\info{\nofpages2}}a\page b", [1, 2]),
        (rb"{\info{\nofpages80}}a\page b", [None, None]),
    ],
)
def test_pages_are_counted_where_they_are_broken(tmp_path: Path, body: bytes, pages: list[int | None]) -> None:
    """I2"""
    file = tmp_path / "a.rtf"
    file.write_bytes(b"{\\rtf1 " + body + b"}")

    assert [section.page_num for section in read(file).parts[0]] == pages


def test_headings_are_known_by_level_or_by_style(tmp_path: Path) -> None:
    """I2"""
    styles = rb"{\stylesheet{Normal;}{\s1\outlinelevel0 Kop;}{\s2 heading 2;}{\s3\sbasedon2 Mine;}{\*\cs4 heading 1;}}"
    file = tmp_path / "a.rtf"
    file.write_bytes(
        rb"{\rtf1" + styles + rb"\s1 A\par\pard\s3{\listtext 1.1\tab}B\par\pard\s1\outlinelevel9 no\par"
        rb"\pard\outlinelevel2 C\par\pard\plain text}"
    )

    assert [section.heading for section in read(file).parts[0]] == ["A > 1.1 B", "A > 1.1 B > C"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{\\rtf1 text {\\b and {\\i no", "corrupt_file"),
        (b"{\\rtf1 text {\\pict\\bin99999999 }}", "corrupt_file"),
        (b"{\\rtf1" + b"{" * (MAX_DEPTH + 1), "extraction_limit"),
        (b"no RTF at all", "corrupt_file"),
    ],
)
def test_what_cannot_be_read_says_why(tmp_path: Path, content: bytes, reason: str) -> None:
    """I5"""
    file = tmp_path / "a.rtf"
    file.write_bytes(content)

    with pytest.raises(Unreadable) as refused:
        read_file(file)

    assert refused.value.code == reason


@pytest.mark.parametrize(
    "content",
    [
        b"\\u8364?" * 50_000,
        b"{}" * 100_000,
        b"{\\footnote a}" * 20_000,
        b"\\bin0 " * 50_000,
        b"\\cell" * 50_000,
        b"\\page a" * 10_000,
        b"{\\*\\x" * 1_000 + b"{" * 500 + b"}" * 1_500,
        b"\\" * 200_001,
        b"\\uc9999999 \\u1 " * 20_000,
    ],
)
def test_hostile_rtf_takes_no_longer_than_its_length(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.rtf"
    file.write_bytes(b"{\\rtf1 " + content + b"}")

    started = time.process_time()
    read(file)

    assert time.process_time() - started < 5


TOKENS = st.sampled_from(
    rb"""
    { } \par \cell \row \intbl \page \sect \pard \u8364? \'e9 \* \v \bin3 {\footnote {\listtext words
    {\stylesheet \s1 \outlinelevel0 {\fonttbl \f1 \fcharset204 {\info{\creatim\yr-5\mo99
    """.split()
)


@given(st.lists(TOKENS | st.binary(max_size=8), max_size=40).map(b" ".join))
def test_any_tokens_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    """I5"""
    file = tmp_path_factory.getbasetemp() / "any.rtf"
    file.write_bytes(b"{\\rtf1 " + content + b"}")

    with suppress(Unreadable):
        assert all(section.text.strip() for section in read(file).parts[0])
