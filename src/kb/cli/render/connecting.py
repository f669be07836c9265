"""What is told of AI clients and how to connect them."""

import difflib
import json
import re
import shlex
from pathlib import Path

from rich.text import Text

from kb.cli.connecting.known import CLIENTS, PLACEHOLDER, Client, Json, McpServer
from kb.cli.render.tables import print_row
from kb.cli.render.terminal import complain, one_line, open_console

BAD_NAME = "A server's name is a letter and then letters, digits, `-` and `_`, 64 at most."
BAD_URL = (
    "The URL must begin with http:// or https:// and have no spaces and no user, http://127.0.0.1:3000/mcp for example."
)
NO_READONLY_KEY = (
    "KB_MCP_API_KEY_READONLY is not set, so there is no key that can only read. Set it, here and where the MCP server "
    "runs, and start that again."
)
NOTHING_CHANGED = "Nothing was changed."
# An option, an address, the name of a program that stands between, or where a key is found.
_HARMLESS = re.compile(r"--?[\w-]*|https?://[^@?#]*|mcp-remote|(Authorization: ?)?(Bearer )?\$\{[^{}]*\}")


def unknown_client(given: str) -> str:
    nearest = difflib.get_close_matches(given.lower(), list(CLIENTS), n=1)
    advice = f"Did you mean {nearest[0]}?" if nearest else f"Known are {', '.join(CLIENTS)}."
    return f"There is no client {given}. {advice}"


def server_is_unreachable(url: str) -> str:
    return f"No MCP server answers at {url}. Start it with `kb up`, or name another address with --url."


def wants_another_key(server: McpServer) -> str:
    how = "another key" if server.needs_key else "a key"
    return (
        f"The MCP server at {server.url} wants {how}. Set {server.key_variable} as it is set there, and do this again."
    )


def not_an_mcp_server(url: str) -> str:
    return f"The program at {url} is not kb's MCP server. The address of kb's MCP server ends in /mcp."


def show_clients() -> None:
    """In a pipe: the name and the file, between tabs."""
    console = open_console()
    names = max(map(len, CLIENTS))
    titles = max(len(client.title) for client in CLIENTS.values())
    for name, client in CLIENTS.items():
        if console.is_terminal:
            line = Text.assemble((f"{name:<{names}}", "bold"), f"  {client.title:<{titles}}  ", str(client.file))
            console.print(line.append("" if client.file.exists() else "  (not there yet)", "dim"))
        else:
            print_row(name, client.file)
    complain("`kb connect NAME` shows what to tell one of them; --write puts it into its file.")


def show_command(server: McpServer, key: str | None) -> None:
    print(render_command(server, key))
    complain("Run this command; or do it here, with --write.")
    if server.needs_key and not key:
        complain(where_the_command_has_its_key(server))


def render_command(server: McpServer, key: str | None) -> str:
    """What makes Claude Code know the server."""
    words = ["claude", "mcp", "add", "--scope", "user", "--transport", "http", server.name, server.url]
    command = shlex.join(words)
    if server.needs_key:
        # Without the key itself, the shell puts it in when the command is run.
        header = f"Authorization: Bearer {key}"
        command += f" --header {shlex.quote(header) if key else _header_with_variable(server)}"
    return command


def where_the_command_has_its_key(server: McpServer) -> str:
    return f"The shell takes the key from the variable {server.key_variable}: export it before."


def _header_with_variable(server: McpServer) -> str:
    return f'"Authorization: Bearer ${server.key_variable}"'


def show_configuration(client: Client, server: McpServer, configuration: Json, *, has_key: bool) -> None:
    print(render_configuration(configuration))
    complain(f"This belongs into {client.file}, beside what is there; --write puts it in.")
    if not server.needs_key or has_key:
        return
    if client.needs_key_in_file:
        complain(f"{where_the_key_goes(client, server)} --show-key prints it there.")
    else:
        complain(where_the_key_goes(client, server))


def render_configuration(configuration: Json) -> str:
    return json.dumps(configuration, indent=2, ensure_ascii=False)


def where_the_key_goes(client: Client, server: McpServer) -> str:
    if client.needs_key_in_file:
        return f"Put the key ({server.key_variable}) in the place of {PLACEHOLDER}."
    if client.asks_for_inputs:
        return f"{client.title} will ask for the key ({server.key_variable}) once, and keep it."
    return f"{client.title} takes the key from the variable {server.key_variable}: set it where that is started."


def show_written(client: Client, server: McpServer, backup: Path | None) -> None:
    open_console().print(one_line(f"Wrote the server {server.name} into {client.file}"))
    if backup is not None:
        complain(f"The old file is kept as {backup}.")
    if server.needs_key and client.needs_key_in_file:
        complain("The key is in it; only you can read the file.")
    elif server.needs_key:
        complain(where_the_key_goes(client, server))
    complain(f"Start {client.title} again, or have it read its servers anew.")


def already_there(client: Client, server: McpServer) -> str:
    return f"The server {server.name} stands in {client.file} already, just so."


def left_alone(client: Client, why: Exception) -> str:
    return f"{client.file} was left alone: {why}. Put in by hand what the same command prints without --write."


def cannot_be_changed(client: Client, error: OSError) -> str:
    return f"{client.file} cannot be read or written: {error.strerror}. Put in by hand what is printed without --write."


def question_before_replacing(client: Client, server: McpServer, present: object) -> str:
    shown = one_line(json.dumps(_without_secrets(present), ensure_ascii=False))
    return f"{client.file} has another server {server.name}:\n  {shown}\nReplace it?"


def nobody_to_ask(client: Client, server: McpServer) -> str:
    return (
        f"{client.file} has another server {server.name}, and there is no terminal to ask on. Add --yes to replace it, "
        "or give yours another --name."
    )


def _without_secrets(entry: object, name: str = "") -> object:
    """Of an entry, which anybody may have written, only what can hardly be a key."""
    if isinstance(entry, dict):
        return {name: _without_secrets(value, name) for name, value in entry.items()}
    if isinstance(entry, list):
        return [_without_secrets(one) for one in entry]
    is_shown = name in ("type", "command") or _HARMLESS.fullmatch(str(entry))
    return entry if is_shown else "***"
