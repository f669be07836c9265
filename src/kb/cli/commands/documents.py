"""Commands on one document: `get`, `list`, `delete`, `clear`."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.exits import Exit
from kb.cli.options import AsJson, DocumentId, EngineUrl

if TYPE_CHECKING:
    from kb.client import EngineClient, Json


def get(document_id: DocumentId, *, as_json: AsJson = False, engine_url: EngineUrl = None) -> None:
    """Show a document with its text."""
    from kb.cli.calling import call_engine
    from kb.cli.render.documents import show_document
    from kb.cli.render.terminal import print_json

    document = call_engine(engine_url, lambda engine: engine.get_document(document_id))
    if as_json:
        print_json(document)
    else:
        show_document(document)


def delete(
    document_ids: Annotated[list[str], typer.Argument(metavar="ID", help="Numbers or UUIDs of documents.")],
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Delete documents for good, with their stored files. If one of them is missing, none is deleted."""
    from kb.cli.calling import call_engine
    from kb.cli.render.documents import NOBODY_TO_ASK, NOTHING_DELETED, question_before_deleting, show_deleted
    from kb.cli.render.terminal import complain, print_json

    if not yes and not sys.stdin.isatty():
        complain(NOBODY_TO_ASK)
        raise typer.Exit(Exit.REFUSED)
    wanted = list(dict.fromkeys(document_ids))
    found = call_engine(engine_url, lambda engine: _read_all(engine, wanted))
    if not yes and not typer.confirm(question_before_deleting(found), err=True):
        complain(NOTHING_DELETED)
        raise typer.Exit(Exit.REFUSED)
    for deleted in call_engine(engine_url, lambda engine: _delete_all(engine, found)):
        if as_json:
            print_json(deleted)
        else:
            show_deleted(deleted)


async def _read_all(engine: "EngineClient", document_ids: list[str]) -> "list[Json]":
    return [await engine.get_document(document_id, chunks=False) for document_id in document_ids]


async def _delete_all(engine: "EngineClient", documents: "list[Json]") -> "list[Json]":
    """Only the versions that were shown: what has changed since was not meant."""
    return [
        await engine.delete_document(document["id"], expected_version=document["version"])
        for document in {document["id"]: document for document in documents}.values()
    ]
