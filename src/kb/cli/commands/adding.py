"""`kb add`: files, and all that is in folders."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.options import AsJson, EngineUrl, NoWait, Tag, Tags, Title, join_tags

if TYPE_CHECKING:
    from kb.cli.adding.sources import Selection


def add(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH", help="Files, folders, patterns, or `-` for standard input.")
    ],
    *,
    title: Title = None,
    tags: Tags = None,
    tag: Tag = None,
    name: Annotated[str, typer.Option("--name", metavar="FILENAME", help="What to call standard input.")] = "stdin.txt",
    ocr: Annotated[
        bool, typer.Option("--ocr", help="Recognise the text of every page, also where a PDF brings its own.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be sent, and what skipped.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="List each file that is skipped.")] = False,
    no_wait: NoWait = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Add files, folders, or standard input.

    $ kb add report.pdf
    $ kb add ~/Documents/papers --tag papers
    $ kb add 'docs/**/*.md' README.md --dry-run
    $ man tar | kb add - --name tar-manual.txt

    Of a folder every file is added that kb can read, but what is hidden, empty or ignored. A file that has changed
    since it was added takes the place of what it was; one that has not is left as it is.

    Ctrl-C stops the sending; what the engine has accepted by then it finishes.
    """
    from kb.cli.adding.reporting import Report, add_files
    from kb.cli.adding.submitting import Wishes
    from kb.cli.calling import call_engine
    from kb.cli.render.adding import NO_FILES, show_plan

    selection = _select(paths, name, title)
    report = Report(len(selection.sources), selection.skipped, as_json=as_json, is_verbose=verbose)
    if dry_run:
        show_plan([(source.label, source.size_bytes) for source in selection.sources])
        report.tell_skipped()
        return
    if not selection.sources:
        report.tell_skipped()
        end_with(NO_FILES, Exit.NOT_FOUND)
    wishes = Wishes(title=title, tags=join_tags(tags, tag), force_ocr=ocr, wait=not no_wait)
    try:
        call_engine(engine_url, lambda engine: add_files(engine, selection.sources, wishes, report))
    finally:
        # Also if it was stopped, or the engine is gone: then it tells how far it came.
        code = report.conclude()
    raise typer.Exit(code)


def _select(paths: list[str], stdin_name: str, title: str | None) -> "Selection":
    from kb.cli.adding.sources import PathsMissing, select_sources
    from kb.cli.render.adding import ONE_TITLE_FOR_MANY, no_such_files

    try:
        selection = select_sources(paths, stdin_name)
    except PathsMissing as error:
        end_with(no_such_files(error.paths), Exit.NOT_FOUND)
    if title is not None and len(selection.sources) > 1:
        end_with(ONE_TITLE_FOR_MANY, Exit.USAGE)
    return selection
