"""The command `connect`."""

import re
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.connecting.known import Name
from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.options import Yes

if TYPE_CHECKING:
    from kb.cli.connecting.known import Client, Json, McpServer

ANSWER_WITHIN_SECONDS = 2.0
# The MCP server sends this in `WWW-Authenticate` with every 401, and a proxy passes it on.
REALM = 'realm="kb"'


def complete_clients(incomplete: str) -> list[str]:
    return [name for name in Name if name.startswith(incomplete)]


def connect(
    client: Annotated[
        str | None,
        typer.Argument(metavar="CLIENT", help=f"{', '.join(Name)}.", autocompletion=complete_clients),
    ] = None,
    *,
    write: Annotated[bool, typer.Option("--write", help="Write it into the client's own file.")] = False,
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="What the client shall call the server.")] = "kb",
    url: Annotated[
        str | None, typer.Option("--url", metavar="URL", help="Where the MCP server is, with its path.")
    ] = None,
    readonly: Annotated[
        bool, typer.Option("--readonly", help="Give it the key that can only read (KB_MCP_API_KEY_READONLY).")
    ] = False,
    show_key: Annotated[bool, typer.Option("--show-key", help="Print the key instead of a placeholder.")] = False,
    yes: Yes = False,
) -> None:
    """Connect an AI client to the MCP server.

    $ kb connect
    $ kb connect claude-code
    $ kb connect cursor --write
    $ kb connect vscode --url https://kb.example/mcp --readonly

    Prints what the client must be told; --write puts it into the client's own file, where everything else stays as it
    is. Without a client it shows which are known, and where each keeps its configuration.
    """
    from kb.cli.render.connecting import show_clients, unknown_client

    if client is None:
        show_clients()
        return
    if client not in set(Name):
        end_with(unknown_client(client), Exit.USAGE)
    server, key = _describe_server(name, url, readonly=readonly)
    _warn_unless_it_answers(server, key)
    if write:
        _write(Name(client), server, key, yes=yes)
    else:
        _print(Name(client), server, key if show_key else None)


def _describe_server(name: str, url: str | None, *, readonly: bool) -> "tuple[McpServer, str]":
    """And the key to it; empty if it is open."""
    from kb.cli.connecting.known import McpServer
    from kb.cli.probing import address_at
    from kb.cli.render import connecting as words
    from kb.settings import SettingsError, load_mcp_settings, present_key

    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{0,63}", name):
        end_with(words.BAD_NAME, Exit.USAGE)
    if url is not None and not _is_address(url):
        end_with(words.BAD_URL, Exit.USAGE)
    try:
        settings = load_mcp_settings()
    except SettingsError as error:
        end_with(str(error), Exit.FAILED)
    variable = "KB_MCP_API_KEY_READONLY" if readonly else "KB_MCP_API_KEY"
    key = present_key(settings.mcp_api_key_readonly if readonly else settings.mcp_api_key)
    if readonly and not key:
        end_with(words.NO_READONLY_KEY, Exit.FAILED)
    url = url or f"{address_at(settings.mcp_host, settings.mcp_port)}/mcp"
    return McpServer(name, url, variable, needs_key=bool(key)), key


def _is_address(url: str) -> bool:
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url)
        # Clients send no request to an address with a user in it.
        is_complete = parts.hostname and parts.port != 0 and "@" not in parts.netloc
    except ValueError:
        return False
    return bool(is_complete and re.fullmatch(r"https?://[!-~]+", url))


def _warn_unless_it_answers(server: "McpServer", key: str) -> None:
    from kb.cli.probing import NoAnswer, ask
    from kb.cli.render.connecting import not_an_mcp_server, server_is_unreachable, wants_another_key
    from kb.cli.render.terminal import complain

    try:
        answer = ask(server.url, within_seconds=ANSWER_WITHIN_SECONDS, reads_body=False)
        is_stranger = bool(key) and answer.status == 401 and REALM not in answer.challenge
        # The key is sent only to a server that asks for one as kb does.
        if key and answer.status == 401 and not is_stranger:
            answer = ask(server.url, key, within_seconds=ANSWER_WITHIN_SECONDS, reads_body=False)
    except NoAnswer:
        complain(server_is_unreachable(server.url))
        return
    if is_stranger or answer.status == 404:
        complain(not_an_mcp_server(server.url))
    elif answer.status in (401, 403):
        complain(wants_another_key(server))


def _print(name: Name, server: "McpServer", key: str | None) -> None:
    from kb.cli.connecting.known import CLIENTS, build_configuration
    from kb.cli.render.connecting import show_command, show_configuration

    client = CLIENTS[name]
    if name is Name.CLAUDE_CODE:
        show_command(server, key)
    else:
        show_configuration(client, server, build_configuration(client, server, key), has_key=key is not None)


def _write(name: Name, server: "McpServer", key: str, *, yes: bool) -> None:
    from datetime import UTC, datetime

    from kb.cli.connecting.files import NotOurs, merge, read_configuration, write_configuration
    from kb.cli.connecting.known import CLIENTS, build_configuration
    from kb.cli.render.connecting import already_there, cannot_be_changed, left_alone, show_written
    from kb.cli.render.terminal import complain

    client = CLIENTS[name]
    new = build_configuration(client, server, key if client.needs_key_in_file else None)
    try:
        _ask_before_replacing(client, server, new, yes=yes)
        # Only now: while the user thought about it, the client may have written its file.
        old, content = read_configuration(client.file)
        merged = merge(old, new)
        if merged == old:
            complain(already_there(client, server))
        else:
            show_written(client, server, write_configuration(client.file, merged, content, datetime.now(UTC)))
    except NotOurs as error:
        end_with(left_alone(client, error), Exit.REFUSED)
    except OSError as error:
        end_with(cannot_be_changed(client, error), Exit.FAILED)


def _ask_before_replacing(client: "Client", server: "McpServer", new: "Json", *, yes: bool) -> None:
    """Ends the command if the file has another server of that name, which is to stay."""
    from kb.cli.confirming import require_consent
    from kb.cli.connecting.files import merge, read_configuration
    from kb.cli.render import connecting as words

    old, _ = read_configuration(client.file)
    wanted = merge(old, new)[client.servers][server.name]
    present = old.get(client.servers, {}).get(server.name)
    if present not in (None, wanted):
        require_consent(
            words.question_before_replacing(client, server, present),
            yes=yes,
            refusal=words.NOTHING_CHANGED,
            nobody_to_ask=words.nobody_to_ask(client, server),
        )
