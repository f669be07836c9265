"""Commands that write notes: `addnote`, `updatenote`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.options import (
    STANDARD_STREAM,
    AsJson,
    EngineUrl,
    NoteId,
    NoWait,
    Tag,
    Tags,
    Text,
    Title,
    join_tags,
    read_text,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb.client import EngineClient, Json


def addnote(
    text: Annotated[
        str | None,
        typer.Argument(metavar="TEXT", help="The text; `-` reads it from standard input."),
    ] = None,
    *,
    title: Title = None,
    tags: Tags = None,
    tag: Tag = None,
    source_path: Annotated[
        str | None,
        typer.Option("--source-path", metavar="PATH", help="Where it comes from; replaces the note from there."),
    ] = None,
    no_wait: NoWait = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Add a note.

    $ kb addnote "The spare key is under the third flower pot" --tags home,keys
    $ kb addnote - --title "Build log" < build.log
    $ kb addnote

    Without a text it reads what is piped in; on a terminal it opens your editor (VISUAL, EDITOR).
    """
    from kb.cli.calling import call_engine
    from kb.cli.jobs import report_job
    from kb.cli.render.jobs import name_of
    from kb.cli.render.progress import Board

    wanted = join_tags(tags, tag)

    def add(note: str) -> None:
        async def submit(engine: "EngineClient") -> "Json":
            job = await engine.submit_note(note, title=title, tags=wanted, source_path=source_path)
            return job if no_wait else await engine.wait_for_job(job["id"])

        job = call_engine(engine_url, submit)
        if code := report_job(Board(), job, name_of(job), as_json=as_json):
            raise typer.Exit(code)

    if text is None and sys.stdin.isatty():
        _add_from_editor(add)
    else:
        add(read_text(STANDARD_STREAM if text is None else text))


def _add_from_editor(add: "Callable[[str], None]") -> None:
    from kb.cli.drafts import choose_editor, open_draft
    from kb.cli.render.editing import NOTHING_WRITTEN

    editor = choose_editor()
    with open_draft("note.md", "") as draft:
        draft.edit(editor)
        text = draft.read()
        if not text.strip():
            end_with(NOTHING_WRITTEN, Exit.FAILED)
        add(text)


def updatenote(
    document_id: NoteId,
    text: Text,
    *,
    title: Title = None,
    tags: Tags = None,
    tag: Tag = None,
    version: Annotated[
        int | None, typer.Option("--version", min=1, metavar="N", help="Only if the note still is this version.")
    ] = None,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Put a new text in the place of a note's old one.

    $ kb updatenote 42 "The spare key is with the neighbours"
    $ kb updatenote 42 - < keys.md

    Its tags stay unless you give others. What it said before is kept: see `kb history`.
    """
    from kb.cli.calling import call_engine
    from kb.cli.render.editing import show_updated
    from kb.cli.render.terminal import print_json

    new_text = read_text(text)
    new_tags = join_tags(tags, tag) or None
    note = call_engine(
        engine_url,
        lambda engine: engine.update_note(document_id, new_text, title=title, tags=new_tags, expected_version=version),
    )
    if as_json:
        print_json(note)
    else:
        show_updated(note)
