"""What AI clients are told, and how their files are changed."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.cli.connecting.files import NotOurs, merge, read_configuration, write_configuration
from kb.cli.connecting.known import CLIENTS, PLACEHOLDER, Client, McpServer, Name, build_configuration
from kb.settings import config_home

NOW = datetime(2026, 7, 31, 12, 0, 0, tzinfo=UTC)
OPEN = McpServer("kb", "http://127.0.0.1:3000/mcp", "KB_MCP_API_KEY", needs_key=False)
LOCKED = McpServer("kb", "http://127.0.0.1:3000/mcp", "KB_MCP_API_KEY", needs_key=True)
NOT_PLAIN = [
    '{"mcpServers": {}, // mine\n}',
    '{"mcpServers": {"twice": 1, "twice": 2}}',
    '{"half a character": "\\ud800"}',
    '{"no end": 1e999}',
    '{"deep": ' + "[" * 100_000,
]
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_no_key_is_told_where_none_was_given(client: Client) -> None:
    told = json.dumps(build_configuration(client, LOCKED, None))

    references = ("${env:KB_MCP_API_KEY}", "$KB_MCP_API_KEY", "{env:KB_MCP_API_KEY}", "${input:kb-key}", PLACEHOLDER)
    assert any(f"Bearer {reference}" in told for reference in references)


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_an_open_server_needs_no_header(client: Client) -> None:
    told = json.dumps(build_configuration(client, OPEN, None))

    assert "Authorization" not in told
    assert OPEN.url in told


def test_claude_desktop_starts_a_program_that_gets_the_header_by_a_variable() -> None:
    entry = build_configuration(CLIENTS[Name.CLAUDE_DESKTOP], LOCKED, "secret")["mcpServers"]["kb"]

    assert entry["command"] == "npx"
    assert entry["args"][:3] == ["-y", "mcp-remote", LOCKED.url]
    assert "--allow-http" in entry["args"]
    assert entry["env"] == {"KB_MCP_AUTHORIZATION": "Bearer secret"}
    assert "secret" not in json.dumps(entry["args"])


def test_encrypted_connections_are_not_allowed_to_be_plain() -> None:
    server = McpServer("kb", "https://kb.example/mcp", "KB_MCP_API_KEY", needs_key=False)
    entry = build_configuration(CLIENTS[Name.CLAUDE_DESKTOP], server, None)["mcpServers"]["kb"]

    assert "--allow-http" not in entry["args"]


def test_gemini_and_opencode_are_told_as_their_own_commands_would_write_it() -> None:
    gemini, opencode = (build_configuration(CLIENTS[name], LOCKED, None) for name in (Name.GEMINI_CLI, Name.OPENCODE))

    by_http = {"type": "http", "url": LOCKED.url, "headers": {"Authorization": "Bearer $KB_MCP_API_KEY"}}
    remote = {"type": "remote", "url": LOCKED.url, "headers": {"Authorization": "Bearer {env:KB_MCP_API_KEY}"}}
    assert gemini == {"mcpServers": {"kb": by_http}}
    assert opencode == {"mcp": {"kb": remote}}


def test_vs_code_asks_for_the_key_itself() -> None:
    configuration = build_configuration(CLIENTS[Name.VSCODE], LOCKED, None)

    assert configuration["servers"]["kb"]["headers"] == {"Authorization": "Bearer ${input:kb-key}"}
    assert configuration["inputs"][0]["id"] == "kb-key"
    assert configuration["inputs"][0]["password"] is True


@pytest.mark.parametrize(
    ("platform", "place"),
    [("darwin", "Library/Application Support"), ("linux", ".config"), ("win32", "AppData/Roaming")],
)
def test_programs_with_a_window_keep_their_files_where_the_platform_wants_it(platform: str, place: str) -> None:
    assert config_home({}, platform) == Path.home() / place


@given(st.dictionaries(st.text(), json_values), st.dictionaries(st.text(), json_values))
def test_everything_else_in_a_file_stays_and_stays_in_its_order(
    others: dict[str, Any], servers: dict[str, Any]
) -> None:
    old = {**others, "mcpServers": servers}
    new = build_configuration(CLIENTS[Name.CURSOR], OPEN, None)

    merged = merge(old, new)

    assert {**merged, "mcpServers": None} == {**old, "mcpServers": None}
    assert list(merged) == list(old)
    assert {name: one for name, one in merged["mcpServers"].items() if name != "kb"} == {
        name: one for name, one in servers.items() if name != "kb"
    }
    assert [name for name in merged["mcpServers"] if name in servers] == list(servers)
    assert merge(merged, new) == merged


def test_another_input_of_vs_code_stays() -> None:
    new = build_configuration(CLIENTS[Name.VSCODE], LOCKED, None)

    merged = merge({"inputs": [{"id": "other"}, {"id": "kb-key", "type": "old"}]}, new)

    assert [one["id"] for one in merged["inputs"]] == ["other", "kb-key"]
    assert merged["inputs"][1] == new["inputs"][0]


@pytest.mark.parametrize("text", [*NOT_PLAIN, "[]", '"text"', "{", "\xff"])
def test_a_file_that_is_no_plain_object_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "mcp.json").write_bytes(text.encode("latin-1"))

    with pytest.raises(NotOurs):
        read_configuration(tmp_path / "mcp.json")


@pytest.mark.parametrize("content", [b"", b" \n", b"\xef\xbb\xbf", b"\xef\xbb\xbf{}"])
def test_a_file_that_holds_nothing_yet_can_be_written(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "mcp.json").write_bytes(content)

    assert read_configuration(tmp_path / "mcp.json") == ({}, content)


@pytest.mark.parametrize("servers", [[], "text", None, 7])
def test_servers_that_are_no_object_are_refused(servers: object) -> None:
    with pytest.raises(NotOurs):
        merge({"mcpServers": servers}, build_configuration(CLIENTS[Name.CURSOR], OPEN, None))


def test_the_old_file_is_kept_and_only_the_user_can_read_either(tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    old = b'\xef\xbb\xbf{\r\n\t"mine": 1\r\n}'
    file.write_bytes(old)
    file.chmod(0o644)

    backup = write_configuration(file, {"mine": 1, "mcpServers": {}}, old, NOW)

    assert backup == tmp_path / "mcp.json.20260731-120000-000000.backup"
    assert backup.read_bytes() == old
    assert file.read_text() == '{\n\t"mine": 1,\n\t"mcpServers": {}\n}\n'
    assert {path.stat().st_mode & 0o777 for path in (file, backup)} == {0o600}
    assert sorted(tmp_path.iterdir()) == [file, backup]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "mcp.json").symlink_to(tmp_path / "dotfiles" / "mcp.json")

    write_configuration(tmp_path / "mcp.json", {"mcpServers": {}}, b"", NOW)

    assert (tmp_path / "mcp.json").is_symlink()
    assert json.loads((tmp_path / "dotfiles" / "mcp.json").read_text()) == {"mcpServers": {}}
