import json
from datetime import datetime
from pathlib import Path

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from kb.cli.filters import build_filters, locate, parse_metadata

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()


@given(key=st.text(st.characters(exclude_characters="="), min_size=1), value=SCALARS)
def test_every_value_of_metadata_can_be_asked_for_as_json(key: str, value: object) -> None:
    assert parse_metadata([f"{key}={json.dumps(value)}"]) == {key: value}


@given(key=st.text(st.characters(exclude_characters="="), min_size=1), text=st.text())
def test_whatever_is_written_becomes_a_value_that_json_has(key: str, text: str) -> None:
    (value,) = parse_metadata([f"{key}={text}"]).values()

    assert value is None or isinstance(value, str | int | float | bool)
    json.dumps(value, allow_nan=False)


@pytest.mark.parametrize("text", ["NaN", "-Infinity", "1e999", "[1]", "{}", "2024-01-01", "draft", "", "[" * 5000])
def test_what_is_no_json_value_is_a_text(text: str) -> None:
    assert parse_metadata([f"key={text}"]) == {"key": text}


@pytest.mark.parametrize("pair", ["", "key", "=value"])
def test_what_is_no_pair_is_refused(pair: str) -> None:
    with pytest.raises(typer.BadParameter, match="KEY=VALUE"):
        parse_metadata([pair])


def test_only_filters_that_were_given_are_sent() -> None:
    nothing = build_filters({"format": None}, None, None, ())
    everything = build_filters({"format": "pdf"}, datetime(2026, 1, 2), datetime(2026, 1, 3), ["a=b"])  # noqa: DTZ001 - a day

    assert nothing == {}
    assert everything == {
        "format": "pdf",
        "date_range": {"start": "2026-01-02", "end": "2026-01-03"},
        "metadata": {"a": "b"},
    }


def test_a_path_that_is_here_is_made_whole_and_another_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "notes").mkdir()
    monkeypatch.chdir(tmp_path)

    assert locate("notes") == str(tmp_path / "notes")
    assert locate("elsewhere/notes") == "elsewhere/notes"
    assert locate(None) is None
