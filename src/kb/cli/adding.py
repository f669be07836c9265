"""Commands that add: `add` for files, `addnote` for text."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.exits import Exit
from kb.cli.options import AsJson, EngineUrl, NoWait, Tag, Tags, Text, Title, join_tags, read_text

if TYPE_CHECKING:
    from kb.client import EngineClient, Json


def add(
    paths: Annotated[list[str], typer.Argument(metavar="PATH", help="Files, folders, or `-` for standard input.")],
    *,
    title: Title = None,
    tags: Tags = None,
    tag: Tag = None,
    name: Annotated[str, typer.Option("--name", metavar="FILENAME", help="What to call standard input.")] = "stdin.txt",
    ocr: Annotated[
        bool, typer.Option("--ocr", help="Recognise the text of every page, also where a PDF brings its own.")
    ] = False,
    no_wait: NoWait = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Add files, and of folders every file that kb can read.

    A file that has changed since it was added takes the place of what it was.
    """
    from kb.cli import render
    from kb.cli.calling import call_engine
    from kb.cli.sources import find_sources
    from kb.cli.submitting import report, submit_files

    try:
        sources = [source for path in paths for source in find_sources(path, name)]
    except FileNotFoundError as error:
        render.complain(render.no_such_file(error))
        raise typer.Exit(Exit.NOT_FOUND) from None
    if not sources:
        render.complain(render.NO_FILES)
        raise typer.Exit(Exit.NOT_FOUND)
    if title is not None and len(sources) > 1:
        render.complain(render.ONE_TITLE_FOR_MANY)
        raise typer.Exit(Exit.USAGE)
    wanted = join_tags(tags, tag)
    submissions = call_engine(
        engine_url,
        lambda engine: submit_files(engine, sources, title=title, tags=wanted, force_ocr=ocr, wait=not no_wait),
    )
    raise typer.Exit(report(submissions, as_json=as_json))


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
    """Add a note.

    For example: kb addnote "The spare key is under the third flower pot" --tags home
    """
    from kb.cli.calling import call_engine
    from kb.cli.submitting import report_job

    note = read_text(text)
    wanted = join_tags(tags, tag)

    async def submit(engine: "EngineClient") -> "Json":
        job = await engine.submit_note(note, title=title, tags=wanted, source_path=source_path)
        return job if no_wait else await engine.wait_for_job(job["id"])

    job = call_engine(engine_url, submit)
    raise typer.Exit(report_job(job, label=job["filename"], as_json=as_json))
