import json
import shlex
from pathlib import Path

import pytest
from tests.cli.conftest import Kb, Pretend
from tests.cli.terminal import OnTerminal
from tests.engine_program import EngineProgram, own_environment
from typer.testing import Result

KEY = "hidden-key"
CLIENTS = ["claude-desktop", "claude-code", "vscode", "cursor", "amazon-q", "gemini-cli", "opencode"]


@pytest.fixture
def connect(kb: Kb, running_engine: EngineProgram, tmp_path: Path) -> Kb:
    """`kb connect` for a user whose home is the temporary folder, to the server that runs."""

    def run(*arguments: str, **settings: str) -> Result:
        return kb("connect", *arguments, HOME=str(tmp_path), **{**running_engine.client_settings, **settings})

    return run


def test_without_a_client_those_that_are_known_are_listed_with_their_files(connect: Kb, tmp_path: Path) -> None:
    result = connect()

    rows = dict(line.split("\t") for line in result.stdout.splitlines())
    assert list(rows) == CLIENTS
    assert rows["cursor"] == str(tmp_path / ".cursor" / "mcp.json")


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_printed_is_what_the_client_is_to_be_told(
    connect: Kb, running_engine: EngineProgram, client: str
) -> None:
    """C1"""
    result = connect(client)

    assert result.exit_code == 0
    assert f"{running_engine.mcp_url}/mcp" in result.stdout
    assert "No MCP server" not in result.stderr
    if client == "claude-code":
        assert shlex.split(result.stdout)[:3] == ["claude", "mcp", "add"]
    else:
        (servers, *_) = json.loads(result.stdout).values()
        assert list(servers) == ["kb"]


@pytest.mark.parametrize("client", CLIENTS)
def test_the_key_is_printed_only_when_that_is_asked_for(connect: Kb, client: str) -> None:
    assert KEY not in connect(client, KB_MCP_API_KEY=KEY).output
    assert KEY in connect(client, "--show-key", KB_MCP_API_KEY=KEY).stdout


def test_the_key_that_can_only_read_is_another_variable(connect: Kb) -> None:
    keys = {"KB_MCP_API_KEY": KEY, "KB_MCP_API_KEY_READONLY": "hidden-reader"}

    assert "${env:KB_MCP_API_KEY_READONLY}" in connect("cursor", "--readonly", **keys).stdout
    assert "hidden-reader" in connect("cursor", "--readonly", "--show-key", **keys).stdout


def test_without_a_key_that_can_only_read_there_is_nothing_to_give(connect: Kb) -> None:
    result = connect("cursor", "--readonly")

    assert result.exit_code == 1
    assert "KB_MCP_API_KEY_READONLY" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ["curser"],
        ["cursor", "--name", "my kb"],
        *(
            ["cursor", "--url", url]
            for url in ("ftp://x", "http://a b", "http://[::1/mcp", "http://a:x", "http://a:b@c")
        ),
    ],
)
def test_what_cannot_be_meant_is_exit_code_2(connect: Kb, arguments: list[str]) -> None:
    """C3"""
    result = connect(*arguments)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr


def test_a_misspelt_client_is_told_with_the_nearest(connect: Kb) -> None:
    assert "Did you mean cursor?" in connect("curser").stderr


def test_a_server_that_does_not_answer_is_a_warning(connect: Kb) -> None:
    result = connect("cursor", "--url", "http://127.0.0.1:1/mcp")

    assert result.exit_code == 0
    assert "No MCP server answers at http://127.0.0.1:1/mcp" in result.stderr
    assert json.loads(result.stdout)["mcpServers"]["kb"]["url"] == "http://127.0.0.1:1/mcp"


@pytest.mark.parametrize(("status", "told"), [(401, "wants a key"), (404, "not kb's MCP server")])
def test_a_server_that_refuses_is_a_warning(connect: Kb, pretend: Pretend, status: int, told: str) -> None:
    result = connect("cursor", "--url", f"{pretend(status, b'{}')}/mcp")

    assert result.exit_code == 0
    assert told in result.stderr


def test_write_puts_it_beside_what_is_there(connect: Kb, tmp_path: Path) -> None:
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"theme": "dark", "mcpServers": {"other": {"command": "x"}}}')

    result = connect("cursor", "--write")

    written = json.loads(file.read_text())
    assert result.exit_code == 0
    assert str(file) in result.stdout
    assert list(written) == ["theme", "mcpServers"]
    assert list(written["mcpServers"]) == ["other", "kb"]
    assert len(list(file.parent.glob("mcp.json.*.backup"))) == 1
    assert file.stat().st_mode & 0o777 == 0o600


def test_write_a_second_time_changes_nothing(connect: Kb, tmp_path: Path) -> None:
    connect("cursor", "--write")
    before = (tmp_path / ".cursor" / "mcp.json").stat()

    result = connect("cursor", "--write")

    assert result.exit_code == 0
    assert "already" in result.stderr
    assert (tmp_path / ".cursor" / "mcp.json").stat() == before


@pytest.mark.parametrize(("client", "is_in_file"), [("claude-desktop", True), ("claude-code", True), ("cursor", False)])
def test_the_key_is_written_only_where_the_client_cannot_find_it_itself(
    connect: Kb, tmp_path: Path, client: str, *, is_in_file: bool
) -> None:
    result = connect(client, "--write", KB_MCP_API_KEY=KEY)

    (file,) = [path for path in tmp_path.rglob("*.json") if path.is_file()]
    assert (KEY in file.read_text()) == is_in_file
    assert ("The key is in it" in result.stderr) == is_in_file
    assert KEY not in result.output


def test_a_file_with_comments_is_left_alone(connect: Kb, tmp_path: Path) -> None:
    """C3"""
    file = tmp_path / "Code" / "User" / "mcp.json"
    file.parent.mkdir(parents=True)
    file.write_text('{\n  // mine\n  "servers": {}\n}')

    result = connect("vscode", "--write")

    assert result.exit_code == 4
    assert "left alone" in result.stderr
    assert file.read_text() == '{\n  // mine\n  "servers": {}\n}'
    assert list(file.parent.iterdir()) == [file]


def test_what_the_client_writes_while_the_user_is_asked_is_kept(running_engine: EngineProgram, tmp_path: Path) -> None:
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    file.write_text('{"mcpServers": {"kb": {"url": "http://elsewhere/mcp"}}}')
    environment = own_environment(tmp_path, {"HOME": str(tmp_path), "KB_ENGINE_URL": running_engine.url})

    with OnTerminal("connect", "cursor", "--write", environment=environment) as terminal:
        terminal.wait_for("Replace it? [y/N]")
        file.write_text('{"mcpServers": {"kb": {"url": "http://elsewhere/mcp"}}, "late": 1}')
        terminal.type("y\n")
        assert terminal.wait() == 0

    assert json.loads(file.read_text())["late"] == 1


def test_another_server_of_that_name_is_not_replaced_without_being_asked(connect: Kb, tmp_path: Path) -> None:
    """C5"""
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    old = '{"mcpServers": {"kb": {"url": "http://elsewhere/mcp"}}}'
    file.write_text(old)

    refused = connect("cursor", "--write")

    assert refused.exit_code == 4
    assert "--yes" in refused.stderr
    assert file.read_text() == old
    assert connect("cursor", "--write", "--yes").exit_code == 0
    assert "elsewhere" not in file.read_text()


def test_on_a_terminal_the_other_server_is_shown_without_its_key(running_engine: EngineProgram, tmp_path: Path) -> None:
    """C5"""
    file = tmp_path / ".cursor" / "mcp.json"
    file.parent.mkdir()
    other = {
        "url": f"http://elsewhere/mcp?key={KEY}",
        "headers": {"Authorization": KEY, "X-Key": f"{KEY}${{env:X}}"},
        "args": [
            "-y",
            "mcp-remote",
            "http://elsewhere/mcp",
            "--header",
            f"Authorization: Bearer {KEY}",
            f"--key={KEY}",
        ],
        "odd": [{"nested": KEY}],
    }
    old = json.dumps({"mcpServers": {"kb": other}})
    file.write_text(old)
    environment = own_environment(tmp_path, {"HOME": str(tmp_path), "KB_ENGINE_URL": running_engine.url})

    with OnTerminal("connect", "cursor", "--write", environment=environment) as terminal:
        terminal.wait_for("Replace it? [y/N]")
        terminal.type("n\n")
        assert terminal.wait() == 4

    assert "http://elsewhere/mcp" in terminal.output
    assert KEY not in terminal.output
    assert file.read_text() == old


def test_a_folder_that_cannot_be_written_is_a_sentence(connect: Kb, tmp_path: Path) -> None:
    (tmp_path / ".cursor").write_text("in the way")

    result = connect("cursor", "--write")

    assert result.exit_code == 1
    assert "by hand" in result.stderr
