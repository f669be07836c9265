"""Commands on notes: `addnote`, `updatenote`, `edit`, `history`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.options import AsJson, DocumentId, EngineUrl, NoWait, Tag, Tags, Text, Title, join_tags, read_text

if TYPE_CHECKING:
    from kb.client import EngineClient, Json


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


def updatenote(
    document_id: DocumentId,
    text: Text,
    *,
    title: Title = None,
    tags: Tags = None,
    tag: Tag = None,
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="Only if the note still is this version.")
    ] = None,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Put a new text in the place of a note's old one. Tags, if given, replace its tags."""
    from kb.cli.calling import call_engine
    from kb.cli.render.notes import show_updated
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
