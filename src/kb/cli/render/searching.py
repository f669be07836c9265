"""What a search has found."""

import re

from rich.text import Text

from kb.cli.render.terminal import Json, complain, one_line, open_console, place_of, print_indented

_MARKED = re.compile(r"\*\*(.+?)\*\*")


def show_hits(answer: Json) -> None:
    console = open_console()
    for rank, hit in enumerate(answer["results"], start=1):
        title = Text.assemble((f"{rank:>2}  ", "dim"), (one_line(hit["title"]), "bold"))
        console.print(title, Text(f"{hit['relevance']:.2f}", "cyan"), sep="  ")
        place = [f"document {hit['document_id']}", *place_of(hit)]
        place += [f"tags: {', '.join(hit['tags'])}"] if hit["tags"] else []
        print_indented(console, Text(one_line(" · ".join(place)), "dim"))
        print_indented(console, _marked(one_line(hit["snippet"]), styled=console.is_terminal))
    if not answer["results"]:
        complain("Nothing was found. Try other words, fewer tags, or `kb status` to see what is there.")
    if answer.get("suggestion"):
        complain(f"Did you mean: {answer['suggestion']}")
    if answer.get("degraded"):
        complain("Searched by words only: the embedding model is still loading.")


def _marked(snippet: str, *, styled: bool) -> Text:
    """Where no style can be shown, the marks stay."""
    if not styled:
        return Text(snippet)
    text = Text()
    position = 0
    for match in _MARKED.finditer(snippet):
        text.append(snippet[position : match.start()]).append(match[1], "bold yellow")
        position = match.end()
    return text.append(snippet[position:])
