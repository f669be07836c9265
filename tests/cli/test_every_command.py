"""C1, C2: every command as people and scripts run it: the real program, in a pipe and on a terminal."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

from kb.cli.table import ENTRIES

DOCUMENT = {"id", "uuid", "title", "doc_type", "tags", "version", "created_at", "updated_at", "source_path"}
JOB = {"id", "job_id", "status", "progress", "document_id", "duplicate", "replaced", "error"}

# How each is called, and what the lines of its answer hold with `--json`. None: it has no JSON.
CALLS: dict[str, tuple[str, set[str] | None]] = {
    "add": ("{folder}/papers", JOB),
    "addnote": ("Lighthouses", JOB),
    "sync": ("{folder}/synced", {"action", "path", "document_id"}),
    "search": ("masts", {"results", "total", "took_ms"}),
    "get": ("{note}", {*DOCUMENT, "chunks", "text"}),
    "list": ("", {"documents", "total", "limit", "offset"}),
    "tags": ("", {"tags"}),
    "eval": ("{folder}/questions.jsonl", set()),
    "edit": ("{note}", DOCUMENT),
    "updatenote": ("{note} Frigates", {*DOCUMENT, "chunks", "text"}),
    "history": ("{note}", {"revisions", "total", "limit", "offset"}),
    "tag": ("{note} +sea -land", DOCUMENT),
    "delete": ("{doomed} --yes", {"status", "document_id", "title", "chunks_removed"}),
    "status": ("", {"version", "documents", "health", "queue", "model"}),
    "jobs": ("", {"jobs", "total", "limit", "offset"}),
    "reindex": ("", JOB),
    "doctor": ("", {"status", "checks"}),
    "backup": ("{folder}/backup", {"documents", "originals"}),
    "export": ("{folder}/exported.tar", None),
    "import": ("{folder}/bundle.tar", {"documents_added", "documents_unchanged"}),
    "config": ("", set()),
    "connect": ("cursor", None),
    "completion": ("bash", None),
    "version": ("", {"version"}),
}
# Those that say there what no pipe gets: colours, bars, tables.
FOR_PEOPLE = ["add", "sync", "search", "get", "list", "history", "status", "jobs", "doctor"]
TRIED_ELSEWHERE = {"up", "engine", "mcp", "worker", "restore", "open", "model", "clear", "demo", "service"}


@dataclass(frozen=True)
class Base:
    engine: EngineProgram
    environment: dict[str, str]
    places: dict[str, str]

    def arguments_of(self, name: str) -> list[str]:
        return [word.format(**self.places) for word in CALLS[name][0].split()]


@pytest.fixture(scope="module")
def base(spare_engine: EngineProgram, tmp_path_factory: pytest.TempPathFactory) -> Base:
    """All that each command needs, whichever is tried first."""
    folder = tmp_path_factory.mktemp("every-command")
    for name in ("papers", "synced"):
        (folder / name).mkdir()
        (folder / name / "ship.md").write_text(f"# Ships of the {name}\n\nA brig has two masts.")
    (folder / "questions.jsonl").write_text('{"query": "how many masts has a brig", "expected": ["Brigs"]}\n')
    editor = folder / "editor"
    editor.write_text('#!/bin/sh\necho "And boats." >> "$1"\n')
    editor.chmod(0o700)
    notes = []
    for title in ("Brigs", "Wrecks"):
        text = f"{title} have two masts"
        added = spare_engine.run_kb("addnote", text, "--title", title, "--tag", "land", "--json")
        notes.append(str(json.loads(added.stdout)["document_id"]))
    assert spare_engine.run_kb("export", str(folder / "bundle.tar")).returncode == 0
    environment = own_environment(folder, {**spare_engine.client_settings, "VISUAL": str(editor)})
    return Base(spare_engine, environment, {"folder": str(folder), "note": notes[0], "doomed": notes[1]})


@pytest.mark.parametrize("name", CALLS)
def test_c2_in_a_pipe_stdout_is_the_answer_and_nothing_else(base: Base, name: str) -> None:
    keys = CALLS[name][1]
    as_json = [] if keys is None else ["--json"]

    result = base.engine.run_kb(name, *base.arguments_of(name), *as_json, settings=base.environment)

    assert (result.returncode, result.stdout != "") == (0, True), result.stderr
    assert not re.search(r"\x1b|\r", result.stdout + result.stderr)
    if keys is not None:
        assert all(keys <= json.loads(line).keys() for line in result.stdout.splitlines())


@pytest.mark.parametrize("name", FOR_PEOPLE)
def test_c2_on_a_terminal_it_speaks_to_people(base: Base, name: str) -> None:
    with OnTerminal(name, *base.arguments_of(name), environment=base.environment) as terminal:
        code = terminal.wait()

    assert code == 0, terminal.output
    assert "\x1b[" in terminal.output
    assert "Traceback" not in terminal.output


@pytest.mark.parametrize(("name", "status"), [("cancel", "cancelled"), ("retry", "completed")])
def test_c2_what_was_done_to_a_job_is_told_in_a_pipe(spare_engine: EngineProgram, name: str, status: str) -> None:
    job = {"id": 7, "type": "file", "status": status, "filename": "brig.md", "error": None}
    asked = []

    def answer(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        if method == "POST":
            asked.append(path)
        return 200, job

    with scripted_engine(answer) as url:
        result = spare_engine.run_kb(name, "7", "--json", settings={"KB_ENGINE_URL": url})

    assert (result.returncode, result.stderr) == (0, "")
    assert json.loads(result.stdout) == job
    assert asked == [f"/api/v1/jobs/7/{name}"]


def test_no_command_is_forgotten_here() -> None:
    assert {*CALLS, *TRIED_ELSEWHERE, "cancel", "retry"} == set(ENTRIES)
