"""Documents as people see them."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from kb.cli.render.links import title_style
from kb.cli.render.places import place_of
from kb.cli.render.tables import print_row, print_table
from kb.cli.render.terminal import Json, clean, complain, counted, local_time, one_line, open_console, readable_size

NOBODY_TO_ASK = "This deletes for good, and there is no terminal to ask on. Add --yes if you mean it."
NOTHING_DELETED = "Nothing was deleted."
_TAGS_COLUMNS = 24


def question_before_deleting(documents: Sequence[Json]) -> str:
    listed = "".join(f"  {document['id']}  {one_line(document['title'])}\n" for document in documents)
    return f"{listed}Delete {counted(len(documents), 'document')} for good?"


def question_before_clearing(status: Json, phrase: str) -> str:
    documents = counted(status["documents"]["total"], "document")
    everything = (
        f"This deletes {documents} for good, {readable_size(status['size_bytes'])} with all that belongs to them."
    )
    return f"{everything}\nType {phrase} to go on"


def show_deleted(deleted: Json) -> None:
    open_console().print(one_line(f"Document {deleted['document_id']} deleted: {deleted['title']}"))


def show_cleared(cleared: Json) -> None:
    documents = counted(cleared["documents_removed"], "document")
    open_console().print(f"Deleted {documents}; {readable_size(cleared['bytes_freed'])} freed.")


def show_document(document: Json, *, open_engine: str | None) -> None:
    console = open_console()
    facts = [f"document {document['id']}", document["doc_type"], readable_size(document["size_bytes"])]
    facts += [f"version {document['version']}"]
    facts += [f"tags: {', '.join(document['tags'])}"] if document["tags"] else []
    facts += [f"added {local_time(document['created_at'])}"]
    facts += [f"changed {local_time(document['updated_at'])}"] if document["updated_at"] else []
    facts += [document["source_path"]] if document["source_path"] else []
    console.print(Text(one_line(document["title"]), title_style(document["id"], open_engine)))
    console.print(Text(one_line(" · ".join(facts)), "dim"))
    if "text" in document:
        print(f"\n{clean(document['text'])}")
    else:
        _show_chunks(console, document)


def print_text(document: Json) -> None:
    texts = [document["text"]] if "text" in document else [chunk["text"] for chunk in document["chunks"]]
    print("\n\n".join(clean(text) for text in texts))


def show_documents(answer: Json, *, open_engine: str | None) -> None:
    """A table on a terminal. In a pipe the columns stay as they are, for scripts, and so do the times."""
    console = open_console()
    if not console.is_terminal:
        for document in answer["documents"]:
            print_row(*_facts_for_scripts(document))
    elif answer["documents"]:
        rows = [_facts_for_people(document, open_engine) for document in answer["documents"]]
        print_table(console, ("id", "type", "size", "changed", "tags", "title"), rows, right={"id", "size"})


def print_ids(answer: Json) -> None:
    for document in answer["documents"]:
        print(int(document["id"]))


def remark_on_documents(answer: Json, *, more: str | None) -> None:
    """On stderr; `more` is the command to go on with."""
    if more:
        complain(f"There are more, {answer['total']} in all: {more}")
    elif not answer["documents"] and answer["total"]:
        complain(f"There are no more: {counted(answer['total'], 'document')} in all.")
    elif not answer["documents"]:
        complain("There are no such documents. `kb add` adds some; `kb list` without options lists all.")


def _facts_for_scripts(document: Json) -> list[object]:
    changed_at = document["updated_at"] or document["created_at"]
    facts = [document[name] for name in ("id", "doc_type", "size_bytes", "created_at")]
    return [*facts, changed_at, ",".join(document["tags"]), document["title"]]


def _facts_for_people(document: Json, open_engine: str | None) -> list[Text]:
    tags = Text(one_line(", ".join(document["tags"])), "cyan")
    tags.truncate(_TAGS_COLUMNS, overflow="ellipsis")
    size = Text(readable_size(document["size_bytes"]))
    changed = Text(local_time(document["updated_at"] or document["created_at"]), "dim")
    title = Text(one_line(document["title"]), title_style(document["id"], open_engine))
    return [Text(f"{document['id']}"), Text(one_line(document["doc_type"])), size, changed, tags, title]


def _show_chunks(console: Console, document: Json) -> None:
    place: list[str] = []
    for chunk in document["chunks"]:
        if place_of(chunk, document["format"]) != place:
            place = place_of(chunk, document["format"])
            console.print(Text(f"\n{one_line(' · '.join(place))}", "dim"))
        print(f"\n{clean(chunk['text'])}")
