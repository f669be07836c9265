"""Commands on one document: `get`, `updatenote`, `delete`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.exits import Exit
from kb.cli.options import AsJson, DocumentId, EngineUrl, Tag, Tags, Text, Title, join_tags, read_text

if TYPE_CHECKING:
    from kb.client import EngineClient, Json


def get(document_id: DocumentId, *, as_json: AsJson = False, engine_url: EngineUrl = None) -> None:
    """Show a document with its text."""
    from kb.cli import render
    from kb.cli.calling import call_engine

    document = call_engine(engine_url, lambda engine: engine.get_document(document_id))
    if as_json:
        render.print_json(document)
    else:
        render.show_document(document)


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
    from kb.cli import render
    from kb.cli.calling import call_engine

    new_text = read_text(text)
    new_tags = join_tags(tags, tag) or None
    note = call_engine(
        engine_url,
        lambda engine: engine.update_note(document_id, new_text, title=title, tags=new_tags, expected_version=version),
    )
    if as_json:
        render.print_json(note)
    else:
        render.show_updated(note)


def delete(
    document_ids: Annotated[list[str], typer.Argument(metavar="ID", help="Numbers or UUIDs of documents.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Delete documents for good, with their stored files. If one of them is missing, none is deleted."""
    from kb.cli import render
    from kb.cli.calling import call_engine

    if not yes and not sys.stdin.isatty():
        render.complain(render.NOBODY_TO_ASK)
        raise typer.Exit(Exit.REFUSED)
    wanted = list(dict.fromkeys(document_ids))
    found = call_engine(engine_url, lambda engine: _read_all(engine, wanted))
    if not yes and not typer.confirm(render.question_before_deleting(found), err=True):
        render.complain(render.NOTHING_DELETED)
        raise typer.Exit(Exit.REFUSED)
    for deleted in call_engine(engine_url, lambda engine: _delete_all(engine, found)):
        if as_json:
            render.print_json(deleted)
        else:
            render.show_deleted(deleted)


async def _read_all(engine: "EngineClient", document_ids: list[str]) -> "list[Json]":
    return [await engine.get_document(document_id, chunks=False) for document_id in document_ids]


async def _delete_all(engine: "EngineClient", documents: "list[Json]") -> "list[Json]":
    """Only the versions that were shown: what has changed since was not meant."""
    return [
        await engine.delete_document(document["id"], expected_version=document["version"])
        for document in {document["id"]: document for document in documents}.values()
    ]
