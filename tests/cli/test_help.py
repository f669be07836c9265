"""What the list of commands, their help and the shell's first impression of `kb` promise."""

import inspect
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.engine_program import kb_command

from kb.cli.group import load_command, split_help
from kb.cli.table import ALIASES, ENTRIES

# C1 of the specification, word by word, and the two that came with the first five minutes.
NAMES = (
    "up engine mcp worker add addnote updatenote edit search get list tag tags delete clear jobs cancel retry history "
    "status open sync export import backup restore reindex doctor config model eval connect completion version "
    "demo service"
)


def commands() -> Iterator[tuple[str, Any]]:  # Any: typer does not export the class of its commands
    for entry in ENTRIES.values():
        command = load_command(entry)
        subcommands = getattr(command, "commands", {})
        yield from ((f"{entry.name} {name}", subcommand) for name, subcommand in subcommands.items())
        if not subcommands:
            yield entry.name, command


COMMANDS = dict(commands())
EXAMPLES = [example for command in COMMANDS.values() for example in split_help(command.help)[1]]


def test_c1_every_command_is_there_with_its_aliases() -> None:
    assert set(ENTRIES) == set(NAMES.split())
    assert ALIASES == {"addfile": "add", "ls": "list", "rm": "delete"}


@pytest.mark.parametrize("name", ENTRIES)
def test_the_list_says_of_a_command_what_its_own_help_says_first(name: str) -> None:
    summary = split_help(inspect.cleandoc(load_command(ENTRIES[name]).help))[0]

    assert summary == ENTRIES[name].summary


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_examples_before_all_else(name: str) -> None:
    command = COMMANDS[name]
    sentence, _, rest = command.get_help(command.context_class(command, info_name=f"kb {name}")).partition("\n\n")

    assert sentence.endswith(".")
    assert f"\n  kb {name}" in rest.partition("\n\n")[0]
    assert rest.index("Examples:") < rest.index("Usage:")


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_is_one_that_kb_understands(example: str) -> None:
    for part in re.split(r" (?:\||&&) ", example):
        words = shlex.split(re.split(" [<>] ", part)[0])
        if "kb" not in words:
            continue
        name, *arguments = words[words.index("kb") + 1 :] + (["1"] if "xargs" in words else [])
        command = load_command(ENTRIES[ALIASES.get(name, name)])

        while hasattr(command, "commands"):
            command = command.commands[arguments.pop(0)]
        with command.make_context(name, arguments) as context:
            assert context.params or not arguments


def test_kb_alone_shows_what_there_is() -> None:
    shown = subprocess.run(kb_command(), capture_output=True, text=True, check=False)

    assert shown.returncode == 2
    assert all(f"\n  {name} " in shown.stdout + shown.stderr for name in ENTRIES)


@pytest.mark.parametrize(("typo", "meant"), [("serch", "search"), ("stauts", "status"), ("add-note", "addnote")])
def test_a_mistyped_command_is_told_with_the_one_that_was_meant(typo: str, meant: str) -> None:
    told = subprocess.run(kb_command(typo), capture_output=True, text=True, check=False)

    assert told.returncode == 2
    assert f"Did you mean '{meant}'" in told.stderr


def test_help_loads_nothing_that_it_does_not_need() -> None:
    """What `kb --help` costs is what it imports: 0.1 s of one core, of which typer alone is two thirds."""
    code = (
        "import sys; from kb.cli.main import app; app(['--help'], standalone_mode=False);"
        "print(*sorted(sys.modules), file=sys.stderr)"
    )

    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    loaded = set(shown.stderr.split())
    assert not loaded & {
        "rich",
        "httpx",
        "pydantic",
        "asyncio",
        "kb.client",
        "kb.settings",
        "kb.engine",
        "kb.cli.render",
    }
    assert not [name for name in loaded if name.startswith("kb.cli.commands.")]
