"""C6: no control character of an answer reaches the terminal, from an engine or from another program."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Kb
from tests.cli.scripted_engine import Answer, scripted_engine
from tests.cli.terminal import OnTerminal
from tests.engine_program import own_environment

CONTROLS = [
    *map(chr, (*range(0x00, 0x20), *range(0x7F, 0xA0))),
    *map(chr, (0x061C, 0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))),
]
RAW = re.compile(f"[{re.escape(''.join(set(CONTROLS) - {chr(9), chr(10)}))}]")
# A pseudo terminal writes \r\n, and styles and links are escape sequences of our own.
OWN_SEQUENCES = re.compile(
    r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;(id=\d+)?;(http://127\.0\.0\.1:\d+/api/v1/documents/\d+/file)?\x1b\\|\r"
)
LEGITIMATE = (
    "\u0634\u0639\u0631 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u05e9\u05d9\u05e8 \U0001f469\u200d\U0001f4bb"
)
HOSTILE = f"{''.join(CONTROLS)}\x1b]0;PWNED\x07\x1b]8;;file:///etc/passwd\x1b\\ {LEGITIMATE}"
TIME = "2026-01-01T00:00:00Z"
CHUNK = {"id": 1, "text": HOSTILE, "page_num": 3, "heading": HOSTILE}
DOCUMENT: dict[str, Any] = {
    **{"id": 1, "uuid": HOSTILE, "title": HOSTILE, "doc_type": HOSTILE, "format": HOSTILE, "filename": HOSTILE},
    **{"size_bytes": 1, "version": 1, "tags": [HOSTILE], "source_path": f"/{HOSTILE}", "metadata": {HOSTILE: HOSTILE}},
    **{"created_at": TIME, "updated_at": TIME, "chunk_count": 1, "chunks": [CHUNK], "chunks_removed": 1},
    **{"document_id": 1, "status": HOSTILE},
}
NOTE = {**DOCUMENT, "doc_type": "note", "text": HOSTILE}
JOB: dict[str, Any] = {
    **{"id": 1, "job_id": 1, "uuid": HOSTILE, "type": HOSTILE, "status": "failed", "filename": HOSTILE},
    **{"message": HOSTILE, "current_step": HOSTILE, "progress": 1.0, "completed_steps": 1, "total_steps": 1},
    **{"created_at": TIME, "started_at": TIME, "finished_at": TIME, "elapsed_seconds": 1.0, "attempts": 1},
    **{"estimated_remaining_seconds": 1.0, "document_id": None, "duplicate": False, "replaced": False},
    **{"chunks_created": 1, "error": {"code": HOSTILE, "message": HOSTILE}},
}
REVISIONS = [
    {"version": number, "title": HOSTILE, "text": f"{number} {HOSTILE}", "created_at": TIME, "is_current": number == 2}
    for number in (2, 1)
]
HIT = {
    **{"document_id": 1, "title": HOSTILE, "source_path": None, "format": HOSTILE, "page_num": 3, "heading": HOSTILE},
    **{"tags": [HOSTILE], "relevance": 0.5, "snippet": f"**{HOSTILE}**", "text": HOSTILE},
    **{"scores": {"fts": 1.0, "vector": 0.5}},
}
ANSWERS: dict[str, object] = {
    "/documents/1": NOTE,
    "/documents/2": {**DOCUMENT, "id": 2},
    "/documents": {"documents": [DOCUMENT], "total": 1, "limit": 100, "offset": 0},
    "/jobs": {"jobs": [JOB], "total": 1, "limit": 100, "offset": 0},
    "/jobs/1": JOB,
    "/notes/1/revisions": {"revisions": REVISIONS, "total": 2, "limit": 20, "offset": 0},
    "/notes/1": NOTE,
    "/tags": {"tags": [{"name": HOSTILE, "count": 1}], "total": 1},
    "/documents/1/tags": NOTE,
    "/search": {"results": [HIT], "total": 1, "took_ms": 1, "suggestion": HOSTILE},
    "/status": {
        **{"version": HOSTILE, "schema_version": 1, "device": HOSTILE, "vectors": 1, "chunks": 1, "size_bytes": 1},
        **{"documents": {"total": 1, "by_type": {HOSTILE: 1}}, "queue": {"queued": 0, "running": 0, "failed": 0}},
        **{"model": {"name": HOSTILE, "loaded": True}, "storage": {"data_dir": HOSTILE, "database": HOSTILE}},
        **{"health": {"status": HOSTILE, "issues": [HOSTILE]}, "last_updated": TIME},
    },
}
COMMANDS = [
    *(
        ["get", "1"],
        ["get", "2"],
        ["list"],
        ["jobs"],
        ["jobs", "1"],
        ["search", "x", "--why"],
        ["search", "x", "--full"],
    ),
    *(["history", "1"], ["history", "1", "1"], ["history", "1", "--diff"], ["tags"], ["tag", "1", "+x"], ["status"]),
    *(["delete", "1", "--yes"], ["delete", "1"], ["addnote", "x"], ["updatenote", "1", "x"], ["retry", "1"]),
]
WITHOUT_JSON = [["get", "1", "--text"], ["list", "--ids"], ["completion", "zsh", "--", "kb", "search", "--tag", ""]]


def answer_hostile(method: str, path: str, headers: Mapping[str, str]) -> Answer:
    place = path.partition("?")[0].removeprefix("/api/v1")
    return (200, JOB) if (method, place) == ("POST", "/jobs") else (200, ANSWERS.get(place, NOTE))


def answer_refusal(method: str, path: str, headers: Mapping[str, str]) -> Answer:
    return (200, {}) if path == "/health/live" else (404, {"code": HOSTILE, "detail": HOSTILE})


@pytest.mark.parametrize("arguments", [*COMMANDS, *WITHOUT_JSON], ids=" ".join)
def test_pipe_gets_no_control_character(kb: Kb, arguments: list[str]) -> None:
    """C6"""
    with scripted_engine(answer_hostile) as url:
        result = kb(*arguments, KB_ENGINE_URL=url)

    assert RAW.findall(result.output) == []
    assert "PWNED" in result.output or arguments[-1] in ("--ids", "") or arguments[0] == "delete"


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_json_escapes_control_characters(kb: Kb, arguments: list[str]) -> None:
    """C6: a program reads the same text."""
    with scripted_engine(answer_hostile) as url:
        result = kb(*arguments, "--json", KB_ENGINE_URL=url)

    assert RAW.findall(result.output) == []
    if result.stdout:
        assert LEGITIMATE in result.stdout
        assert json.dumps(HOSTILE) in json.dumps([json.loads(line) for line in result.stdout.splitlines()])


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_error_of_an_engine_has_no_control_character(kb: Kb, arguments: list[str]) -> None:
    """C6"""
    with scripted_engine(answer_refusal) as url:
        result = kb(*arguments, KB_ENGINE_URL=url)

    assert result.exit_code != 0
    assert "PWNED" in result.stderr
    assert RAW.findall(result.output) == []


@pytest.mark.parametrize("command", ["list", "search x", "get 1", "jobs", "history 1", "tags", "status"])
def test_terminal_gets_only_our_own_sequences(tmp_path: Path, command: str) -> None:
    """C6"""
    with scripted_engine(answer_hostile) as url:
        environment = {**own_environment(tmp_path), "KB_ENGINE_URL": url}
        with OnTerminal(*command.split(), environment=environment, columns=400) as terminal:
            code = terminal.wait()

    assert code == 0, terminal.output
    assert "PWNED" in terminal.output
    assert RAW.findall(OWN_SEQUENCES.sub("", terminal.output)) == []
    assert "file://" not in "".join(re.findall(r"\x1b\][^\\]*", terminal.output))


@pytest.mark.parametrize("document_id", [HOSTILE, None, [1], {}])
@pytest.mark.parametrize("arguments", [["list", "--ids"], ["list"]], ids=" ".join)
def test_id_that_is_no_number_is_not_printed(kb: Kb, arguments: list[str], document_id: object) -> None:
    """C6"""
    listed = {"documents": [{**DOCUMENT, "id": document_id}], "total": 1}
    with scripted_engine(lambda *request: (200, listed)) as url:
        result = kb(*arguments, KB_ENGINE_URL=url)

    assert RAW.findall(result.output) == []
    if "--ids" in arguments:
        assert result.stdout == ""
        assert result.exit_code == 1


@pytest.mark.parametrize("body", [{}, {"documents": 1, "revisions": [{}], "jobs": [7], "total": "x", "results": [{}]}])
@pytest.mark.parametrize("arguments", [*COMMANDS, *WITHOUT_JSON, ["doctor", "--quick"]], ids=" ".join)
def test_incomplete_answer_is_an_error_without_a_traceback(kb: Kb, arguments: list[str], body: object) -> None:
    """C6: the runner passes on what would be a traceback."""
    with scripted_engine(lambda *request: (200, body)) as url:
        result = kb(*arguments, KB_ENGINE_URL=url)

    assert "Traceback" not in result.output
    if result.exit_code == 1:
        assert f"{url} cannot be used" in result.stderr or "doctor" in arguments


@pytest.mark.parametrize("arguments", [["list"], ["doctor", "--quick"]], ids=" ".join)
def test_answer_that_cannot_be_unpacked_is_not_an_engines(kb: Kb, arguments: list[str]) -> None:
    """C6"""
    with scripted_engine(lambda *request: (200, b"not packed", {"Content-Encoding": "gzip"})) as url:
        result = kb(*arguments, KB_ENGINE_URL=url)

    assert result.exit_code == 6
    assert f"{url} is not a kb engine" in result.output


def test_error_about_an_infinite_number_names_the_lines_of_kb(kb: Kb) -> None:
    """C6: the error may be a bug of kb, and then a report needs these lines."""
    with scripted_engine(lambda *request: (200, b'{"documents": [{"id": Infinity}], "total": 1}')) as url:
        result = kb("list", "--ids", KB_ENGINE_URL=url)

    assert result.exit_code == 1
    assert re.search(r"\(OverflowError at documents\.py line \d+, documents\.py line \d+, main\.py ", result.stderr)


def test_redirected_export_is_refused(kb: Kb, tmp_path: Path) -> None:
    """C6: an engine never redirects, and the body of the redirect is not read."""
    with scripted_engine(lambda *request: (302, b"", {"Location": "http://127.0.0.1:1/"})) as url:
        result = kb("export", str(tmp_path / "bundle.kb"), KB_ENGINE_URL=url)

    assert result.exit_code == 6
    assert f"{url} is not a kb engine" in result.stderr
