import json
import re
from collections.abc import Mapping

import pytest
from tests.cli.conftest import Kb
from tests.cli.scripted_engine import Answer, scripted_engine


@pytest.fixture
def note_id(kb: Kb) -> str:
    note = ("addnote", "The ferry leaves at nine", "--tags", "ferry draft", "--json")
    return str(json.loads(kb(*note).stdout)["document_id"])


def test_tags_are_added_and_removed_in_one_go(kb: Kb, note_id: str) -> None:
    """C4"""
    result = kb("tag", note_id, "+ferries", "-ferry draft", "+to be read")

    assert result.exit_code == 0
    assert result.stdout == "ferries\nto be read\n"
    assert json.loads(kb("get", note_id, "--json").stdout)["tags"] == ["ferries", "to be read"]


def test_without_changes_the_tags_are_shown(kb: Kb, note_id: str) -> None:
    result = kb("tag", note_id)

    assert result.stdout == "ferry draft\n"
    assert json.loads(kb("get", note_id, "--json").stdout)["version"] == 1


def test_a_document_without_tags_leaves_stdout_empty(kb: Kb, note_id: str) -> None:
    result = kb("tag", note_id, "-ferry draft")

    assert result.exit_code == 0
    assert result.stdout == ""
    assert f"Document {note_id} has no tags." in result.stderr


def test_the_json_is_the_engines_document(kb: Kb, note_id: str) -> None:
    document = json.loads(kb("tag", note_id, "+ferries", "--json").stdout)

    assert (document["id"], document["tags"], document["version"]) == (int(note_id), ["ferry draft", "ferries"], 2)


@pytest.mark.parametrize(
    ("change", "told"),
    [("ferries", "Write '+ferries' to add it"), ("+", "'+TAG'"), ("- ", "'-TAG'"), ("--jsno", "--jsno")],
)
def test_a_word_that_says_neither_is_an_error_that_shows_how(kb: Kb, note_id: str, change: str, told: str) -> None:
    """C3"""
    result = kb("tag", note_id, "+fine", change)

    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
    assert kb("tag", note_id).stdout == "ferry draft\n"


def test_behind_two_dashes_a_tag_may_begin_with_a_dash(kb: Kb, note_id: str) -> None:
    kb("tag", note_id, "+-odd")

    assert kb("tag", note_id, "--", "--odd").stdout == "ferry draft\n"


def test_a_missing_document_has_no_tags_to_change(kb: Kb) -> None:
    assert kb("tag", "999999", "+x").exit_code == 3
    assert kb("tag", "999999").exit_code == 3


@pytest.mark.usefixtures("note_id")
def test_all_tags_are_listed_with_their_counts(kb: Kb) -> None:
    told = {tag["name"]: tag["count"] for tag in json.loads(kb("tags", "--json").stdout)["tags"]}

    lines = kb("tags").stdout.splitlines()

    assert told["ferry draft"] >= 1
    assert f"ferry draft\t{told['ferry draft']}" in lines
    assert len(lines) == len(told)


def test_tags_that_come_in_pieces_are_listed_completely(kb: Kb) -> None:
    """E33."""

    def answer(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        begin = int((re.findall(r"offset=(\d+)", path) or [0])[0])
        tags = [{"name": name, "count": 1} for name in "abcde"]
        return 200, {"tags": tags[begin : begin + 2], "total": 5}

    with scripted_engine(answer) as url:
        result = kb("tags", KB_ENGINE_URL=url)

    assert [line.split("\t")[0] for line in result.stdout.splitlines()] == ["a", "b", "c", "d", "e"]
