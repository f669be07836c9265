"""The options and arguments that several commands share."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kb.cli.completion.candidates import complete_documents, complete_notes, complete_tags
from kb.cli.ending import end_with
from kb.cli.exits import Exit

# In the place of a file's name or of a text: standard input, or output.
STANDARD_STREAM = "-"


def require_something(given: str | list[str] | None) -> str | list[str] | None:
    """Refuse an option that is empty: in a script whose variable is not set it would mean everything."""
    for value in given if isinstance(given, list) else [given]:
        if value is not None and not value.strip(", "):
            raise typer.BadParameter("It is empty. Leave it out, or say what is meant.")
    return given


AsJson = Annotated[bool, typer.Option("--json", help="Print the engine's JSON, one answer a line.")]
EngineUrl = Annotated[
    str | None, typer.Option("--engine-url", metavar="URL", help="Where the engine is (KB_ENGINE_URL).")
]
DataDir = Annotated[Path | None, typer.Option("--data-dir", help="Where documents are kept (KB_DATA_DIR).")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Return once it is accepted, before it can be searched.")]
Title = Annotated[str | None, typer.Option("--title", help="Its title; otherwise one is made from the text.")]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tags", metavar="A,B", help="Tags, separated by commas.", callback=require_something),
]
Tag = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        metavar="A",
        help="One tag; repeat it for more.",
        autocompletion=complete_tags,
        callback=require_something,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DocumentId = Annotated[
    str, typer.Argument(metavar="ID", help="The document's number or UUID.", autocompletion=complete_documents)
]
DocumentIds = Annotated[
    list[str],
    typer.Argument(metavar="ID", help="Numbers or UUIDs of documents.", autocompletion=complete_documents),
]
NoteId = Annotated[str, typer.Argument(metavar="ID", help="The note's number or UUID.", autocompletion=complete_notes)]
Text = Annotated[str, typer.Argument(metavar="TEXT", help="The text; `-` reads it from standard input.")]


class Mode(StrEnum):
    HYBRID = "hybrid"
    FTS = "fts"
    VECTOR = "vector"


def join_tags(tags: list[str] | None, tag: list[str] | None) -> list[str]:
    """`--tags a,b --tag "c, d"` means the tags `a`, `b` and `c, d`."""
    separated = [part.strip() for listed in tags or [] for part in listed.split(",")]
    return [name for name in (*separated, *(tag or [])) if name]


def read_text(given: str) -> str:
    """The argument itself, or standard input for `-`. Ends the command if there is no text in it."""
    from kb.cli.render.problems import NO_TEXT, NOT_UTF8

    if given == STANDARD_STREAM:
        try:
            given = sys.stdin.buffer.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            end_with(NOT_UTF8, Exit.USAGE)
    if not given.strip():
        end_with(NO_TEXT, Exit.USAGE)
    return given
