"""The `kb` command.

Commands are loaded when they are called (`table`, `group`), and import what they need when they run, not before:
`kb --help` and the shell's completion then answer at once. Words for people are in `render`, exit codes in `exits`.
"""

import errno
import os
import sys
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.group import CommandsOnDemand
from kb.version import VERSION


class Kb(CommandsOnDemand):
    def invoke(self, ctx: Any) -> Any:  # Any: typer exports no class of it
        """End with a message, not a traceback, after Ctrl-C and when the command cannot use the engine's answer."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            from kb.cli.render.problems import STOPPED

            end_with(STOPPED, Exit.INTERRUPTED)
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            from kb.cli.calling import called_engine
            from kb.cli.render.problems import unusable_answer

            url = called_engine.get()
            if url is None:
                raise
            end_with(unusable_answer(url, error), Exit.FAILED)


app = typer.Typer(
    cls=Kb,
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
        bool, typer.Option("--version", "-V", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Typer makes a group of commands of it."""


def main() -> None:
    _open_missing_streams()
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
        sys.stdout.flush()
    except SystemExit:
        _say_the_rest()
        raise
    except OSError as error:
        if error.errno not in {errno.ENOSPC, errno.EIO}:
            raise
        _give_up_writing(error)


def _open_missing_streams() -> None:
    """A program that was started with `<&-` or `>&-` has none, and expects to have them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  open as long as the program runs


def _say_the_rest() -> None:
    """Python does so at its end and complains if it cannot; of a reader that left (`kb list | head -1`) it need not."""
    try:
        sys.stdout.flush()
    except OSError as error:
        _give_up_writing(error)


def _give_up_writing(error: OSError) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if not isinstance(error, BrokenPipeError):
        print(f"kb: Standard output cannot be written: {error.strerror}.", file=sys.stderr)
    sys.exit(Exit.FAILED)


if __name__ == "__main__":
    main()
