"""How `kb` finds its commands, and how their help looks: what it does, examples, and only then the options."""

import inspect
import re
from collections.abc import Iterable
from importlib import import_module
from itertools import takewhile
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command_from_info, get_group
from typer.models import CommandInfo

from kb.cli.table import ALIASES, ENTRIES, SECTIONS, Entry

_OVERVIEW = (
    "kb add ~/Documents --tag papers",
    'kb addnote "The spare key is under the flower pot"',
    "kb search where is the key",
    "kb connect claude-code",
)
_WIDEST = max(map(len, ENTRIES))
_TYPE = re.compile(r" <([^>|]+)>$")
_WORDS = {"str": " TEXT", "path": " PATH", "int": " N", "int range": " N"}


class Command(TyperCommand):
    """Its docstring is a sentence, then examples (lines that begin with `$ `), then what else is to be known."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # Any: typer exports neither class
        summary, examples, details = split_help(self.help or "")
        formatter.write(f"{summary}\n")
        write_examples(formatter, examples)
        formatter.write("\n")
        self.format_usage(ctx, formatter)
        for paragraph in details:
            formatter.write("\n")
            with formatter.indentation():
                formatter.write_text(paragraph)
        self.format_options(ctx, formatter)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """`ID` and `[ID]...`, where typer writes `{ID}`; and nothing of what has no name."""
        pieces = super().collect_usage_pieces(ctx)
        return [piece.replace("{", "").replace("}", "") for piece in pieces if not piece.startswith("[]")]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """As typer does, but in words for people: `--port N`, not `--port <int range>`."""
        rows: dict[str, list[tuple[str, str]]] = {"argument": [], "option": []}
        for parameter in self.get_params(ctx):
            if record := parameter.get_help_record(ctx):
                kind, (name, told) = parameter.param_type_name, record
                plain = _TYPE.sub(_in_words if kind == "option" else "", name)
                rows[kind].append((plain, told.replace("  [required]", "")))
        for title, listed in (("Arguments", rows["argument"]), ("Options", rows["option"])):
            if listed:
                with formatter.section(title):
                    formatter.write_dl(listed)


class CommandOnWords(Command):
    """Takes `-word` for a word. `--word` is an option and has to be one that there is, unless it stands after `--`."""

    ignore_unknown_options = True

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        # The help has one name here: were it `-h` as well, the word `-hat` would ask for it.
        ctx.help_option_names = ["--help"]
        named = list(takewhile(lambda arg: arg != "--", args))
        known = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        for name in (arg.partition("=")[0] for arg in named):
            if name.startswith("--") and name not in known:
                ctx.fail(f"No such option: {name}. To have it taken for a word, put -- before it.")
        asked = ["--help" if arg == "-h" else arg for arg in named]
        return super().parse_args(ctx, [*asked, *args[len(named) :]])


class CommandsOnDemand(TyperGroup):
    """The commands of the table, each loaded when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(ENTRIES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        entry = ENTRIES.get(ALIASES.get(cmd_name, cmd_name))
        return None if entry is None else load_command(entry)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`kb help search` is what people try first."""
        return super().parse_args(ctx, [*args[1:], "--help"] if args[:1] == ["help"] else args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # Only the names: typer looks among them for the one that was meant.
        self.commands = dict.fromkeys(ENTRIES)  # type: ignore[assignment]
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        from typer._click.shell_completion import CompletionItem

        named = [entry for entry in ENTRIES.values() if entry.name.startswith(incomplete)]
        return [CompletionItem(entry.name, help=entry.summary) for entry in named]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(f"{self.help}\n")
        write_examples(formatter, _OVERVIEW)
        formatter.write("\n")
        self.format_usage(ctx, formatter)
        for section, entries in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(f"{entry.name:<{_WIDEST}}", entry.summary) for entry in entries])
        aliases = ", ".join(f"{alias} is {name}" for alias, name in ALIASES.items())
        formatter.write(f"\nAliases: {aliases}. `kb COMMAND --help` tells more of each.\n")


def _in_words(type: re.Match[str]) -> str:
    return _WORDS.get(type[1], type[0])


def load_command(entry: Entry) -> Any:
    module, _, name = entry.place.partition(":")
    found = getattr(import_module(f"kb.cli.commands.{module}"), name)
    if isinstance(found, typer.Typer):
        group = get_group(found)
        group.name = entry.name
        return group
    kind = CommandOnWords if entry.takes_dashed_words else Command
    described = CommandInfo(name=entry.name, cls=kind, callback=found)
    return get_command_from_info(described, pretty_exceptions_short=True, rich_markup_mode=None)


def split_help(text: str) -> tuple[str, list[str], list[str]]:
    """The sentence, the examples and the other paragraphs of a docstring."""
    summary, *paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(text).strip())
    examples = [line for paragraph in paragraphs if _is_example(paragraph) for line in paragraph.split("\n")]
    details = [paragraph for paragraph in paragraphs if not _is_example(paragraph)]
    return " ".join(summary.split()), [line.strip().removeprefix("$ ") for line in examples], details


def _is_example(paragraph: str) -> bool:
    return paragraph.startswith("$ ")


def write_examples(formatter: Any, examples: Iterable[str]) -> None:
    lines = "".join(f"  {example}\n" for example in examples)
    if lines:
        formatter.write(f"\nExamples:\n{lines}")
