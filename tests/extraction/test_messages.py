"""What a reader says is taken as it was meant, and not believed beyond measure."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.errors import Unavailable, Unreadable
from kb.engine.ingestion.extraction.extracted import Extracted, Picture
from kb.engine.ingestion.extraction.messages import (
    MAX_METADATA_CHARACTERS,
    Head,
    Nonsense,
    explain,
    parse,
    parse_head,
    parse_part,
    parse_reading,
    render,
    render_head,
    render_item,
    render_reading,
)
from kb.engine.ingestion.extraction.ocr.reading import Reading
from kb.engine.ingestion.sections import Rows, Section

TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"))
HEAD: dict[str, Any] = {"title": None, "metadata": {}, "unit": "page", "method": "text_extraction", "parts": 1}
PICTURE: dict[str, Any] = {"picture": "1", "text": "", "heading": None, "page": 1, "is_page": True}


@st.composite
def sections(draw: st.DrawFn) -> Section:
    lines = draw(st.lists(TEXTS.map(lambda text: text.replace("\n", " ")), min_size=1))
    rows = draw(st.none() | st.builds(Rows, TEXTS, st.just(tuple(range(2, len(lines) + 2)))))
    return Section("\n".join(lines), draw(st.none() | TEXTS), draw(st.none() | st.integers(1, 10_000)), rows)


def pictures() -> st.SearchStrategy[Picture]:
    names = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]))
    pages = st.none() | st.integers(1, 10_000)
    return st.builds(Picture, names, pages, st.none() | TEXTS, st.booleans(), TEXTS)


@given(st.lists(sections() | pictures()))
def test_sections_and_pictures_arrive_as_they_were_sent(sent: list[Section | Picture]) -> None:
    line = render({"sections": [render_item(item) for item in sent]})

    assert line.count(b"\n") == 1
    assert parse_part(parse(line)) == sent


def test_a_head_arrives_as_it_was_sent() -> None:
    metadata = {"author": "Ann", "sheet_names": ["a"]}
    document = Extracted([[], []], "Öre", metadata, unit="sheet")

    head = parse_head(parse(render(render_head(document))))

    assert head == Head("Öre", metadata, "sheet", "text_extraction", 2, is_confined=False)


def test_reasons_arrive_with_code_and_sentence() -> None:
    """I5"""
    told = explain(Unreadable("encrypted_file", "It is locked."))

    for key, parse_message in (("error", parse_head), ("unread", parse_part), ("unread", parse_reading)):
        with pytest.raises(Unreadable) as refused:
            parse_message(parse(render({key: told})))
        assert (refused.value.code, refused.value.message) == ("encrypted_file", "It is locked.")


def test_half_a_character_becomes_a_question_mark() -> None:
    (section,) = parse_part(parse(render({"sections": [render_item(Section("a\ud800b"))]})))

    assert section == Section("a?b")


def test_a_reading_arrives_as_it_was_sent() -> None:
    """I3"""
    reading = Reading("Grüße\n\n你好", 0.97)

    assert parse_reading(parse(render(render_reading(reading)))) == reading


def test_a_fault_of_ours_is_no_fault_of_the_file() -> None:
    for parse_message in (parse_head, parse_reading):
        with pytest.raises(Unavailable):
            parse_message(parse(render({"fault": "ImportError: no such module"})))


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"text": "a"},
        {"text": 1, "confidence": 0.5},
        {"text": "a", "confidence": "high"},
        {"text": "a", "confidence": 1.5},
        {"text": "a", "confidence": -0.1},
        {"text": "a\0b", "confidence": 0.5},
        {"text": "\ud800", "confidence": 0.5},
    ],
)
def test_a_reading_that_no_reader_would_send_is_nonsense(message: dict[str, Any]) -> None:
    with pytest.raises(Nonsense):
        parse_reading(message)


@pytest.mark.parametrize("line", [b"", b"words", b"[]", b'"text"', b"\xff", b'{"a": NaN}', b"[" * 100_000])
def test_a_line_that_is_no_message_is_nonsense(line: bytes) -> None:
    with pytest.raises(Nonsense):
        parse(line)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"sections": []},
        HEAD | {"title": 1},
        HEAD | {"metadata": []},
        HEAD | {"metadata": {"deep": {"er": 1}}},
        HEAD | {"metadata": {"deep": [["er"]]}},
        HEAD | {"title": "a\0b"},
        HEAD | {"metadata": {"long": "x" * MAX_METADATA_CHARACTERS}},
        HEAD | {"metadata": {"half": "\ud800"}},
        HEAD | {"title": "\ud800"},
        HEAD | {"unit": None},
        HEAD | {"unit": "page" * 100},
        HEAD | {"parts": -1},
        HEAD | {"parts": "1"},
        HEAD | {"parts": 1.5},
        {"error": "why"},
        {"error": {"code": 1, "message": "", "trace": ""}},
        {"error": {"code": "made_up", "message": "", "trace": ""}},
    ],
)
def test_a_head_that_no_reader_would_send_is_nonsense(message: dict[str, Any]) -> None:
    with pytest.raises(Nonsense):
        parse_head(json.loads(json.dumps(message)))


@pytest.mark.parametrize(
    "section",
    [
        "text",
        ["text"],
        [None, None, None, None, None],
        ["text", 1, None, None, None],
        ["text", "x" * 5_001, None, None, None],
        ["te\0xt", None, None, None, None],
        ["text", None, 1.5, None, None],
        ["text", None, None, "x" * 100_001, [1]],
        ["text", None, "1", None, None],
        ["text", None, -1, None, None],
        ["text", None, 2**40, None, None],
        ["\ud800", None, None, None, None],
        ["text", "\ud800", None, None, None],
        ["text", None, None, None, [1]],
        ["text", None, None, "header", [1, 2]],
        ["text", None, None, "header", ["1"]],
        ["text", None, None, "header", [-1]],
        ["text", None, None, "header", [10**400]],
        ["text", None, None, "\ud800", [1]],
        {"picture": "1"},
        PICTURE | {"picture": 1},
        PICTURE | {"picture": "x" * 1_001},
        PICTURE | {"picture": "a\nb"},
        PICTURE | {"text": "a\0b"},
        PICTURE | {"text": None},
        PICTURE | {"heading": "\ud800"},
        PICTURE | {"page": -1},
        PICTURE | {"page": 2**40},
        PICTURE | {"is_page": 1},
    ],
)
def test_a_section_that_no_reader_would_send_is_nonsense(section: Any) -> None:
    with pytest.raises(Nonsense):
        parse_part({"sections": [section]})
