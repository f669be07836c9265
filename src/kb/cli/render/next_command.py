"""What to type next: the same command with something changed."""

import shlex
from datetime import datetime
from enum import Enum
from typing import Any

import typer


def command_again(context: typer.Context, **changes: object) -> str:
    """The command as it was called, with these values in the place of its own. None leaves an option out."""
    options: list[str] = []
    words: list[str] = []
    for parameter in context.command.params:
        value = changes.get(parameter.name or "", _typed(context, parameter.name or ""))
        values = value if isinstance(value, list | tuple) else [value]
        if parameter.param_type_name == "argument":
            words += [_shown(one) for one in values if one is not None]
        elif value is True:
            options.append(parameter.opts[0])
        else:
            options += [part for one in values if one is not None for part in (parameter.opts[0], _shown(one))]
    # A word that looks like an option is one, unless it stands behind two dashes.
    separator = ["--"] if any(word.startswith("--") for word in words) else []
    return shlex.join(["kb", str(context.info_name), *options, *separator, *words])


def _typed(context: typer.Context, name: str) -> Any:  # Any: whatever the parameter is
    """None if it was left to its default."""
    source = context.get_parameter_source(name)
    return context.params.get(name) if source is not None and source.name == "COMMANDLINE" else None


def _shown(value: object) -> str:
    if isinstance(value, datetime):
        return value.date().isoformat()
    return str(value.value if isinstance(value, Enum) else value)
