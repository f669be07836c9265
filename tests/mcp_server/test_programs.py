"""The MCP server as a process: alone, and as the child of `kb up`."""

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from tests.engine_program import EngineProgram, kb_command, own_environment
from tests.mcp_server.programs import McpProgram, RawClient

WITHIN_SECONDS = 30


@pytest.fixture
def everything(model_folder: Path, tmp_path: Path) -> Iterator[EngineProgram]:
    """A `kb up` of its own, to be killed."""
    program = EngineProgram(tmp_path)
    program.start()
    yield program
    if program.process.poll() is None:
        program.stop()


def mcp_process_of(program: EngineProgram) -> psutil.Process:
    children = psutil.Process(program.process.pid).children()
    return next(child for child in children if "kb.mcp.process" in child.cmdline())


def run_kb(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = kb_command(*arguments)
    return subprocess.run(
        command, env=own_environment(folder), capture_output=True, text=True, check=False, timeout=WITHIN_SECONDS
    )


def test_a_killed_mcp_server_is_started_again_while_its_callers_wait(everything: EngineProgram) -> None:
    """M4."""
    with RawClient(everything.mcp_url) as client:
        client.http.headers["Connection"] = "close"
        before = mcp_process_of(everything)
        assert client.call("kb_status")["version"] == "3.0.0"

        before.kill()
        before.wait(WITHIN_SECONDS)

        assert client.call("kb_status")["version"] == "3.0.0"
        assert mcp_process_of(everything).pid != before.pid


def test_the_mcp_server_never_outlives_kb_up(everything: EngineProgram) -> None:
    mcp = mcp_process_of(everything)

    everything.kill()

    mcp.wait(WITHIN_SECONDS)


def test_kb_up_that_was_killed_can_be_started_again_at_once_on_the_same_ports(everything: EngineProgram) -> None:
    """E24."""
    urls = (everything.url, everything.mcp_url)
    mcp = mcp_process_of(everything)
    # It cannot notice yet that it is alone, and holds its port.
    mcp.suspend()
    everything.kill()
    threading.Timer(1, mcp.resume).start()

    everything.start()

    assert (everything.url, everything.mcp_url) == urls
    with RawClient(everything.mcp_url) as client:
        assert client.call("kb_status")["version"] == "3.0.0"


def test_no_key_shows_among_the_processes(model_folder: Path, tmp_path: Path) -> None:
    """M2."""
    settings = {"KB_API_KEY": "secret-of-the-engine", "KB_MCP_API_KEY": "secret-of-agents"}
    program = EngineProgram(tmp_path, settings)
    program.start()
    try:
        with RawClient(program.mcp_url, headers={"Authorization": "Bearer secret-of-agents"}) as client:
            assert client.call("kb_status")["version"] == "3.0.0"
        shown = mcp_process_of(program).cmdline()
    finally:
        program.stop()

    assert not any("secret" in part for part in shown)
    assert "secret" not in program.log.read_text()


def test_a_port_that_is_taken_is_told_plainly_before_anything_starts(tmp_path: Path) -> None:
    """E29."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        alone = run_kb(tmp_path, "mcp", "--port", port)
        together = run_kb(tmp_path, "up", "--port", "0", "--mcp-port", port, "--data-dir", str(tmp_path / "data"))

    assert "Waiting" in together.stderr
    for ended in (alone, together):
        assert ended.returncode == 1
        assert f"port {port}" in ended.stderr
        assert "KB_MCP_PORT" in ended.stderr
        assert "Traceback" not in ended.stderr


def test_ctrl_c_ends_it_without_a_word(tmp_path: Path) -> None:
    with McpProgram(tmp_path, "http://127.0.0.1:9") as program:
        program.process.send_signal(signal.SIGINT)

        assert program.process.wait(WITHIN_SECONDS) == 0
    assert "Traceback" not in program.log.read_text()


def test_the_first_line_of_the_log_names_version_address_and_engine(tmp_path: Path) -> None:
    """E29."""
    with McpProgram(tmp_path, "http://engine:8000") as program:
        first = program.log.read_text().splitlines()[0]

    assert f"kb mcp 3.0.0 on {program.url}/mcp, engine at http://engine:8000" in first


def test_a_folder_for_uploads_that_others_can_enter_is_refused_with_the_reason(tmp_path: Path) -> None:
    open_to_all = tmp_path / f"kb-mcp-{os.getuid()}"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)

    ended = subprocess.run(
        kb_command("mcp", "--port", "0"),
        env={**own_environment(tmp_path), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=WITHIN_SECONDS,
    )

    assert ended.returncode == 1
    assert str(open_to_all) in ended.stderr
    assert "Traceback" not in ended.stderr


def test_health_is_told_while_the_engine_is_not_there(tmp_path: Path) -> None:
    """M2, M3."""
    with McpProgram(tmp_path, "http://127.0.0.1:9") as program:
        assert httpx.get(f"{program.url}/health", trust_env=False).json()["status"] == "ok"
