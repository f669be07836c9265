"""Commands on documents: `get`, `list`, `delete`, `clear`."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.confirming import require_consent, require_phrase
from kb.cli.filters import DocType, Format, SourceFolder, SourcePath, Words, locate
from kb.cli.options import STANDARD_STREAM, AsJson, DocumentId, DocumentIds, EngineUrl, Tag, Tags, Yes, join_tags
from kb.cli.saving import save_original

if TYPE_CHECKING:
    from collections.abc import Callable

    from kb.client import EngineClient, Json


class Sort(StrEnum):
    RECENT = "recent"
    DATE_ADDED = "date_added"
    FILENAME = "filename"
    TITLE = "title"
    SIZE = "size"
    SOURCE_PATH = "source_path"


# The engine begins with what people expect first: the newest, the largest, the letter A.
_REVERSED = {
    Sort.RECENT: "asc",
    Sort.DATE_ADDED: "asc",
    Sort.FILENAME: "desc",
    Sort.TITLE: "desc",
    Sort.SIZE: "asc",
    Sort.SOURCE_PATH: "desc",
}


def get(
    document_id: DocumentId,
    *,
    as_text: Annotated[bool, typer.Option("--text", help="Only the text, for a pipe.")] = False,
    as_file: Annotated[bool, typer.Option("--file", help="The original file instead, into a pipe or -o.")] = False,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="PATH", help="Save the original file here.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Show a document with its text.

    $ kb get 12
    $ kb get 12 --text | wc -w
    $ kb get 12 -o report.pdf
    """
    from kb.cli.calling import call_engine
    from kb.cli.render.documents import print_text, show_document
    from kb.cli.render.links import find_open_engine
    from kb.cli.render.terminal import print_json

    wants_file = as_file or output is not None
    if as_text + as_json + wants_file > 1:
        raise typer.BadParameter("--text, --json and the file (--file, -o) exclude one another. Give one of them.")
    document = call_engine(
        engine_url,
        lambda engine: (
            engine.get_document(document_id, chunks=False) if wants_file else engine.get_whole_document(document_id)
        ),
    )
    if wants_file:
        save_original(document, output or STANDARD_STREAM, engine_url, force=force)
    elif as_json:
        print_json(document)
    elif as_text:
        print_text(document)
    else:
        show_document(document, open_engine=find_open_engine(engine_url))


def list_documents(
    context: typer.Context,
    *,
    tags: Tags = None,
    tag: Tag = None,
    doc_type: DocType = None,
    format: Format = None,
    source_path: SourcePath = None,
    folder: SourceFolder = None,
    words: Words = None,
    sort: Annotated[Sort, typer.Option("--sort", help="What comes first.")] = Sort.RECENT,
    reverse: Annotated[bool, typer.Option("--reverse", "-r", help="The other way round.")] = False,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, max=1000, help="How many at most.")] = 100,
    offset: Annotated[int, typer.Option("--offset", metavar="N", min=0, help="How many to leave out.")] = 0,
    ids_only: Annotated[bool, typer.Option("--ids", help="Print only the ids, one a line.")] = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """List documents, the newest first.

    $ kb list --tag invoices --sort size
    $ kb list --folder ~/Documents --type pdf
    $ kb list --ids --grep draft | xargs kb delete --yes

    In a pipe each line has, separated by tabs: id, type, bytes, added, last changed, tags, title.
    """
    from kb.cli.calling import call_engine
    from kb.cli.render import documents
    from kb.cli.render.links import find_open_engine
    from kb.cli.render.next_command import command_again
    from kb.cli.render.terminal import print_json

    named: Json = {
        "doc_type": doc_type,
        "format": format,
        "source_path": locate(source_path),
        "source_folder": locate(folder),
    }
    order: Json = {"sort": sort.value, "order": _REVERSED[sort] if reverse else None}
    page: Json = {"tags": join_tags(tags, tag), "q": words, "limit": limit, "offset": offset}
    answer = call_engine(engine_url, lambda engine: engine.list_documents(**named, **order, **page))
    if as_json:
        print_json(answer)
        return
    if ids_only:
        documents.print_ids(answer)
    else:
        documents.show_documents(answer, open_engine=find_open_engine(engine_url))
    end = offset + len(answer["documents"])
    more = command_again(context, offset=end) if end < answer["total"] else None
    documents.remark_on_documents(answer, more=more)


def delete(
    document_ids: DocumentIds, *, yes: Yes = False, as_json: AsJson = False, engine_url: EngineUrl = None
) -> None:
    """Delete documents for good, with their stored files.

    $ kb delete 12 15
    $ kb delete 12 --yes

    If one of them is missing, none is deleted.
    """
    from kb.cli.calling import call_engine
    from kb.cli.render.documents import NOBODY_TO_ASK, NOTHING_DELETED, question_before_deleting, show_deleted
    from kb.cli.render.terminal import print_json

    found = call_engine(engine_url, lambda engine: _read_all(engine, document_ids))
    question = question_before_deleting(found)
    require_consent(question, yes=yes, refusal=NOTHING_DELETED, nobody_to_ask=NOBODY_TO_ASK)
    call_engine(engine_url, lambda engine: _delete_all(engine, found, print_json if as_json else show_deleted))


def clear(*, yes: Yes = False, as_json: AsJson = False, engine_url: EngineUrl = None) -> None:
    """Delete everything.

    $ kb clear
    $ kb export everything.tar && kb clear --yes

    It asks you to type DELETE ALL, unless --yes is given.
    """
    from kb.cli.calling import call_engine
    from kb.cli.render.documents import NOBODY_TO_ASK, NOTHING_DELETED, question_before_clearing, show_cleared
    from kb.cli.render.terminal import print_json
    from kb.client import CONFIRMATION_PHRASE

    if not yes:
        status = call_engine(engine_url, lambda engine: engine.get_status())
        question = question_before_clearing(status, CONFIRMATION_PHRASE)
        require_phrase(question, CONFIRMATION_PHRASE, refusal=NOTHING_DELETED, nobody_to_ask=NOBODY_TO_ASK)
    cleared = call_engine(
        engine_url, lambda engine: engine.clear_documents(confirm=True, confirmation_phrase=CONFIRMATION_PHRASE)
    )
    if as_json:
        print_json(cleared)
    else:
        show_cleared(cleared)


async def _read_all(engine: "EngineClient", document_ids: list[str]) -> "list[Json]":
    """Each of them once, by whichever of its names it was called."""
    read = [await engine.get_document(document_id, chunks=False) for document_id in dict.fromkeys(document_ids)]
    return list({document["id"]: document for document in read}.values())


async def _delete_all(engine: "EngineClient", documents: "list[Json]", tell: "Callable[[Json], None]") -> None:
    """Only the versions that were shown: what has changed since was not meant."""
    for document in documents:
        tell(await engine.delete_document(document["id"], expected_version=document["version"]))
