"""The AI clients that `kb connect` knows: one entry each.

All speak MCP over HTTP but Claude Desktop, which starts programs and speaks to their standard input: there `mcp-remote`
stands between. Where a client can take the key from its own environment, or asks for it and keeps it, no file holds it.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]  # Any: the file of another program

PLACEHOLDER = "THE-KEY"
# Headers with a space in them do not survive the way some clients start programs: so this one comes by a variable.
_HEADER_VARIABLE = "KB_MCP_AUTHORIZATION"


class Name(StrEnum):
    CLAUDE_DESKTOP = "claude-desktop"
    CLAUDE_CODE = "claude-code"
    VSCODE = "vscode"
    CURSOR = "cursor"
    AMAZON_Q = "amazon-q"
    GEMINI_CLI = "gemini-cli"
    OPENCODE = "opencode"


class Transport(StrEnum):
    HTTP = "http"
    UNTYPED_HTTP = "untyped http"
    REMOTE = "remote"
    PROGRAM = "program"


@dataclass(frozen=True)
class Client:
    title: str
    place: str
    """Of its file, below the user's home or, with a leading `@`, below where programs keep their configuration."""
    transport: Transport = Transport.HTTP
    servers: str = "mcpServers"
    variable_reference: str = ""
    """In whose place it puts the value of the variable `NAME`; empty if it has no such thing."""
    asks_for_inputs: bool = False
    """Whether it asks the user for what stands in its file as `${input:ID}`."""

    @property
    def file(self) -> Path:
        from kb.settings import config_home, home_dir

        return config_home() / self.place[1:] if self.place.startswith("@") else home_dir() / self.place

    @property
    def needs_key_in_file(self) -> bool:
        return not (self.variable_reference or self.asks_for_inputs)


CLIENTS = {
    Name.CLAUDE_DESKTOP: Client("Claude Desktop", "@Claude/claude_desktop_config.json", Transport.PROGRAM),
    Name.CLAUDE_CODE: Client("Claude Code", ".claude.json"),
    Name.VSCODE: Client("VS Code", "@Code/User/mcp.json", servers="servers", asks_for_inputs=True),
    Name.CURSOR: Client("Cursor", ".cursor/mcp.json", Transport.UNTYPED_HTTP, variable_reference="${env:NAME}"),
    Name.AMAZON_Q: Client("Amazon Q", ".aws/amazonq/mcp.json", variable_reference="${env:NAME}"),
    Name.GEMINI_CLI: Client("Gemini CLI", ".gemini/settings.json", variable_reference="$NAME"),
    # Its own command writes opencode.jsonc, which may have comments; it reads both.
    Name.OPENCODE: Client(
        "OpenCode", ".config/opencode/opencode.json", Transport.REMOTE, servers="mcp", variable_reference="{env:NAME}"
    ),
}


@dataclass(frozen=True)
class McpServer:
    """The server as a client is to know it."""

    name: str
    url: str
    key_variable: str
    needs_key: bool

    @property
    def input_id(self) -> str:
        return f"{self.name}-key"


def build_configuration(client: Client, server: McpServer, key: str | None) -> Json:
    """What the client's file must hold. Without a key, it says where the client finds it, or holds `PLACEHOLDER`."""
    authorization = None
    if server.needs_key:
        authorization = f"Bearer {key or _refer_to_key(client, server)}"
    configuration: Json = {client.servers: {server.name: _build_entry(client.transport, server.url, authorization)}}
    if authorization and client.asks_for_inputs and not key:
        asked = {"type": "promptString", "id": server.input_id, "description": "Key of the kb MCP server"}
        configuration["inputs"] = [{**asked, "password": True}]
    return configuration


def _refer_to_key(client: Client, server: McpServer) -> str:
    if client.asks_for_inputs:
        return f"${{input:{server.input_id}}}"
    return client.variable_reference.replace("NAME", server.key_variable) or PLACEHOLDER


def _build_entry(transport: Transport, url: str, authorization: str | None) -> Json:
    if transport is Transport.PROGRAM:
        arguments = ["-y", "mcp-remote", url, "--transport", "http-only"]
        arguments += ["--allow-http"] if url.startswith("http:") else []
        if authorization is None:
            return {"command": "npx", "args": arguments}
        arguments += ["--header", f"Authorization:${{{_HEADER_VARIABLE}}}"]
        return {"command": "npx", "args": arguments, "env": {_HEADER_VARIABLE: authorization}}
    entry: Json = {} if transport is Transport.UNTYPED_HTTP else {"type": transport.value}
    entry["url"] = url
    return entry if authorization is None else {**entry, "headers": {"Authorization": authorization}}
