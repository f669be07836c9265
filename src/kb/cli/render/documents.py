"""Documents as people see them."""

from collections.abc import Sequence

from rich.text import Text

from kb.cli.render.terminal import Json, clean, counted, one_line, open_console, place_of

NOBODY_TO_ASK = "This deletes for good, and there is no terminal to ask on. Add --yes if you mean it."
NOTHING_DELETED = "Nothing was deleted."


def question_before_deleting(documents: Sequence[Json]) -> str:
    listed = "".join(f"  {document['id']}  {one_line(document['title'])}\n" for document in documents)
    return f"{listed}Delete {counted(len(documents), 'document')} for good?"


def show_deleted(deleted: Json) -> None:
    open_console().print(one_line(f"Document {deleted['document_id']} deleted: {deleted['title']}"))


def show_document(document: Json) -> None:
    console = open_console()
    facts = [f"document {document['id']}", document["doc_type"], f"version {document['version']}"]
    facts += [f"tags: {', '.join(document['tags'])}"] if document["tags"] else []
    facts.append(f"added {document['created_at']}")
    facts += [f"changed {document['updated_at']}"] if document["updated_at"] else []
    facts += [document["source_path"]] if document["source_path"] else []
    console.print(Text(one_line(document["title"]), "bold"))
    console.print(Text(one_line(" · ".join(facts)), "dim"))
    if "text" in document:
        console.print(f"\n{clean(document['text'])}")
        return
    place: list[str] = []
    for chunk in document["chunks"]:
        if place_of(chunk) != place:
            place = place_of(chunk)
            console.print(Text(f"\n{one_line(' · '.join(place))}", "dim"))
        console.print(f"\n{clean(chunk['text'])}")
