"""The command `completion`."""

import sys
from typing import Annotated

import typer

from kb.cli.completion.shells import SCRIPTS, Shell, parse_bash_line, render_offers
from kb.cli.exits import Exit


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
    typed: Annotated[list[str] | None, typer.Argument(metavar="", hidden=True)] = None,
) -> None:
    """Print what makes your shell complete commands, tags and ids.

    $ kb completion bash
    $ kb completion fish

    Put `source <(kb completion bash)` into ~/.bashrc, or the same with zsh into ~/.zshrc; for fish, write it into
    ~/.config/fish/completions/kb.fish. Tags and ids are asked of the engine; when it is not there, only commands and
    options are completed.
    """
    if typed:
        # The shell asks. Every answer is a good one; an error would end up in the middle of a line.
        sys.stdout.write("".join(f"{line}\n" for line in _answer(shell, typed)))
        return
    print(SCRIPTS[shell].strip())
    if sys.stdout.isatty():
        from kb.cli.completion.shells import HOW_TO_KEEP

        print(f"\n{HOW_TO_KEEP[shell]}", file=sys.stderr)


def _answer(shell: Shell, typed: list[str]) -> list[str]:
    if shell is Shell.BASH:
        line = parse_bash_line(typed[0], typed[1] if len(typed) > 1 else "")
        offers = _find_offers(line.words[1:], line.incomplete)
        # Between double quotes bash takes what follows `!` out of its history, whatever stands before it.
        values = [value for value, _ in offers if line.quote != '"' or "!" not in value]
        return render_offers((line.render(value), "") for value in values)
    *words, incomplete = typed
    return render_offers(_find_offers(words[1:], incomplete))


def _find_offers(words: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Nothing where names of files are wanted: those the shell knows better."""
    from typer._click.exceptions import ClickException
    from typer._click.shell_completion import _resolve_context, _resolve_incomplete
    from typer.main import get_command

    from kb.cli.main import app

    option, equals, value = incomplete.partition("=")
    if equals and option.startswith("--"):
        return [(f"{option}={offered}", meaning) for offered, meaning in _find_offers([*words, option], value)]
    try:
        context = _resolve_context(get_command(app), {}, "kb", words)
        asked, incomplete = _resolve_incomplete(context, words, incomplete)
        items = asked.shell_complete(context, incomplete)
    except (ClickException, typer.Exit):
        raise typer.Exit(Exit.DONE) from None
    return [(item.value, item.help or "") for item in items if item.type == "plain"]
