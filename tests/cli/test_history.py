import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

TEXTS = ("Tides\nhigh at six", "Tides\nhigh at seven\nlow at one", "Moon\nhigh at seven\nlow at one")


@pytest.fixture
def note_id(kb: Kb) -> str:
    """A note of three versions."""
    note_id = str(json.loads(kb("addnote", TEXTS[0], "--json").stdout)["document_id"])
    for text in TEXTS[1:]:
        kb("updatenote", note_id, text)
    return note_id


def test_e18_the_versions_are_listed_the_newest_first_with_what_each_changed(kb: Kb, note_id: str) -> None:
    result = kb("history", note_id)

    rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert [(version, *rest) for version, _, *rest in rows] == [
        ("3", "+1", "-1", "Moon"),
        ("2", "+2", "-1", "Tides"),
        ("1", "+2", "-0", "Tides"),
    ]
    assert result.stderr == ""


def test_a_long_history_is_shown_in_pages_and_every_page_knows_what_came_before(
    kb: Kb, monkeypatch: pytest.MonkeyPatch, note_id: str
) -> None:
    monkeypatch.setattr("kb.cli.commands.history.REVISIONS_A_CALL", 1)

    first, second = kb("history", note_id, "--limit", "2"), kb("history", note_id, "--offset", "2")
    beyond = kb("history", note_id, "--offset", "9")

    lines = [line.split("\t") for page in (first, second) for line in page.stdout.splitlines()]
    assert [(line[0], line[2]) for line in lines] == [("3", "+1"), ("2", "+2"), ("1", "+2")]
    assert f"kb history {note_id} --offset 2" in first.stderr
    assert second.stderr == ""
    assert (beyond.exit_code, beyond.stdout) == (0, "")


def test_one_version_is_shown_as_it_was(kb: Kb, note_id: str) -> None:
    assert kb("history", note_id, "1").stdout == f"{TEXTS[0]}\n"
    assert json.loads(kb("history", note_id, "1", "--json").stdout)["text"] == TEXTS[0]


CHANGE_OF_2 = ["@@ -1,2 +1,3 @@", " Tides", "-high at six", "+high at seven", "+low at one"]
CHANGE_OF_3 = ["@@ -1,3 +1,3 @@", "-Tides", "+Moon", " high at seven", " low at one"]


@pytest.mark.parametrize(
    ("wanted", "names", "change"),
    [
        (["--diff"], ["--- version 2: Tides", "+++ version 3: Moon"], CHANGE_OF_3),
        (["--diff", "2"], ["--- version 1: Tides", "+++ version 2: Tides"], CHANGE_OF_2),
        (["2..3"], ["--- version 2: Tides", "+++ version 3: Moon"], CHANGE_OF_3),
        (["--diff", "1"], ["--- nothing", "+++ version 1: Tides"], ["@@ -0,0 +1,2 @@", "+Tides", "+high at six"]),
    ],
)
def test_a_change_is_shown_as_a_unified_diff(
    kb: Kb, note_id: str, wanted: list[str], names: list[str], change: list[str]
) -> None:
    result = kb("history", note_id, *wanted)

    assert result.stdout.splitlines() == [*names, *change]
    assert result.exit_code == 0


def test_versions_of_the_same_text_are_told_to_be_the_same(kb: Kb, note_id: str) -> None:
    kb("updatenote", note_id, TEXTS[2], "--title", "Waters")

    result = kb("history", note_id, "--diff")

    assert result.stdout == ""
    assert "The title was Moon and became Waters" in result.stderr


def test_json_is_what_the_engine_answers(kb: Kb, note_id: str) -> None:
    """C2"""
    page = json.loads(kb("history", note_id, "--json", "--limit", "2").stdout)
    old, new = (json.loads(line) for line in kb("history", note_id, "1..3", "--json").stdout.splitlines())

    assert (page["total"], page["limit"], page["revisions"][0]) == (3, 2, new)
    assert [old["version"], new["version"]] == [1, 3]


def test_a_version_is_brought_back_as_a_new_one(kb: Kb, note_id: str) -> None:
    """E18"""
    result = kb("history", note_id, "--revert", "1")
    as_json = json.loads(kb("history", note_id, "--revert", "2", "--json").stdout)

    assert result.exit_code == 0
    assert "as in version 1: Tides (version 4" in result.stdout
    assert (as_json["text"], as_json["version"]) == (TEXTS[1], 5)
    assert kb("history", note_id, "4").stdout == f"{TEXTS[0]}\n"


def test_only_the_version_that_was_there_is_reverted(kb: Kb) -> None:
    """E17"""
    conditions = []
    revision = {"version": 1, "title": "t", "text": "t", "is_current": False}

    def overtake(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        if method == "GET":
            return 200, {"version": 5, "revisions": [revision], "total": 1}
        conditions.append(headers["If-Match"])
        return 412, {"code": "version_conflict", "detail": "It is now version 6."}

    with scripted_engine(overtake) as url:
        result = kb("history", "7", "--revert", "1", KB_ENGINE_URL=url)

    assert (result.exit_code, conditions) == (4, ['"5"'])
    assert "version 6" in result.stderr


@pytest.mark.parametrize(
    ("wanted", "exit_code"),
    [
        (["9"], 3),
        (["--diff", "9"], 3),
        (["1..9"], 3),
        (["--revert", "9"], 3),
        (["x"], 2),
        (["0"], 2),
        (["3.."], 2),
        (["٣"], 2),
        (["2", "--revert", "1"], 2),
        (["--diff", "--revert", "1"], 2),
    ],
)
def test_a_version_that_is_not_there_changes_nothing(kb: Kb, note_id: str, wanted: list[str], exit_code: int) -> None:
    """C3"""
    result = kb("history", note_id, *wanted)

    assert (result.exit_code, result.stdout) == (exit_code, "")
    assert json.loads(kb("get", note_id, "--json").stdout)["version"] == 3


def test_a_change_of_tags_is_no_version_of_the_text(kb: Kb, note_id: str) -> None:
    kb("updatenote", note_id, TEXTS[2], "--tags", "sea")
    listed = [line.split("\t")[0] for line in kb("history", note_id).stdout.splitlines()]

    shown = [kb("history", note_id, version).exit_code for version in listed]

    assert shown == [0] * len(listed)


@pytest.mark.parametrize(("document_id", "exit_code"), [("999999", 3), ("file", 4)])
def test_what_is_no_note_has_no_history(kb: Kb, document_id: str, exit_code: int) -> None:
    if document_id == "file":
        document_id = str(json.loads(kb("add", "-", "--json", stdin="A file of tides").stdout)["document_id"])

    result = kb("history", document_id)

    assert (result.exit_code, result.stdout) == (exit_code, "")


def test_an_old_text_cannot_steer_the_terminal(kb: Kb) -> None:
    note_id = str(json.loads(kb("addnote", "-", "--json", stdin="calm\x1b]0;renamed\x07\ttab").stdout)["document_id"])
    kb("updatenote", note_id, "-", stdin="storm\x9b2J")

    shown = "".join(kb("history", note_id, *more).stdout for more in ([], ["1"], ["--diff"]))

    assert not set(shown) & {"\x1b", "\x07", "\x9b"}
    assert "calm]0;renamed\ttab" in shown


def test_on_a_terminal_a_change_has_colours(running_engine: EngineProgram, note_id: str, tmp_path: Path) -> None:
    """C2"""
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url})
    environment.pop("NO_COLOR", None)

    with OnTerminal("history", note_id, "--diff", environment=environment) as terminal:
        code = terminal.wait()

    assert code == 0
    assert "\x1b[31m-Tides\x1b[0m" in terminal.output
    assert "\x1b[32m+Moon\x1b[0m" in terminal.output
