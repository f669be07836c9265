import json
import os
import pty
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Kb
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

SAMPLES = Path(__file__).parents[1] / "samples"
PDF = SAMPLES / "pdf" / "handbook-libreoffice.pdf"


@pytest.fixture
def note_id(kb: Kb) -> str:
    job = json.loads(kb("addnote", "The lighthouse keeper has a parrot", "--json").stdout)
    return str(job["document_id"])


@pytest.fixture(scope="module")
def pdf_id(running_engine: EngineProgram) -> str:
    job = json.loads(running_engine.run_kb("add", str(PDF), "--tags", "handbooks", "--json").stdout)
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


def test_only_the_text_is_printed_for_a_pipe(kb: Kb, note_id: str) -> None:
    assert kb("get", note_id, "--text").stdout == "The lighthouse keeper has a parrot\n"


def test_the_text_of_a_file_is_that_of_its_chunks(kb: Kb) -> None:
    slides = SAMPLES / "pptx" / "bees.pptx"
    document_id = str(json.loads(kb("add", str(slides), "--json").stdout)["document_id"])

    shown, text = kb("get", document_id).stdout, kb("get", document_id, "--text").stdout

    assert "\nslide 2 · Harvest\n" in shown
    assert "slide" not in text
    assert "Clean the floor" in text


@pytest.mark.parametrize("options", [["--text", "--json"], ["--file", "--text"], ["-o", "x", "--json"]])
def test_a_document_has_one_form_at_a_time(kb: Kb, note_id: str, options: list[str]) -> None:
    assert kb("get", note_id, *options).exit_code == 2


def test_in_a_pipe_documents_are_lines_with_tabs(kb: Kb, pdf_id: str) -> None:
    """C2"""
    document = json.loads(kb("get", pdf_id, "--json").stdout)

    lines = kb("list", "--path", str(PDF)).stdout.splitlines()

    size, added, changed = document["size_bytes"], document["created_at"], document["updated_at"]
    expected = [pdf_id, "pdf", str(size), added, changed or added, ",".join(document["tags"]), "Greenhouse Handbook"]
    assert [line.split("\t") for line in lines] == [expected]


@pytest.mark.parametrize(
    "options",
    [
        ["--type", "pdf", "--tag", "handbooks"],
        ["--format", "pdf", "--tags", "handbooks"],
        ["--folder", str(SAMPLES / "pdf")],
        ["--folder", os.path.relpath(SAMPLES / "pdf")],
        ["--path", os.path.relpath(SAMPLES / "pdf" / "handbook-libreoffice.pdf")],
        ["--grep", "Greenhouse Handb", "--limit", "1"],
    ],
)
def test_documents_are_listed_by_what_they_are(kb: Kb, pdf_id: str, options: list[str]) -> None:
    assert pdf_id in kb("ls", *options, "--ids").stdout.splitlines()


@pytest.mark.parametrize("options", [["--type", "note"], ["--folder", str(SAMPLES / "pd")], ["--grep", "no such"]])
def test_documents_that_are_something_else_are_not_listed(kb: Kb, pdf_id: str, options: list[str]) -> None:
    result = kb("list", *options, "--tag", "handbooks")

    assert pdf_id
    assert (result.exit_code, result.stdout) == (0, "")
    assert "There are no such documents." in result.stderr


@pytest.mark.usefixtures("pdf_id", "note_id")
@pytest.mark.parametrize("sort", ["recent", "date_added", "filename", "title", "size"])
def test_each_order_can_be_reversed(kb: Kb, sort: str) -> None:
    fields = {"recent": "created_at", "date_added": "created_at", "size": "size_bytes"}
    everything = ("--limit", "1000", "--json", "--sort", sort)

    usual = json.loads(kb("list", *everything).stdout)["documents"]
    reverse = json.loads(kb("list", *everything, "--reverse").stdout)["documents"]

    def key(document: dict[str, Any]) -> Any:
        value = (document["updated_at"] if sort == "recent" else None) or document[fields.get(sort, sort)]
        return value.lower() if isinstance(value, str) else value

    assert key(usual[0]) == key(reverse[-1])
    assert key(usual[0]) != key(usual[-1])


@pytest.mark.usefixtures("pdf_id", "note_id")
def test_the_rest_of_a_list_is_had_by_the_command_that_is_told(kb: Kb) -> None:
    first = kb("list", "--limit", "1", "--ids", "--sort", "date_added")

    told = first.stderr.split("in all: ")[1]
    second = kb(*shlex.split(told)[1:])

    both = kb("list", "--limit", "2", "--ids", "--sort", "date_added").stdout
    assert told == "kb list --sort date_added --limit 1 --offset 1 --ids\n"
    assert first.stdout + second.stdout == both


def test_on_a_terminal_the_list_is_a_table_that_fits(
    running_engine: EngineProgram, pdf_id: str, tmp_path: Path
) -> None:
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url, "NO_COLOR": "1"})

    with OnTerminal("list", "--tag", "handbooks", environment=environment, columns=80) as terminal:
        exit_code = terminal.wait()

    text = re.sub(r"\x1b\[\d*m|\x1b\]8;[^\x1b]*\x1b\\", "", terminal.output)
    header, row = text.splitlines()[:2]
    assert exit_code == 0
    assert header.split() == ["id", "type", "size", "changed", "tags", "title"]
    assert row.startswith(f"{pdf_id:>2}  pdf   35.7 KB  ")
    assert "Greenhouse Handbook" in row
    assert f";{running_engine.url}/api/v1/documents/{pdf_id}/file\x1b" in terminal.output


def test_a_document_named_twice_is_deleted_once(kb: Kb, note_id: str) -> None:
    other_id = str(json.loads(kb("addnote", "The parrot is called Coco", "--json").stdout)["document_id"])
    uuid = json.loads(kb("get", other_id, "--json").stdout)["uuid"]

    result = kb("rm", other_id, uuid, note_id, "-y")

    assert result.stdout.splitlines() == [
        f"Document {other_id} deleted: The parrot is called Coco",
        f"Document {note_id} deleted: The lighthouse keeper has a parrot",
    ]


def test_document_that_comes_in_pieces_is_read_completely(kb: Kb) -> None:
    """E33."""

    def answer(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        begin = int((re.findall(r"chunk_offset=(\d+)", path) or [0])[0])
        chunks = [{"text": f"Part {number}."} for number in range(5)]
        return 200, {"id": 7, "chunk_count": 5, "chunks": chunks[begin : begin + 2]}

    with scripted_engine(answer) as url:
        result = kb("get", "7", "--text", KB_ENGINE_URL=url)

    assert result.stdout.split("\n\n") == ["Part 0.", "Part 1.", "Part 2.", "Part 3.", "Part 4.\n"]
