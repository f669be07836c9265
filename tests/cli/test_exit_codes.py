"""C3: every command that speaks to the engine tells in the same way what hindered it."""

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Kb, Pretend
from tests.engine_program import EngineProgram

from kb.cli.table import ENTRIES

NOWHERE = "http://127.0.0.1:1"
NO_SUCH_ID = "987654321"

# How each is called when nothing of it matters but whom it speaks to.
CALLS: dict[str, list[str]] = {
    "add": ["{folder}/a.md"],
    "addnote": ["words"],
    "sync": ["{folder}"],
    "search": ["words"],
    "get": [NO_SUCH_ID],
    "list": [],
    "tags": [],
    "eval": ["{folder}/questions.jsonl"],
    "edit": [NO_SUCH_ID],
    "updatenote": [NO_SUCH_ID, "words"],
    "history": [NO_SUCH_ID],
    "tag": [NO_SUCH_ID, "+a"],
    "delete": [NO_SUCH_ID, "--yes"],
    "clear": ["--yes"],
    "status": [],
    "jobs": [],
    "cancel": [NO_SUCH_ID],
    "retry": [NO_SUCH_ID],
    "reindex": [],
    "demo": [],
    "export": ["{folder}/bundle.tar"],
    "import": ["{folder}/a.md"],
}
# These start programs, work on the data directory, or go on without an engine.
WITHOUT_ENGINE = {
    *("up", "engine", "mcp", "worker", "backup", "restore"),
    *("open", "doctor", "connect", "config", "model", "completion", "version", "service"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.md").write_text("Words.")
    (folder / "questions.jsonl").write_text('{"query": "words", "expected": ["a.md"]}\n')
    return folder


def call(kb: Kb, name: str, folder: Path, **settings: str) -> tuple[int, str, str]:
    arguments = [argument.replace("{folder}", str(folder)) for argument in CALLS[name]]
    result = kb(name, *arguments, EDITOR="true", VISUAL="true", **settings)
    return result.exit_code, result.stdout, result.stderr


def test_no_command_is_forgotten_here() -> None:
    assert {*CALLS, *WITHOUT_ENGINE} == set(ENTRIES)


@pytest.mark.parametrize("name", CALLS)
def test_c3_an_engine_that_is_not_there_is_exit_code_6(kb: Kb, folder: Path, name: str) -> None:
    code, stdout, stderr = call(kb, name, folder, KB_ENGINE_URL=NOWHERE)

    assert (code, stdout) == (6, "")
    assert NOWHERE in stderr
    assert "kb up" in stderr


@pytest.mark.parametrize("name", CALLS)
def test_c3_a_wrong_key_is_exit_code_5(kb: Kb, folder: Path, locked_engine: EngineProgram, name: str) -> None:
    code, stdout, stderr = call(kb, name, folder, KB_ENGINE_URL=locked_engine.url, KB_API_KEY="wrong")

    assert (code, stdout) == (5, "")
    assert "KB_API_KEY" in stderr


@pytest.mark.parametrize("name", CALLS)
def test_e26_an_engine_that_is_too_old_is_exit_code_4(kb: Kb, folder: Path, pretend: Pretend, name: str) -> None:
    code, stdout, stderr = call(kb, name, folder, KB_ENGINE_URL=pretend(200, b'{"version": "2.11.4"}'))

    assert (code, stdout) == (4, "")
    assert "2.11.4" in stderr
    assert "3.0.0 or newer" in stderr


@pytest.mark.parametrize("name", [name for name, arguments in CALLS.items() if NO_SUCH_ID in arguments])
def test_c3_an_id_that_nothing_has_is_exit_code_3(kb: Kb, folder: Path, name: str) -> None:
    code, stdout, stderr = call(kb, name, folder)

    assert (code, stdout) == (3, "")
    assert NO_SUCH_ID in stderr


@pytest.mark.parametrize("command", ["delete {id}", "clear"])
def test_c5_what_cannot_be_undone_is_refused_where_nobody_can_be_asked(kb: Kb, command: str) -> None:
    note = json.loads(kb("addnote", "A note to be kept", "--json").stdout)["document_id"]

    result = kb(*command.format(id=note).split())

    assert (result.exit_code, result.stdout) == (4, "")
    assert "--yes" in result.stderr


@pytest.mark.parametrize("name", ENTRIES)
def test_c3_an_option_that_there_is_not_is_exit_code_2(kb: Kb, name: str) -> None:
    result = kb(name, "--no-such-option")

    assert (result.exit_code, result.stdout) == (2, "")
    assert "--no-such-option" in result.stderr
