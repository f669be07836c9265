"""Tags as people see them."""

from rich.text import Text

from kb.cli.render.tables import print_row, print_table
from kb.cli.render.terminal import Json, complain, one_line, open_console


def show_tag_counts(answer: Json) -> None:
    console = open_console()
    if not answer["tags"]:
        complain("There are no tags yet. `kb tag ID +NAME` gives a document one.")
    elif console.is_terminal:
        rows = [[Text(f"{tag['count']}"), Text(one_line(tag["name"]), "cyan")] for tag in answer["tags"]]
        print_table(console, ("documents", "tag"), rows, right={"documents"})
    else:
        for tag in answer["tags"]:
            print_row(tag["name"], tag["count"])


def show_tags_of(document: Json) -> None:
    """One a line in a pipe; for a person in a line that says whose they are."""
    console = open_console()
    if not document["tags"]:
        complain(f"Document {document['id']} has no tags.")
    elif console.is_terminal:
        console.print(Text.assemble(f"Document {document['id']}: ", (one_line(", ".join(document["tags"])), "cyan")))
    else:
        for tag in document["tags"]:
            print_row(tag)
