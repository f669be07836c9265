"""The MCP server as a process: alone, and as the child of `kb up`."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import pytest
from tests.amounts import IS_FULL
from tests.engine_program import EngineProgram, run_kb
from tests.mcp_clients import RawClient
from tests.mcp_program import McpProgram

from kb.listening import CannotStart, listen

WITHIN_SECONDS = 30


@pytest.fixture(scope="module")
def everything(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """A `kb up` with both keys, to be killed; whoever does so starts it again."""
    settings = {"KB_API_KEY": "secret-of-the-engine", "KB_MCP_API_KEY": "secret-of-agents"}
    with EngineProgram(tmp_path_factory.mktemp("everything"), settings).running() as program:
        yield program


@pytest.fixture
def client(everything: EngineProgram) -> Iterator[RawClient]:
    """On a connection of its own each time."""
    headers = {"Authorization": "Bearer secret-of-agents", "Connection": "close"}
    with RawClient(everything.mcp_url, headers=headers) as client:
        yield client


def mcp_process_of(program: EngineProgram) -> psutil.Process:
    children = psutil.Process(program.process.pid).children()
    return next(child for child in children if "kb.mcp.mcp_process" in child.cmdline())


def test_a_killed_mcp_server_is_started_again_while_its_callers_wait(
    everything: EngineProgram, client: RawClient
) -> None:
    """M4."""
    before = mcp_process_of(everything)
    assert client.call("kb_status")["version"] == "3.0.0"

    before.kill()
    before.wait(WITHIN_SECONDS)

    assert client.call("kb_status")["version"] == "3.0.0"
    assert mcp_process_of(everything).pid != before.pid


def test_kb_up_that_was_killed_can_be_started_again_at_once_on_the_same_ports(
    everything: EngineProgram, client: RawClient
) -> None:
    """E24: and its MCP server has not outlived it."""
    urls = (everything.url, everything.mcp_url)
    mcp = mcp_process_of(everything)
    # It cannot notice yet that it is alone, and holds its port.
    mcp.suspend()
    everything.kill()
    threading.Timer(1, mcp.resume).start()

    everything.start()

    mcp.wait(WITHIN_SECONDS)
    assert (everything.url, everything.mcp_url) == urls
    assert client.call("kb_status")["version"] == "3.0.0"


def test_no_key_shows_among_the_processes_nor_in_the_log(everything: EngineProgram, client: RawClient) -> None:
    """M2."""
    assert client.call("kb_status")["version"] == "3.0.0"

    assert not any("secret" in part for part in mcp_process_of(everything).cmdline())
    assert "secret" not in everything.log.read_text()


# `kb up` waits ten seconds before it gives up.
@pytest.mark.parametrize("command", [["mcp"], *([["up", "--port", "0"]] if IS_FULL else [])], ids=" ".join)
def test_a_port_that_is_taken_is_told_plainly_before_anything_starts(tmp_path: Path, command: list[str]) -> None:
    """E29."""
    settings = {"KB_DATA_DIR": str(tmp_path / "data")}
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ended = run_kb(tmp_path, *command, settings={**settings, "KB_MCP_PORT": port})

    assert ended.returncode == 1
    assert f"port {port}" in ended.stderr
    assert "KB_MCP_PORT" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert ("Waiting" in ended.stderr) == ("up" in command)


def test_whoever_waits_for_a_port_says_so_once_and_gives_up_in_the_end() -> None:
    """E24, E29."""
    waits: list[str] = []

    with socket.create_server(("127.0.0.1", 0)) as taken:
        host, port = taken.getsockname()
        with pytest.raises(CannotStart, match="KB_MCP_PORT"):
            listen(host, port, "KB_MCP_PORT", patience_seconds=0.3, on_wait=lambda: waits.append("Waiting"))

    assert waits == ["Waiting"]


def test_ctrl_c_ends_it_without_a_word(tmp_path: Path) -> None:
    with McpProgram(tmp_path, "http://127.0.0.1:9") as program:
        program.process.send_signal(signal.SIGINT)

        assert program.process.wait(WITHIN_SECONDS) == 0
    assert "Traceback" not in program.log.read_text()


def test_the_first_line_of_the_log_names_version_address_and_engine(program_alone: McpProgram) -> None:
    """E29."""
    first = program_alone.log.read_text().splitlines()[0]

    assert f"kb mcp 3.0.0 on {program_alone.url}/mcp, engine at http://127.0.0.1:9" in first


def test_a_folder_for_uploads_that_others_can_enter_is_refused_with_the_reason(tmp_path: Path) -> None:
    open_to_all = tmp_path / f"kb-mcp-{os.getuid()}"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)

    ended = run_kb(tmp_path, "mcp", "--port", "0", settings={"TMPDIR": str(tmp_path)})

    assert ended.returncode == 1
    assert str(open_to_all) in ended.stderr
    assert "Traceback" not in ended.stderr


def test_health_is_told_while_the_engine_is_not_there(program_alone: McpProgram) -> None:
    """M2, M3."""
    assert httpx.get(f"{program_alone.url}/health", trust_env=False, timeout=60).json()["status"] == "ok"
