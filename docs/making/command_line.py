"""The reference page of the command line: what `kb COMMAND --help` says, for every command."""

from collections.abc import Iterator
from typing import Any

import typer.main

from kb.cli.main import app

WIDTH = 100

_HEAD = """\
# Command line

<!-- Made by `make docs` from src/kb/cli: change it there. -->

Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 refused or conflict, 5 not authorised, 6 engine unreachable,
7 some job failed. Ctrl-C ends with 130.
"""


def render_command_line() -> str:
    return _HEAD + "".join(_render(typer.main.get_command(app), "kb"))


def _render(command: Any, name: str) -> Iterator[str]:  # typer does not export the class of its commands
    context = command.context_class(
        command, info_name=name, terminal_width=WIDTH, max_content_width=WIDTH, help_option_names=["-h", "--help"]
    )
    names = command.list_commands(context) if hasattr(command, "list_commands") else []
    if not names or name == "kb":
        yield f"\n## `{name}`\n\n```text\n{command.get_help(context)}\n```\n"
    for subname in names:
        yield from _render(command.get_command(context, subname), f"{name} {subname}")
