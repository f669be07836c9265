"""Commands that add: `add` for files, `addnote` for text."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.exits import Exit
from kb.cli.options import AsJson, EngineUrl, NoWait, Tag, Tags, Text, Title, join_tags, read_text

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb.cli.calling import Failure
    from kb.client import EngineClient, Json, NamedFile

STDIN = "-"
# What the engine refuses about one file; anything else would be said of the next one too.
REFUSALS_OF_ONE_FILE = frozenset({400, 413, 415, 422})


@dataclass(frozen=True)
class Source:
    """A file to add. One that was only found in a folder may be of a kind that kb cannot read."""

    label: str
    file: "Path | NamedFile"
    source_path: str | None = None
    is_named: bool = True


@dataclass(frozen=True)
class Submission:
    source: Source
    outcome: "Json | Failure"

    @property
    def is_skipped(self) -> bool:
        is_unknown_format = getattr(self.outcome, "code", None) == "unsupported_format"
        return is_unknown_format and not self.source.is_named


def addnote(
    text: Text,
    *,
    title: Title = None,
    tags: Tags = None,
    tag: Tag = None,
    source_path: Annotated[
        str | None,
        typer.Option("--source-path", help="Where it comes from; replaces the note from the same place."),
    ] = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Add a note: kb addnote "The spare key is under the third flower pot" --tags home"""
    from kb.cli.calling import call_engine

    note = read_text(text)

    async def submit(engine: "EngineClient") -> "Json":
        job = await engine.submit_note(
            note, title=title, tags=join_tags(tags, tag), source_path=source_path
        )
        return job if no_wait else await engine.wait_for_job(job["id"])

    submission = Submission(Source("the note", ("", b"")), call_engine(engine_url, submit))
    raise typer.Exit(_report([submission], as_json=as_json))


def add(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files, folders, or `-` for standard input.")
    ],
    *,
    title: Title = None,
    tags: Tags = None,
    tag: Tag = None,
    name: Annotated[
        str, typer.Option("--name", metavar="FILENAME", help="What to call standard input.")
    ] = "stdin.txt",
    no_wait: NoWait = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Add files, and all files that kb can read below folders. A file that was added before is brought up to date."""
    from kb.cli import render
    from kb.cli.calling import call_engine

    sources = [source for path in paths for source in _find_sources(path, name)]
    if not sources:
        render.complain(render.NO_FILES)
        raise typer.Exit(Exit.NOT_FOUND)
    if title is not None and len(sources) > 1:
        render.complain(render.TITLE_FOR_MANY)
        raise typer.Exit(Exit.USAGE)

    async def submit(engine: "EngineClient") -> list[Submission]:
        with render.progress(len(sources)) as progress:
            submissions = []
            for source in sources:
                progress.show(source.label)
                submissions.append(await _submit(engine, source, title, join_tags(tags, tag)))
            if no_wait:
                return submissions
            return [await _wait(engine, submission, progress) for submission in submissions]

    raise typer.Exit(_report(call_engine(engine_url, submit), as_json=as_json))


def _find_sources(given: str, stdin_name: str) -> Iterator[Source]:
    from kb.cli import render

    path = Path(given)
    if given == STDIN:
        yield Source(stdin_name, (stdin_name, sys.stdin.buffer.read()))
    elif path.is_dir():
        yield from _find_in_folder(path)
    elif path.exists():
        yield Source(given, path, str(path.absolute()))
    else:
        render.complain(render.no_such_file(given))
        raise typer.Exit(Exit.NOT_FOUND)


def _find_in_folder(folder: Path) -> Iterator[Source]:
    """Every file below it in the order of names, but what is hidden or empty."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (Path(parent, name) for name in sorted(names) if not name.startswith(".")):
            if path.is_file() and path.stat().st_size:
                yield Source(str(path), path, str(path.absolute()), is_named=False)
