import json

import pytest
from tests.cli.conftest import Kb


def test_a_note_from_the_same_place_takes_the_place_of_the_first(kb: Kb) -> None:
    """E25"""
    first, second = (
        json.loads(kb("addnote", text, "--source-path", "diary/monday", "--json").stdout)
        for text in ("Monday was grey", "Monday was blue")
    )

    note = json.loads(kb("get", str(first["document_id"]), "--json").stdout)
    assert second["document_id"] == first["document_id"]
    assert (note["text"], note["source_path"]) == ("Monday was blue", "diary/monday")


def test_a_given_title_stays_when_the_text_is_replaced(kb: Kb) -> None:
    """E17"""
    job = json.loads(kb("addnote", "Bread, milk", "--title", "Shopping", "--json").stdout)

    result = kb("updatenote", str(job["document_id"]), "Bread, milk, figs")

    assert f"Note {job['document_id']} updated: Shopping (version 2, 1 chunk)" in result.stdout


@pytest.mark.parametrize(("note", "exit_code"), [("999999", 3), ("not an id", 4)])
def test_a_note_that_is_not_there_is_not_updated(kb: Kb, note: str, exit_code: int) -> None:
    """C3"""
    result = kb("updatenote", note, "Words for nobody")

    assert (result.exit_code, result.stdout) == (exit_code, "")


@pytest.mark.parametrize("command", [["addnote"], ["updatenote", "1"]])
def test_a_text_without_words_is_refused_before_anything_is_sent(kb: Kb, command: list[str]) -> None:
    result = kb(*command, " \n", KB_ENGINE_URL="http://127.0.0.1:1")

    assert result.exit_code == 2
    assert "There is no text." in result.stderr
