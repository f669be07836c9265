"""Asking before something is lost for good. Where there is no terminal nobody is asked, and nothing is done."""

import sys

import typer

from kb.cli.ending import end_with
from kb.cli.exits import Exit


def require_consent(question: str, *, yes: bool, refusal: str, nobody_to_ask: str) -> None:
    """Return if the user says yes, or said so with `--yes`; end the command with exit code 4 otherwise."""
    if not yes and _ask(f"{question} [y/N]", nobody_to_ask, refusal).lower() not in {"y", "yes"}:
        end_with(refusal, Exit.REFUSED)


def require_phrase(question: str, phrase: str, *, refusal: str, nobody_to_ask: str) -> None:
    """As `require_consent`, for what is worst: a `y` typed out of habit is not enough."""
    if _ask(question, nobody_to_ask, refusal) != phrase:
        end_with(refusal, Exit.REFUSED)


def _ask(question: str, nobody_to_ask: str, refusal: str) -> str:
    if not sys.stdin.isatty():
        end_with(nobody_to_ask, Exit.REFUSED)
    try:
        return str(typer.prompt(question, default="", show_default=False, err=True)).strip()
    except typer.Abort:
        # Ctrl-C is an answer too.
        end_with(f"\n{refusal}", Exit.INTERRUPTED)
