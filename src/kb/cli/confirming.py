"""Asking before something is lost for good."""

import sys

import typer

from kb.cli.exits import Exit


def require_consent(question: str, *, yes: bool, refusal: str, nobody_to_ask: str) -> None:
    """Return if the user said yes, now or with `--yes`; end the command with exit code 4 otherwise.

    Where there is no terminal nobody is asked, and nothing is done.
    """
    from kb.cli.render.terminal import complain

    if yes:
        return
    if not sys.stdin.isatty():
        complain(nobody_to_ask)
        raise typer.Exit(Exit.REFUSED)
    if not typer.confirm(question, err=True):
        complain(refusal)
        raise typer.Exit(Exit.REFUSED)
