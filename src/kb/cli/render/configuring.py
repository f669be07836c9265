"""Settings as people see them."""

import difflib
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from kb.cli.render.tables import print_row
from kb.cli.render.terminal import Json, complain, one_line, open_console, print_json
from kb.settings.explaining import Explained, Explanation
from kb.settings.sources import Origin


def unknown_setting(name: str, known: Sequence[str]) -> str:
    nearest = difflib.get_close_matches(name.lower().removeprefix("kb_"), known, n=1)
    advice = f"Did you mean {nearest[0]}?" if nearest else "`kb config` shows them all."
    return f"There is no setting {name}. {advice}"


def describe(explanation: Explanation) -> Json:
    return {
        "config_file": str(explanation.config_file),
        "config_file_exists": explanation.config_file.exists(),
        "settings": [_describe_option(option) for option in explanation.options],
        "problems": explanation.problems,
    }


def _describe_option(option: Explained) -> Json:
    return {
        "name": option.name,
        "variable": option.variable,
        "value": option.value,
        "origin": option.origin,
        "given_by": option.given_by,
        "problem": option.problem,
    }


def show_option(option: Explained, *, as_json: bool) -> None:
    if as_json:
        print_json(_describe_option(option))
    elif option.problem is None:
        print(one_line(option.value))
    if option.problem is not None:
        complain(option.problem)


def show_settings(explanation: Explanation) -> None:
    """A table on a terminal; name, value and origin between tabs in a pipe."""
    console = open_console()
    if console.is_terminal:
        _show_table(console, explanation.options)
    else:
        for option in explanation.options:
            print_row(option.name, option.value, _origin(option))
    file = explanation.config_file
    complain(f"{file} was read." if file.exists() else f"There is no {file}, where settings could also stand.")
    for problem in explanation.problems:
        complain(problem)


def _show_table(console: Console, options: Sequence[Explained]) -> None:
    names = max(len(option.name) for option in options)
    # A long one, a list of folders for example, must not push all the others aside.
    values = max(len(option.value) for option in options if len(option.value) <= console.width // 2)
    for option in options:
        style = "red" if option.problem else "bold" if option.origin is not Origin.DEFAULT else ""
        value = (f"{one_line(option.value):<{values}}", style) if option.value else (f"{'empty':<{values}}", "dim")
        console.print(Text.assemble(f"{option.name:<{names}}  ", value, (f"  {_origin(option)}", "dim")))
    console.print()


def _origin(option: Explained) -> str:
    return one_line(option.given_by or option.origin)
