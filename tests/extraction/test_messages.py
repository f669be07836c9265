"""What a reader says is taken as it was meant, and not believed beyond measure."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.messages import (
    MAX_METADATA_CHARACTERS,
    Head,
    Nonsense,
    parse,
    parse_head,
    parse_sections,
    render,
    render_head,
    render_reason,
    render_section,
)
from kb.engine.ingestion.sections import Rows, Section

TEXTS = st.text(st.characters(exclude_characters="\0", codec="utf-8"))
HEAD: dict[str, Any] = {"title": None, "metadata": {}, "unit": "page", "method": "text_extraction", "parts": 1}


@st.composite
def sections(draw: st.DrawFn) -> Section:
    lines = draw(st.lists(TEXTS.map(lambda text: text.replace("\n", " ")), min_size=1))
    rows = draw(st.none() | st.builds(Rows, TEXTS, st.just(tuple(range(2, len(lines) + 2)))))
    return Section("\n".join(lines), draw(st.none() | TEXTS), draw(st.none() | st.integers(1, 10_000)), rows)


@given(st.lists(sections()))
def test_sections_arrive_as_they_were_sent(sent: list[Section]) -> None:
    line = render({"sections": [render_section(section) for section in sent]})

    assert line.count(b"\n") == 1
    assert parse_sections(parse(line)) == sent


def test_a_head_arrives_as_it_was_sent() -> None:
    metadata = {"author": "Ann", "sheet_names": ["a"]}
    document = Extracted([[], []], "Öre", metadata, unit="sheet")

    head = parse_head(parse(render(render_head(document))))

    assert head == Head("Öre", metadata, "sheet", "text_extraction", 2, is_confined=False)


def test_reasons_arrive_with_code_and_sentence() -> None:
    """I5"""
    told = render_reason(Unreadable("encrypted_file", "It is locked."), ValueError("why"))

    for key, parse_message in (("error", parse_head), ("unread", parse_sections)):
        with pytest.raises(Unreadable) as refused:
            parse_message(parse(render({key: told})))
        assert (refused.value.reason, refused.value.message) == ("encrypted_file", "It is locked.")


def test_half_a_character_becomes_a_question_mark() -> None:
    (section,) = parse_sections(parse(render({"sections": [render_section(Section("a\ud800b"))]})))

    assert section.text == "a?b"


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
        ["text", None, None, "\ud800", [1]],
    ],
)
def test_a_section_that_no_reader_would_send_is_nonsense(section: Any) -> None:
    with pytest.raises(Nonsense):
        parse_sections({"sections": [section]})
