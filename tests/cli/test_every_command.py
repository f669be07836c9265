"""C1, C2: every command as people and scripts run it: the real program, in a pipe and on a terminal."""

import json
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

from kb.cli.table import ENTRIES

DOCUMENT = {"id", "uuid", "title", "doc_type", "tags", "version", "created_at", "updated_at", "source_path"}
JOB = {"id", "job_id", "status", "progress", "document_id", "duplicate", "replaced", "error"}


@dataclass(frozen=True)
class Call:
    """How a command is called with `--json`, and what the lines of its answer hold. None: it has no JSON."""

    arguments: list[str]
    keys: set[str] | None
    exit: int = 0


@dataclass
class Base:
    engine: EngineProgram
    folder: Path
    note: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def fill_in(self, argument: str) -> str:
        return argument.replace("{folder}", str(self.folder)).replace("{note}", self.note)


CALLS = {
    "add": Call(["{folder}/papers"], JOB),
    "addnote": Call(["The lighthouse keeper counts ships"], JOB),
    "sync": Call(["{folder}/synced"], {"action", "path", "document_id"}),
    "search": Call(["lighthouse"], {"results", "total", "took_ms"}),
    "get": Call(["{note}"], {*DOCUMENT, "chunks", "text"}),
    "list": Call([], {"documents", "total", "limit", "offset"}),
    "tags": Call([], {"tags"}),
    "eval": Call(["{folder}/questions.jsonl"], set()),
    "edit": Call(["{note}"], DOCUMENT),
    "updatenote": Call(["{note}", "The keeper counts nothing"], {*DOCUMENT, "chunks", "text"}),
    "history": Call(["{note}"], {"revisions", "total", "limit", "offset"}),
    "tag": Call(["{note}", "+sea", "-land"], DOCUMENT),
    "status": Call([], {"version", "documents", "health", "queue", "model"}),
    "jobs": Call([], {"jobs", "total", "limit", "offset"}),
    "reindex": Call([], JOB),
    "doctor": Call([], {"status", "checks"}),
    "backup": Call(["{folder}/backup"], {"documents", "originals"}),
    "export": Call(["{folder}/bundle.tar"], None),
    "import": Call(["{folder}/bundle.tar"], {"documents_added", "documents_unchanged"}),
    "config": Call([], set()),
    "connect": Call(["cursor"], None),
    "completion": Call(["bash"], None),
    "version": Call([], {"version"}),
}


@pytest.fixture(scope="module")
def base(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Base]:
    """An engine of its own, because everything is deleted in the end."""
    folder = tmp_path_factory.mktemp("every-command")
    for name in ("papers", "synced"):
        (folder / name).mkdir()
        (folder / name / "ship.md").write_text(f"# Ships of the {name}\n\nA brig has two masts.")
    (folder / "questions.jsonl").write_text('{"query": "how many masts has a brig", "expected": ["ship.md"]}\n')
    editor = folder / "editor"
    editor.write_text('#!/bin/sh\necho "And boats." >> "$1"\n')
    editor.chmod(0o700)
    engine = EngineProgram(folder)
    engine.start()
    settings = {
        "KB_ENGINE_URL": engine.url,
        "KB_DATA_DIR": str(engine.data_dir),
        "KB_MCP_PORT": engine.mcp_url.rpartition(":")[2],
        "VISUAL": str(editor),
    }
    base = Base(engine, folder, environment=own_environment(folder, settings))
    job = json.loads(run(base, "addnote", "A note to begin with", "--json").stdout)
    base.note = str(job["document_id"])
    yield base
    engine.stop()


def run(base: Base, *arguments: str) -> subprocess.CompletedProcess[str]:
    return base.engine.run_kb(*map(base.fill_in, arguments), settings=base.environment)


@pytest.mark.parametrize("name", CALLS)
def test_c2_in_a_pipe_stdout_is_the_answer_and_nothing_else(base: Base, name: str) -> None:
    call = CALLS[name]

    result = run(base, name, *call.arguments, *(["--json"] if call.keys is not None else []))

    assert (result.returncode, result.stdout != "") == (call.exit, True), result.stderr
    assert not re.search(r"\x1b|\r", result.stdout + result.stderr)
    if call.keys is not None:
        answers: list[dict[str, Any]] = [json.loads(line) for line in result.stdout.splitlines()]
        assert answers
        assert all(call.keys <= set(answer) for answer in answers)


ON_TERMINAL = {**CALLS, "backup": Call(["{folder}/second-backup"], None), "export": Call(["{folder}/second.tar"], None)}


@pytest.mark.parametrize("name", ON_TERMINAL)
def test_c2_on_a_terminal_it_speaks_to_people(base: Base, name: str) -> None:
    arguments = [base.fill_in(argument) for argument in ON_TERMINAL[name].arguments]

    with OnTerminal(name, *arguments, environment=base.environment) as terminal:
        code = terminal.wait()

    assert code == ON_TERMINAL[name].exit, terminal.output
    assert terminal.output.strip()
    assert "Traceback" not in terminal.output


def test_jobs_are_cancelled_and_tried_again(base: Base) -> None:
    job = json.loads(run(base, "addnote", "Cancelled or not", "--no-wait", "--json").stdout)["id"]

    cancelled, again = run(base, "cancel", str(job), "--json"), run(base, "retry", str(job), "--json")

    # It may have been quicker than we are; then both are refused.
    assert {cancelled.returncode, again.returncode} <= {0, 4}
    assert all(json.loads(line)["id"] == job for line in (cancelled.stdout + again.stdout).splitlines())


def test_what_is_deleted_is_gone_and_clear_leaves_nothing(base: Base) -> None:
    deleted = run(base, "rm", "{note}", "--yes", "--json")
    cleared = run(base, "clear", "--yes", "--json")

    assert json.loads(deleted.stdout).keys() == {"status", "document_id", "title", "chunks_removed"}
    assert json.loads(cleared.stdout).keys() == {"documents_removed", "embeddings_removed", "bytes_freed"}
    assert json.loads(run(base, "ls", "--json").stdout)["total"] == 0


def test_no_command_is_forgotten_here() -> None:
    tried_elsewhere = {
        *("up", "engine", "mcp", "worker", "restore"),
        *("open", "model", "cancel", "retry", "delete", "clear"),
    }

    assert {*CALLS, *tried_elsewhere} == set(ENTRIES)
