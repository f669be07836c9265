"""What `kb doctor` tells."""

from collections.abc import Sequence
from dataclasses import asdict

from rich.text import Text

from kb.cli.doctor import Check, Verdict, worst_of
from kb.cli.render.terminal import Json, complain, counted, one_line, open_console

_STYLES = {Verdict.OK: "green", Verdict.WARNING: "yellow", Verdict.WRONG: "bold red"}
_NAME_WIDTH = 8
_STATUS_WIDTH = 7
_INDENT = " " * (_NAME_WIDTH + _STATUS_WIDTH + 4)


def describe(checks: Sequence[Check]) -> Json:
    return {"status": worst_of(checks), "checks": [asdict(check) for check in checks]}


def show_check(check: Check) -> None:
    """The advice stands below it, for the eye to find."""
    console = open_console()
    status = (f"{check.status:<{_STATUS_WIDTH}}", _STYLES[check.status])
    lines = check.message.split("\n")
    console.print(Text.assemble(status, f"  {check.name:<{_NAME_WIDTH}}  ", one_line(lines[0])))
    for line in lines[1:]:
        console.print(f"{_INDENT}{one_line(line)}")
    if check.advice:
        console.print(Text(f"{_INDENT}{one_line(check.advice)}", "bold"))


def show_verdict(checks: Sequence[Check]) -> None:
    warnings = sum(check.status is Verdict.WARNING for check in checks)
    wrong = sum(check.status is Verdict.WRONG for check in checks)
    told = [counted(warnings, "warning")] if warnings else []
    told += [f"{counted(wrong, 'thing')} wrong"] if wrong else []
    complain(f"{' and '.join(told)}." if told else "All is well.")
