import json
import os
import pty

import pytest
from tests.cli.conftest import Kb
from tests.engine_program import EngineProgram


@pytest.fixture
def note_id(kb: Kb) -> str:
    job = json.loads(kb("addnote", "The lighthouse keeper has a parrot", "--json").stdout)
    return str(job["document_id"])


def test_a_document_is_shown_by_its_number_or_its_uuid(kb: Kb, note_id: str) -> None:
    uuid = json.loads(kb("get", note_id, "--json").stdout)["uuid"]

    by_number, by_uuid = kb("get", note_id), kb("get", uuid)

    assert by_number.stdout == by_uuid.stdout
    assert "The lighthouse keeper has a parrot" in by_number.stdout


def test_a_missing_document_is_exit_code_3_and_the_advice_is_on_stderr(kb: Kb) -> None:
    result = kb("get", "999999")

    assert result.exit_code == 3
    assert result.stdout == ""
    assert "There is no document 999999." in result.stderr
    assert "kb search" in result.stderr


def test_a_note_is_rewritten_in_place(kb: Kb, note_id: str) -> None:
    result = kb("updatenote", note_id, "-", "--tags", "birds", stdin="The parrot has flown")

    document = json.loads(kb("get", note_id, "--json").stdout)
    assert result.exit_code == 0
    assert (document["text"], document["tags"], document["version"]) == ("The parrot has flown", ["birds"], 2)


def test_a_note_of_another_version_is_left_alone(kb: Kb, note_id: str) -> None:
    result = kb("updatenote", note_id, "Too late", "--version", "7")

    assert result.exit_code == 4
    assert "now version 1" in result.stderr
    assert "parrot" in kb("get", note_id).stdout


def test_a_file_is_not_a_note(kb: Kb) -> None:
    job = json.loads(kb("add", "-", "--json", stdin="This is a file").stdout)

    result = kb("updatenote", str(job["document_id"]), "Not a note")

    assert result.exit_code == 4
    assert "kb add" in result.stderr


def test_nothing_is_deleted_where_nobody_can_be_asked(kb: Kb, note_id: str) -> None:
    result = kb("delete", note_id)

    assert result.exit_code == 4
    assert "--yes" in result.stderr
    assert kb("get", note_id).exit_code == 0


def test_documents_are_deleted_with_yes(kb: Kb, note_id: str) -> None:
    result = kb("delete", note_id, note_id, "--yes", "--json")

    assert json.loads(result.stdout)["document_id"] == int(note_id)
    assert kb("get", note_id).exit_code == 3


def test_if_one_document_is_missing_none_is_deleted(kb: Kb, note_id: str) -> None:
    result = kb("delete", note_id, "999999", "--yes")

    assert result.exit_code == 3
    assert kb("get", note_id).exit_code == 0


@pytest.mark.parametrize(("answer", "exit_code", "exit_code_of_get"), [("y\n", 0, 3), ("n\n", 4, 0)])
def test_on_a_terminal_the_person_decides(
    kb: Kb, running_engine: EngineProgram, note_id: str, answer: str, exit_code: int, exit_code_of_get: int
) -> None:
    terminal, person = pty.openpty()
    os.write(terminal, answer.encode())

    with os.fdopen(person, "r") as stdin:
        result = running_engine.run_kb("delete", note_id, stdin=stdin)
    os.close(terminal)

    assert result.returncode == exit_code
    assert "The lighthouse keeper has a parrot" in result.stderr
    assert kb("get", note_id).exit_code == exit_code_of_get
