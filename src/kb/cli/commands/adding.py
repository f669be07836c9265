"""Commands that add: `add` for files, `addnote` for text."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.exits import Exit
from kb.cli.options import AsJson, EngineUrl, NoWait, Tag, Tags, Title, join_tags

if TYPE_CHECKING:
    pass


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
    from kb.cli.calling import call_engine
    from kb.cli.render.adding import NO_FILES, ONE_TITLE_FOR_MANY, no_such_file
    from kb.cli.render.terminal import complain
    from kb.cli.sources import find_sources
    from kb.cli.submitting import report, submit_files

    try:
        sources = [source for path in paths for source in find_sources(path, name)]
    except FileNotFoundError as error:
        complain(no_such_file(error))
        raise typer.Exit(Exit.NOT_FOUND) from None
    if not sources:
        complain(NO_FILES)
        raise typer.Exit(Exit.NOT_FOUND)
    if title is not None and len(sources) > 1:
        complain(ONE_TITLE_FOR_MANY)
        raise typer.Exit(Exit.USAGE)
    wanted = join_tags(tags, tag)
    submissions = call_engine(
        engine_url,
        lambda engine: submit_files(engine, sources, title=title, tags=wanted, force_ocr=ocr, wait=not no_wait),
    )
    raise typer.Exit(report(submissions, as_json=as_json))
