"""What the web page tells of AI clients: the words of `kb connect`, with an address that it replaces by its own."""

import json
from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any

from kb.cli.connecting.known import CLIENTS, Client, McpServer, Name, build_configuration
from kb.cli.render.connecting import (
    render_command,
    render_configuration,
    where_the_command_has_its_key,
    where_the_key_goes,
)
from kb.settings import config_home, home_dir

ADDRESS = "ADDRESS"
SYSTEMS: tuple[tuple[str, str, PurePath], ...] = (
    ("Linux", "linux", PurePosixPath("~")),
    ("macOS", "darwin", PurePosixPath("~")),
    ("Windows", "win32", PureWindowsPath("%USERPROFILE%")),
)


def render_clients() -> str:
    clients = [_describe(name, client) for name, client in CLIENTS.items()]
    return json.dumps({"made_by": "make docs", "clients": clients}, indent=1, ensure_ascii=False) + "\n"


def _describe(name: Name, client: Client) -> dict[str, Any]:
    is_command = name is Name.CLAUDE_CODE
    told = {
        scheme: {case: _tell(name, client, _server(scheme, case)) for case in ("open", "keyed")}
        for scheme in ("http", "https")
    }
    keyed = _server("http", "keyed")
    return {
        "name": name,
        "title": client.title,
        "is_command": is_command,
        "files": {system: str(_place(client, platform, home)) for system, platform, home in SYSTEMS},
        "told": told,
        "about_key": where_the_command_has_its_key(keyed) if is_command else where_the_key_goes(client, keyed),
    }


def _server(scheme: str, case: str) -> McpServer:
    return McpServer("kb", f"{scheme}://{ADDRESS}", "KB_MCP_API_KEY", needs_key=case == "keyed")


def _tell(name: Name, client: Client, server: McpServer) -> str:
    if name is Name.CLAUDE_CODE:
        return render_command(server, None)
    return render_configuration(build_configuration(client, server, None))


def _place(client: Client, platform: str, home: PurePath) -> PurePath:
    if not client.place.startswith("@"):
        return home / client.place
    return home / config_home({}, platform).relative_to(home_dir()) / client.place[1:]
