import json
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment
from typer.testing import Result

PHRASE = "Type DELETE ALL to go on"


@pytest.fixture
def own_kb(kb: Kb, spare_engine: EngineProgram) -> Kb:
    """As `kb`, against an engine that may be emptied, which holds a document."""

    def run(*arguments: str) -> Result:
        return kb(*arguments, KB_ENGINE_URL=spare_engine.url)

    run("addnote", "Soon to be gone")
    return run


def count_documents(kb: Kb) -> int:
    return int(json.loads(kb("list", "--json").stdout)["total"])


def test_where_nobody_can_be_asked_nothing_is_cleared(own_kb: Kb) -> None:
    """C5"""
    result = own_kb("clear")

    assert (result.exit_code, result.stdout) == (4, "")
    assert "--yes" in result.stderr
    assert count_documents(own_kb) > 0


@pytest.mark.parametrize(
    ("typed", "exit_code", "told", "is_cleared"),
    [
        ("y\n", 4, "Nothing was deleted.", False),
        ("DELETE ALL\n", 0, "Deleted ", True),
    ],
)
def test_on_a_terminal_only_the_phrase_clears(
    own_kb: Kb, spare_engine: EngineProgram, tmp_path: Path, typed: str, exit_code: int, told: str, *, is_cleared: bool
) -> None:
    """C5"""
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": spare_engine.url})
    count = count_documents(own_kb)

    with OnTerminal("clear", environment=environment) as terminal:
        terminal.wait_for(PHRASE)
        terminal.type(typed)
        ended_with = terminal.wait()

    assert f"This deletes {count} document" in terminal.output
    assert (ended_with, told in terminal.output) == (exit_code, True)
    assert (count_documents(own_kb) == 0) is is_cleared


@pytest.mark.parametrize(("command", "question"), [(["clear"], f"{PHRASE}: "), (["delete", "{id}"], "[y/N]: ")])
def test_an_interrupted_question_leaves_everything(
    own_kb: Kb, spare_engine: EngineProgram, tmp_path: Path, command: list[str], question: str
) -> None:
    """C5"""
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": spare_engine.url})
    count, newest = count_documents(own_kb), own_kb("list", "--ids", "--limit", "1").stdout.strip()

    with OnTerminal(*(word.format(id=newest) for word in command), environment=environment) as terminal:
        terminal.wait_for(question)
        # A signal that comes just before the program begins to read is seen when there is something to read.
        terminal.type("\x03\n")
        exit_code = terminal.wait()

    assert exit_code == 130
    assert "Nothing was deleted." in terminal.output
    assert count_documents(own_kb) == count


def test_with_yes_everything_goes_and_the_json_tells_what(own_kb: Kb, spare_engine: EngineProgram) -> None:
    """C2, C5"""
    count = count_documents(own_kb)

    result = spare_engine.run_kb("clear", "--yes", "--json")

    cleared = json.loads(result.stdout)
    assert (result.returncode, result.stderr) == (0, "")
    assert cleared.keys() == {"documents_removed", "embeddings_removed", "bytes_freed"}
    assert cleared["documents_removed"] == count
    assert count_documents(own_kb) == 0
