import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.reading import list_sections, read_file, read_sample

from kb.engine.ingestion.extraction.readers.tables import json as json_reader
from kb.engine.ingestion.sections import Rows, Section


def read_text(text: str, tmp_path: Path, name: str = "some.json") -> list[Section]:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_file(path).sections


def test_a_nested_document_is_lines_with_the_way_to_each_value() -> None:
    """I1, I2"""
    document = read_sample("json/greenhouse.json")

    assert [(section.heading, section.text) for section in document.sections] == [
        (
            None,
            "title: Greenhouse controller\nauthor: Mara Voss\ncreated: 2024-02-11\nversion: 3\n"
            "crops: basil, tomato, chilli\nnotes:\n\nCheck the pump on Mondays.\n\n"
            "The spare filter lies in the blue box.\n\nserial: 123456789012345678901234567890",
        ),
        ("location", "location\ncity: Tromsø\nposition.lat: 69.6492\nposition.lon: 18.9553"),
        ("climate", "climate\nday.temperature: 21.5\nday.humidity: 0.6\nnight.temperature: 14\nnight.vents: null"),
        ("valves", "1 | north | true\n2 | south | false | leaks a little"),
    ]
    assert document.sections[-1].rows == Rows("id | bed | open | remark", (1, 2))


def test_title_and_metadata_are_the_documents_own() -> None:
    """I7"""
    greenhouse, package = read_sample("json/greenhouse.json"), read_sample("json/package.json")

    assert greenhouse.title == "Greenhouse controller"
    assert greenhouse.metadata == {"author": "Mara Voss", "created": "2024-02-11"}
    assert (package.title, package.metadata) == ("tide-tables", {})


@pytest.mark.parametrize(
    ("told", "title", "metadata"),
    [
        (
            {"title": "a\0b\x1b", "author": "\x07Mara\nVoss", "created": "2024-02-11"},
            "ab",
            {"author": "Mara Voss", "created": "2024-02-11"},
        ),
        ({"title": " ", "name": "tide\0tables", "author": "x" * 501}, "tidetables", {"author": "x" * 500}),
        ({"title": "Untitled", "name": "Spring tides", "author": "unknown"}, "Spring tides", {}),
        ({"created": "2024-02-11T10:00:00.5+01:00"}, None, {"created": "2024-02-11T10:00:00+01:00"}),
        ({"created": "2024-02-11T10:00:00"}, None, {"created": "2024-02-11"}),
        ({"title": "1984", "created": 1712050412345, "modified": "last week"}, "1984", {}),
    ],
)
def test_what_a_document_says_of_itself_is_made_fit_to_be_shown(
    told: dict[str, Any], title: str | None, metadata: dict[str, str], tmp_path: Path
) -> None:
    """I7"""
    path = tmp_path / "some.json"
    path.write_text(json.dumps(told), encoding="utf-8")

    document = read_file(path)

    assert (document.title, document.metadata) == (title, metadata)


@pytest.mark.parametrize(
    ("name", "header", "rows"),
    [
        (
            "sightings.jsonl",
            "id | bird | seen | count | ring",
            "1 | robin | 2024-04-01 | 3 | R1\n2 | wren | 2024-04-02 | 6 | R2\n3 | heron | 2024-04-03 | 9\n"
            "4 | kestrel | 2024-04-04 | 12 | R4\n5 | swift | 2024-04-05 | 15 | R5",
        ),
        (
            "rivers.json",
            "river | mouth | length_km | remark",
            "Glomma | Oglefjord | 621 | longest of the set\nOtra | Kristiansand, harbour | 245",
        ),
    ],
)
def test_flat_objects_are_rows_of_a_table(name: str, header: str, rows: str) -> None:
    """I2"""
    [section] = read_sample(f"json/{name}").sections

    assert section.text == rows
    assert section.rows == Rows(header, tuple(range(1, rows.count("\n") + 2)))


def test_nested_objects_are_a_section_each() -> None:
    """I2"""
    sections = read_sample("json/tickets.json").sections

    assert [section.heading for section in sections] == ["record 1", "record 2", "record 3"]
    assert sections[2].text == (
        "ticket: 3\ntitle: Tap drips\nthread[1].by: Lea\nthread[1].text:\n\nSeen again today.\n\n"
        "Please bring a ladder.\n\nthread[2].by: Jon\nthread[2].text: Done, part number 4.5\ntags: house, floor 3"
    )


@pytest.mark.parametrize(
    "text",
    ['{"cut": [1, 2', "[1, 2] [3]", "[1, 2,]", "no json at all", "[" * 5_000 + "]" * 5_000, '{"a": 1} trailing'],
)
def test_what_is_no_json_is_read_as_text(text: str, tmp_path: Path) -> None:
    """I5, I6"""
    assert read_text(text, tmp_path) == [Section(text)]


def test_json_with_comments_is_read_as_text() -> None:
    assert "/* until ten */" in read_sample("json/with-comments.json").text


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"a": 1, "a": 1.50, "b": 1e999, "c": NaN}', "a: 1\na: 1.50\nb: 1e999\nc: NaN"),
        ("1" * 10_000, "1" * 10_000),
        ('["one", true, null, ["x", "y"]]', "one\ntrue\nnull\nx, y"),
        ('{"empty": {}, "none": [], "blank": ""}', "empty:\nnone:\nblank:"),
        ('{"half": "a\\ud800b\\u0000c"}', "half: abc"),
        ('"just a string"', "just a string"),
        ('\ufeff{"mark": 1}', "mark: 1"),
        ('{"twice": "e\\u0301"}', "twice: \u00e9"),
    ],
)
def test_values_are_kept_as_they_are_written(text: str, lines: str, tmp_path: Path) -> None:
    """I6"""
    assert read_text(text, tmp_path) == [Section(lines)]


def test_long_texts_in_records_keep_their_paragraphs(tmp_path: Path) -> None:
    sections = read_text('[{"text": "One.\\n\\nTwo."}, {"text": "Three."}]', tmp_path)

    assert sections == [Section("text:\n\nOne.\n\nTwo.\n", "record 1"), Section("text: Three.", "record 2")]


def test_a_key_given_twice_in_a_record_is_read_twice(tmp_path: Path) -> None:
    """I6"""
    assert read_text('[{"a": 1, "a": 2}]', tmp_path) == [Section("a: 1\na: 2", "record 1")]


def test_many_records_are_read_in_parts(tmp_path: Path) -> None:
    """I4"""
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(json.dumps({"n": n, "square": n * n}) for n in range(1, 2502)))

    document = read_file(path)

    assert [len(part) for part in document.parts] == [1, 1, 1]
    assert document.sections[2].rows == Rows("n | square", tuple(range(2001, 2502)))


def test_an_array_below_a_key_is_read_in_parts_too(tmp_path: Path) -> None:
    path = tmp_path / "answer.json"
    records = [{"n": n} for n in range(1500)]
    path.write_text(json.dumps({"total": 1500, "data": records, "more": {"next": "page 2"}, "old": records}))

    document = read_file(path)

    assert len(document.parts) == 4
    assert [section.heading for section in document.sections] == [None, "data", "data", "more", "old", "old"]
    assert document.sections[5].rows == Rows("n", tuple(range(1001, 1501)))


def test_the_way_to_a_deep_value_stays_short_and_names_every_key(tmp_path: Path) -> None:
    """I6: a path as long as the nesting is deep would make a large text of a small file."""
    keys = [f"key{n}" for n in range(400)]
    text = "".join(f'{{"side": 1, "{key}":' for key in keys) + '"leaf"' + "}" * len(keys)

    side, section = read_text(text, tmp_path)

    assert side.text == "side: 1"
    assert all(key in section.text for key in keys)
    assert section.text.endswith(": leaf")
    assert len(section.text) < 3 * len(text)


def test_a_long_key_is_written_out_once(tmp_path: Path) -> None:
    key = "word " * 100
    rows = {f"k{n}": n for n in range(200)}

    [section] = read_text(json.dumps({"top": {key: rows}}), tmp_path)

    assert section.text.count(key.strip()) == 1
    assert section.text.endswith("word….k199: 199")
    assert len(section.text) < 20_000


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet="PQ\n ", max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet="xyz", max_size=3), inner, max_size=4),
    max_leaves=30,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=VALUES | st.lists(st.fixed_dictionaries({"x": st.text(alphabet="PQ\n", max_size=5)}), max_size=5))
def test_no_value_of_any_document_is_lost(tmp_path: Path, value: Any) -> None:
    """I6"""
    path = tmp_path / "any.json"
    path.write_text(json.dumps(value))

    sections = [section for part in list_sections(json_reader.read(path)) for section in part]

    text = "\n".join(section.text for section in sections)
    assert {letter: text.count(letter) for letter in "PQ"} == count_letters(value)
    assert all(len(section.text.split("\n")) == len(section.rows.numbers) for section in sections if section.rows)


def count_letters(value: Any) -> dict[str, int]:
    strings: list[str] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        waiting += one if isinstance(one, list) else one.values() if isinstance(one, dict) else ()
        strings += [one] if isinstance(one, str) else ()
    return {letter: "".join(strings).count(letter) for letter in "PQ"}


def test_long_keys_are_not_repeated_with_every_part(tmp_path: Path) -> None:
    """They would be gigabytes in the end."""
    records = [{"x" * 20_000: 1}, *({"a": number} for number in range(5_000))]
    path = tmp_path / "keys.json"
    path.write_text(json.dumps(records))

    sections = [section for part in list_sections(json_reader.read(path)) for section in part]

    said = sum(len(section.text) + (len(section.rows.header) if section.rows else 0) for section in sections)
    assert said < 2 * path.stat().st_size
