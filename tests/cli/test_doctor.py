"""`kb doctor` and `kb reindex`."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from tests.cli.conftest import Kb, Pretend
from tests.cli.scripted_engine import scripted_engine
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment

NOWHERE = "http://127.0.0.1:1"
JOB = {"id": 17, "status": "running", "progress": 0.7, "current_step": "Reindexing", "message": "Chunk 7 of 9"}


@pytest.fixture(scope="module")
def own_engine(spare_engine: EngineProgram, tmp_path_factory: pytest.TempPathFactory) -> EngineProgram:
    """One that holds a note and a file."""
    file = tmp_path_factory.mktemp("doctor") / "tapir.txt"
    file.write_text("Tapirs swim at dusk.")
    for command in (("clear", "--yes"), ("addnote", "Tapirs sleep at noon"), ("add", str(file))):
        assert spare_engine.run_kb(*command).returncode == 0
    return spare_engine


def harm(engine: EngineProgram, sql: str) -> None:
    with closing(sqlite3.connect(engine.data_dir / "kb.sqlite", timeout=10)) as base, base:
        base.execute(sql)


def examine(kb: Kb, engine: EngineProgram, *options: str, **settings: str) -> tuple[int, dict[str, Any]]:
    result = kb("doctor", "--json", *options, **{**engine.client_settings, **settings})
    return result.exit_code, json.loads(result.stdout)


def find(report: dict[str, Any], name: str) -> dict[str, Any]:
    return next(check for check in report["checks"] if check["name"] == name)


def wrong(report: dict[str, Any]) -> list[str]:
    return [check["name"] for check in report["checks"] if check["status"] == "wrong"]


def test_where_all_is_well_every_check_says_so(kb: Kb, own_engine: EngineProgram) -> None:
    """C1"""
    code, report = examine(kb, own_engine)

    names = [check["name"] for check in report["checks"]]
    assert code == 0
    assert wrong(report) == []
    expected = ["settings", "engine", "model", "counts", "health", "queue", "disk", "data", "contents", "mcp"]
    assert names == expected
    assert find(report, "counts")["message"] == "2 documents, 2 chunks, 2 vectors"
    assert set(report["checks"][0]) == {"name", "status", "message", "advice"}


def test_quick_does_not_read_everything(kb: Kb, own_engine: EngineProgram) -> None:
    _, report = examine(kb, own_engine, "--quick")

    assert "contents" not in {check["name"] for check in report["checks"]}


def test_for_people_each_check_is_a_line_and_the_advice_stands_below(kb: Kb, own_engine: EngineProgram) -> None:
    result = kb("doctor", "--quick", KB_ENGINE_URL=own_engine.url, KB_PROT="1")

    assert re.search(r"^warning  settings  KB_PROT is not a setting.*\n {19}Correct the name", result.stdout)
    assert "\nok       model     all-MiniLM-L6-v2 is loaded\n" in result.stdout
    assert "warning" in result.stderr


def test_what_others_can_read_is_a_warning_with_the_command_that_ends_it(kb: Kb) -> None:
    with TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        key = Path(folder, "key")
        key.write_text("hidden-key")
        settings = {"KB_MCP_API_KEY_FILE": str(key), "KB_DATA_DIR": folder, "KB_ENGINE_URL": NOWHERE}

        key.chmod(0o644)
        shown = json.loads(kb("doctor", "--json", **settings).stdout)
        key.chmod(0o600)
        Path(folder).chmod(0o700)
        hidden = json.loads(kb("doctor", "--json", **settings).stdout)

    assert find(shown, "keys")["status"] == find(shown, "data")["status"] == "warning"
    assert find(shown, "keys")["advice"] == f"chmod 600 {key}"
    assert find(shown, "data")["advice"] == f"chmod 700 {folder}"
    assert not any(check["name"] == "keys" for check in hidden["checks"])
    assert find(hidden, "data")["status"] == "ok"


def test_a_wrong_setting_is_wrong_and_the_others_are_still_looked_at(kb: Kb, own_engine: EngineProgram) -> None:
    """C3"""
    code, report = examine(kb, own_engine, "--quick", KB_MCP_TOOLSETS="nonsense")

    assert code == 1
    assert report["status"] == "wrong"
    assert wrong(report) == ["settings"]
    assert "KB_MCP_TOOLSETS" in find(report, "settings")["message"]
    assert find(report, "engine")["status"] == "ok"


def test_a_wrong_key_is_told_with_what_to_do(kb: Kb, locked_engine: EngineProgram) -> None:
    code, report = examine(kb, locked_engine, KB_API_KEY="wrong")

    assert code == 5
    assert wrong(report) == ["key"]
    assert "KB_API_KEY" in find(report, "key")["message"]


def test_an_engine_that_is_too_old_is_wrong(kb: Kb, own_engine: EngineProgram, pretend: Pretend) -> None:
    """E26"""
    code, report = examine(kb, own_engine, KB_ENGINE_URL=pretend(200, b'{"version": "2.11.4"}'))

    assert code == 1
    assert "2.11.4" in find(report, "engine")["message"]


def test_an_mcp_server_that_is_not_there_is_a_warning(kb: Kb, own_engine: EngineProgram) -> None:
    code, report = examine(kb, own_engine, "--quick", KB_MCP_PORT="1")

    assert code == 0
    assert find(report, "mcp")["status"] == "warning"
    assert "kb up" in find(report, "mcp")["advice"]


def test_failed_jobs_are_a_warning(kb: Kb, own_engine: EngineProgram, tmp_path: Path) -> None:
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.4 nothing")
    assert kb("add", str(tmp_path / "broken.pdf"), KB_ENGINE_URL=own_engine.url).exit_code == 7

    code, report = examine(kb, own_engine, "--quick")

    assert code == 0
    assert re.fullmatch(r"\d+ jobs? failed", find(report, "queue")["message"])
    assert "kb retry" in find(report, "queue")["advice"]


def test_damage_of_what_is_derived_is_found_and_repaired(kb: Kb, own_engine: EngineProgram) -> None:
    harm(own_engine, "UPDATE embeddings SET vector = zeroblob(1536)")

    found = examine(kb, own_engine)
    repaired = examine(kb, own_engine, "--repair")

    assert found[0] == 1
    assert wrong(found[1]) == ["contents"]
    assert find(found[1], "contents")["advice"] == "kb doctor --repair"
    assert (repaired[0], wrong(repaired[1])) == (0, []), find(repaired[1], "contents")
    assert find(repaired[1], "repair")["status"] == "ok"
    assert find(repaired[1], "contents")["status"] == "ok"


def test_repair_never_touches_what_is_not_derived_nor_what_would_be_made_from_it(
    kb: Kb, own_engine: EngineProgram
) -> None:
    whole = b"Tapirs swim at dusk."
    originals = [path for path in (own_engine.data_dir / "originals").glob("??/*") if path.is_file()]
    (original,) = (path for path in originals if path.read_bytes() == whole)
    original.chmod(0o600)
    original.write_bytes(b"Tapirs fly at dusk.")
    harm(own_engine, "UPDATE embeddings SET vector = zeroblob(1536)")

    code, report = examine(kb, own_engine, "--repair")

    assert code == 1
    assert original.read_bytes() == b"Tapirs fly at dusk."
    kinds = [check["advice"] for check in report["checks"] if check["status"] == "wrong"]
    assert "kb add FILE" in kinds[0]
    assert kinds[1] == "kb doctor --repair"
    assert not any(check["name"] == "repair" for check in report["checks"])
    original.write_bytes(whole)
    assert examine(kb, own_engine, "--repair")[0] == 0


def test_beside_an_engine_that_is_not_found_the_files_are_left_alone(kb: Kb, own_engine: EngineProgram) -> None:
    code, report = examine(kb, own_engine, KB_ENGINE_URL=NOWHERE)

    assert code == 6
    assert wrong(report) == ["engine"]
    assert find(report, "base")["status"] == "warning"
    assert "KB_ENGINE_URL" in find(report, "base")["advice"]


def test_without_an_engine_the_files_themselves_are_checked_and_not_changed(kb: Kb, own_engine: EngineProgram) -> None:
    """C1"""
    stopped_with = own_engine.stop()
    try:
        base = own_engine.data_dir / "kb.sqlite"
        before = base.read_bytes()
        code, report = examine(kb, own_engine)
        after = base.read_bytes()
        harm(own_engine, "UPDATE documents SET note_text = note_text || '!' WHERE note_text IS NOT NULL")
        damaged = examine(kb, own_engine, "--repair")
        harm(own_engine, "UPDATE documents SET note_text = rtrim(note_text, '!') WHERE note_text IS NOT NULL")
    finally:
        own_engine.start()

    assert stopped_with == 0
    assert code == 6
    assert wrong(report) == ["engine"]
    assert re.match(r"schema \d+, 2 documents in ", find(report, "base")["message"])
    assert re.fullmatch(r"The base and \d originals? are as they were written", find(report, "contents")["message"])
    assert after == before
    assert damaged[0] == 6
    assert wrong(damaged[1]) == ["engine", "contents"]
    assert "kb restore" in find(damaged[1], "contents")["advice"]


@pytest.mark.parametrize("content", [None, b"", b"SQLite format 3\0 but not really", b"nonsense" * 2000])
def test_a_base_that_is_none_is_told_plainly(kb: Kb, tmp_path: Path, content: bytes | None) -> None:
    data_dir = tmp_path / "data"
    if content is not None:
        data_dir.mkdir()
        (data_dir / "kb.sqlite").write_bytes(content)

    result = kb("doctor", "--json", "--data-dir", str(data_dir), KB_ENGINE_URL=NOWHERE)

    base = find(json.loads(result.stdout), "base")
    assert result.exit_code == 6
    assert base["status"] == ("wrong" if content else "ok")
    assert base["message"]
    assert data_dir.exists() == (content is not None)


def test_a_model_that_is_missing_is_wrong_with_the_command_that_fetches_it(kb: Kb, tmp_path: Path) -> None:
    result = kb("doctor", "--json", KB_ENGINE_URL=NOWHERE, XDG_CACHE_HOME=str(tmp_path), KB_DATA_DIR=str(tmp_path))

    model = find(json.loads(result.stdout), "model")
    assert model["status"] == "wrong"
    assert model["advice"] == "kb model fetch"


def test_on_a_terminal_the_words_have_colours(own_engine: EngineProgram, tmp_path: Path) -> None:
    """C2"""
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": own_engine.url})

    with OnTerminal("doctor", environment=environment) as terminal:
        assert terminal.wait() == 0

    assert "\x1b[32mok" in terminal.output
    assert "read and found as they were written" in terminal.output


def test_reindex_waits_for_its_job(kb: Kb, own_engine: EngineProgram) -> None:
    result = kb("reindex", KB_ENGINE_URL=own_engine.url)

    assert result.exit_code == 0
    assert re.fullmatch(r"All that searches use was made anew \(job \d+\)\.\n", result.stdout)
    assert result.stderr == ""


def test_reindex_as_json_is_the_job(kb: Kb, own_engine: EngineProgram) -> None:
    """C2"""
    job = json.loads(kb("reindex", "--json", KB_ENGINE_URL=own_engine.url).stdout)

    assert job["type"] == "reindex"
    assert job["status"] == "completed"


def test_reindex_need_not_be_waited_for(kb: Kb, own_engine: EngineProgram) -> None:
    """C3"""
    job = json.loads(kb("reindex", "--no-wait", "--json", KB_ENGINE_URL=own_engine.url).stdout)

    assert job["status"] in {"queued", "running"}
    assert "kb jobs" in kb("reindex", "--no-wait", KB_ENGINE_URL=own_engine.url).stdout


def test_ctrl_c_leaves_the_job_going_and_says_so(tmp_path: Path) -> None:
    """C3"""
    with (
        scripted_engine(lambda *request: (200, {**JOB, "error": None})) as url,
        OnTerminal("reindex", environment=own_environment(tmp_path, {"KB_ENGINE_URL": url})) as terminal,
    ):
        terminal.wait_for("Chunk 7 of 9")
        terminal.interrupt()
        assert terminal.wait() == 130

    assert "Job 17 goes on" in terminal.output
    assert "Traceback" not in terminal.output


def test_a_reindex_that_fails_is_exit_code_7(kb: Kb) -> None:
    """C3"""
    failed = {**JOB, "status": "failed", "error": {"code": "storage_full", "message": "The disk is full."}}

    with scripted_engine(lambda *request: (200, failed)) as url:
        result = kb("reindex", KB_ENGINE_URL=url)

    assert result.exit_code == 7
    assert "The disk is full." in result.stderr
    assert "kb retry 17" in result.stderr
