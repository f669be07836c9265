"""What a shell is offered. Here bash is asked as a user asks it; the other shells hand over the same words."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from tests.cli.conftest import Kb, Pretend
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.engine_program import EngineProgram, kb_command, own_environment

from kb.cli.completion.candidates import MOST_OFFERED, Json

TAGS = ["quokka two words", "quokka:project/alpha", 'quokka it\'s "quoted" $HOME']


@pytest.fixture(scope="module")
def quokka(running_engine: EngineProgram) -> str:
    """The number of a note that has the tags."""
    tags = [part for tag in TAGS for part in ("--tag", tag)]
    told = running_engine.run_kb("addnote", "Quokkas smile", "--title", "Quokkas\x1b[31m", *tags).stdout
    return told.split()[1]


def offers(kb: Kb, *words: str, **settings: str) -> dict[str, str]:
    result = kb("completion", "zsh", "--", "kb", *words, **settings)
    assert result.exit_code == 0
    assert result.stderr == ""
    pairs = (line.partition("\t") for line in result.stdout.splitlines())
    return {value: meaning for value, _, meaning in pairs}


def test_commands_are_offered_with_what_they_do(kb: Kb) -> None:
    assert offers(kb, "conf") == {"config": "Show every setting, its value, and where that comes from."}
    assert set(offers(kb, "model", "")) == {"list", "fetch"}


def test_options_and_their_values_are_offered(kb: Kb) -> None:
    assert "--repair" in offers(kb, "doctor", "--re")
    assert set(offers(kb, "search", "x", "--mode", "")) == {"hybrid", "fts", "vector"}
    assert set(offers(kb, "connect", "cl")) == {"claude-desktop", "claude-code"}
    assert set(offers(kb, "completion", "")) == {"bash", "zsh", "fish"}
    assert set(offers(kb, "list", "--sort=da")) == {"--sort=date_added"}


@pytest.mark.parametrize(("word_breaks", "inserted"), [(" =:", "date_added"), (" ", "--sort=date_added")])
def test_bash_replaces_only_what_comes_after_its_last_break(kb: Kb, word_breaks: str, inserted: str) -> None:
    result = kb("completion", "bash", "--", "kb list --sort=da", word_breaks)

    assert result.stdout == f"{inserted}\n"


@pytest.mark.usefixtures("quokka")
def test_tags_are_offered_with_their_counts(kb: Kb) -> None:
    assert offers(kb, "search", "x", "--tag", "quokka") == dict.fromkeys(TAGS, "1 document")


def test_documents_are_offered_with_their_titles(kb: Kb, quokka: str) -> None:
    assert offers(kb, "get", quokka)[quokka] == "Quokkas[31m"
    assert offers(kb, "updatenote", quokka)[quokka] == "Quokkas[31m"


def test_jobs_are_offered_to_those_who_can_do_something_with_them(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    failed = kb("add", str(tmp_path / "broken.pdf"), "--json").stdout
    job_id = failed.partition('"id": ')[2].partition(",")[0]

    assert "broken.pdf" in offers(kb, "retry", job_id)[job_id]
    assert "broken.pdf" in offers(kb, "jobs", job_id)[job_id]
    assert job_id not in offers(kb, "cancel", job_id)


def test_a_job_that_failed_is_offered_however_many_came_after_it(kb: Kb) -> None:
    def job(number: int, status: str) -> Json:
        return {"id": number, "status": status, "filename": "a.txt", "type": "file"}

    jobs = [*(job(number, "completed") for number in range(1200, 1, -1)), job(1, "failed")]

    def answer(method: str, path: str, headers: Mapping[str, str]) -> Answer:
        asked = dict(parse_qsl(urlsplit(path).query))
        wanted = [one for one in jobs if one["status"] == asked.get("status", one["status"])]
        return 200, {"jobs": wanted[: int(asked.get("limit", "100"))], "total": len(wanted)}

    with scripted_engine(answer) as url:
        assert offers(kb, "retry", "", KB_ENGINE_URL=url) == {"1": "failed: a.txt"}
        assert offers(kb, "cancel", "", KB_ENGINE_URL=url) == {}
        assert len(offers(kb, "jobs", "", KB_ENGINE_URL=url)) == MOST_OFFERED
        assert set(offers(kb, "jobs", "1200", KB_ENGINE_URL=url)) == {"1200"}


def test_where_files_are_wanted_the_shell_is_left_to_offer_them(kb: Kb) -> None:
    assert offers(kb, "backup", "") == {}
    assert offers(kb, "model", "fetch", "--from", "") == {}


def test_no_more_is_offered_than_anybody_reads(kb: Kb, pretend: Pretend) -> None:
    tags = ", ".join(f'{{"name": "t{number}", "count": 1}}' for number in range(MOST_OFFERED + 1))
    url = pretend(200, f'{{"tags": [{tags}]}}'.encode())

    assert len(offers(kb, "search", "--tag", "", KB_ENGINE_URL=url)) == MOST_OFFERED


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b"<h1>Welcome</h1>"),
        (200, b'{"tags": 7}'),
        (200, b"[]"),
        (401, b"{}"),
        (200, b'{"tags": [{"name": "x"}]}'),
        (200, b'{"tags": [{"name": 1, "count": 1}]}'),
    ],
)
def test_an_engine_that_answers_otherwise_is_never_an_error(kb: Kb, pretend: Pretend, status: int, body: bytes) -> None:
    assert offers(kb, "search", "--tag", "x", KB_ENGINE_URL=pretend(status, body)) == {}


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "nonsense"])
def test_without_an_engine_only_the_command_itself_is_known(kb: Kb, url: str) -> None:
    assert offers(kb, "search", "--tag", "", KB_ENGINE_URL=url) == {}
    assert offers(kb, "sear", KB_ENGINE_URL=url)


@pytest.mark.parametrize("words", [["nonsense", ""], ["search", "--nonsense", ""], ["--version", ""], [""]])
def test_what_kb_does_not_understand_is_never_an_error(kb: Kb, words: list[str]) -> None:
    offers(kb, *words)


@pytest.mark.usefixtures("quokka")
def test_the_engine_of_the_line_itself_is_asked(kb: Kb, running_engine: EngineProgram) -> None:
    line = ("search", "--engine-url", running_engine.url, "--tag", "quokka t")

    assert offers(kb, *line, KB_ENGINE_URL="http://127.0.0.1:1") == {"quokka two words": "1 document"}


def complete_in_bash(running_engine: EngineProgram, folder: Path, line: str) -> list[str]:
    """What bash makes of a line when Tab is pressed at its end."""
    program = folder / "kb"
    program.write_text(f'#!/bin/sh\nexec {" ".join(kb_command())} "$@"\n')
    program.chmod(0o755)
    script = (
        'source <(kb completion bash); COMP_LINE=$1 COMP_POINT=${#1}; _kb_complete kb; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    environment = own_environment(folder, {"KB_ENGINE_URL": running_engine.url})
    path = f"{folder}{os.pathsep}{environment['PATH']}"
    told = subprocess.run(
        ["bash", "--norc", "-c", script, "bash", line],
        env={**environment, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stderr == ""
    return told.stdout.splitlines()


@pytest.mark.usefixtures("quokka")
def test_bash_gets_tags_that_it_can_insert_as_they_are(running_engine: EngineProgram, tmp_path: Path) -> None:
    """C1"""
    assert complete_in_bash(running_engine, tmp_path, "kb search x --tag quokka") == [
        r"quokka\ it\'s\ \"quoted\"\ \$HOME",
        r"quokka\ two\ words",
        r"quokka:project/alpha",
    ]
    assert complete_in_bash(running_engine, tmp_path, "kb search x --tag quokka:pro") == ["project/alpha"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_all_that_stands_on_stdout(kb: Kb, shell: str) -> None:
    """C2"""
    result = kb("completion", shell)

    assert result.exit_code == 0
    assert f"completion {shell} --" in result.stdout
    assert result.stderr == ""


def test_another_shell_is_exit_code_2(kb: Kb) -> None:
    assert kb("completion", "tcsh").exit_code == 2
