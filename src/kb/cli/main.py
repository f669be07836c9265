"""The `kb` command.

Commands are loaded when they are called (`table`, `group`), and import what they need when they run, not before:
`kb --help` and the shell's completion then answer at once. Words for people are in `render`, exit codes in `exits`.
"""

import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from kb.cli.exits import Exit
from kb.cli.group import CommandsOnDemand
from kb.version import VERSION

app = typer.Typer(
    cls=CommandsOnDemand,
    help="A knowledge base on your own machine, for you and your agents. Start it with `kb up`.",
    no_args_is_help=True,
    add_completion=False,
    # Panels would cost the import of rich before anything is done.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(*, wanted: bool) -> None:
    if wanted:
        print(f"kb {VERSION}")
        raise typer.Exit


@app.callback()
def kb(
    *,
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Typer makes a group of commands of it."""


def main() -> None:
    # What kb prints is UTF-8, as files are, whatever the locale of a container or a cron job says.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="replace")
    if any("\udc80" <= character <= "\udcff" for character in "".join(sys.argv)):
        print(
            "kb: An argument is not UTF-8 text. Of a file with such a name, give the folder it is in.", file=sys.stderr
        )
        sys.exit(Exit.USAGE)
    try:
        app(prog_name="kb")
    finally:
        _say_the_rest()


def _say_the_rest() -> None:
    """Python does so at its end, and complains if nobody listens any more: `kb list | head -1`."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
