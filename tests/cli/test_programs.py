import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Kb
from tests.engine_program import EngineProgram, kb_command, own_environment, run_kb


def test_in_a_pipe_stdout_is_the_answer_and_nothing_else(kb: Kb, running_engine: EngineProgram) -> None:
    kb("addnote", "Piped words")

    result = running_engine.run_kb("search", "piped", "--json", settings={"KB_NO_SUCH_SETTING": "1"})

    assert result.returncode == 0
    assert len(result.stdout.splitlines()) == 1
    assert json.loads(result.stdout)["results"]
    assert "KB_NO_SUCH_SETTING" in result.stderr


def test_in_a_pipe_there_are_no_colours_and_no_folded_lines(kb: Kb, running_engine: EngineProgram) -> None:
    kb("addnote", "word " * 60)

    result = running_engine.run_kb("search", "word", "--mode", "fts", "--top", "1")

    assert "\x1b" not in result.stdout
    assert len(result.stdout.splitlines()) == 3


def test_ctrl_c_ends_the_engine_well_and_quietly(spare_engine: EngineProgram) -> None:
    told_before = spare_engine.log.read_text()

    spare_engine.process.send_signal(signal.SIGINT)
    code = spare_engine.wait()
    told_at_the_end = spare_engine.log.read_text().removeprefix(told_before)
    spare_engine.start()

    first_line = told_before.partition("\n")[0]
    assert code == 0
    assert first_line.endswith(f"kb engine 3.0.0 on {spare_engine.url}, data in {spare_engine.data_dir}")
    assert "Traceback" not in told_at_the_end


def test_a_second_engine_on_the_same_data_is_refused(running_engine: EngineProgram, tmp_path: Path) -> None:
    """E29"""
    result = run_kb(tmp_path, "engine", "--port", "0", "--data-dir", str(running_engine.data_dir))

    assert result.returncode == 1
    assert "Another engine is already running" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_port_in_use_is_told(running_engine: EngineProgram, tmp_path: Path) -> None:
    """E29"""
    port = running_engine.url.rpartition(":")[2]

    result = run_kb(tmp_path, "engine", "--port", port, "--data-dir", str(tmp_path / "data"))

    assert result.returncode == 1
    assert f"port {port}" in result.stderr
    assert "KB_PORT" in result.stderr


def test_without_its_model_the_engine_says_how_to_fetch_it(tmp_path: Path) -> None:
    result = run_kb(
        tmp_path, "up", "--port", "0", "--data-dir", str(tmp_path), settings={"XDG_CACHE_HOME": str(tmp_path)}
    )

    assert result.returncode == 1
    assert result.stdout == ""
    assert "kb model fetch" in result.stderr


def test_an_open_engine_for_other_machines_is_refused(kb: Kb, tmp_path: Path) -> None:
    result = kb("up", "--host", "0.0.0.0", "--data-dir", str(tmp_path))  # noqa: S104 - it is refused

    assert result.exit_code == 1
    assert "KB_API_KEY" in result.stderr


def test_a_data_directory_that_cannot_be_is_told(kb: Kb, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")

    result = kb("engine", "--data-dir", str(tmp_path / "file" / "data"))

    assert result.exit_code == 1
    assert "KB_DATA_DIR" in result.stderr


def test_a_worker_beside_the_engine_stops_when_told(running_engine: EngineProgram, tmp_path: Path) -> None:
    command = kb_command("worker", "--data-dir", str(running_engine.data_dir))
    with subprocess.Popen(command, env=own_environment(tmp_path), stderr=subprocess.PIPE, text=True) as worker:
        assert worker.stderr is not None
        first_line = worker.stderr.readline()

        worker.terminate()

        assert worker.wait(30) == 0
    assert "kb worker 3.0.0" in first_line


def test_the_model_is_fetched_from_a_folder(model_folder: Path, tmp_path: Path) -> None:
    result = run_kb(tmp_path, "model", "fetch", "--from", str(model_folder), settings={"XDG_CACHE_HOME": str(tmp_path)})

    fetched = Path(result.stdout.strip())
    assert result.returncode == 0
    assert (fetched / "config.json").read_bytes() == (model_folder / "config.json").read_bytes()
    assert fetched.is_relative_to(tmp_path)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("kb clear <&-", 4),
        ("kb addnote - <&-", 2),
        ("kb list >&-", 0),
        ("kb status >/dev/full", 1),
        ("kb list --json >/dev/full", 1),
    ],
)
def test_a_stream_that_is_closed_or_full_is_no_traceback(
    running_engine: EngineProgram, tmp_path: Path, command: str, code: int
) -> None:
    """C5"""
    environment = own_environment(tmp_path, {"KB_ENGINE_URL": running_engine.url})
    shell = command.replace("kb", f"{sys.executable} -m kb.cli.main", 1)

    result = subprocess.run(["sh", "-c", shell], env=environment, capture_output=True, text=True, check=False)

    assert result.returncode == code
    assert "Traceback" not in result.stderr
