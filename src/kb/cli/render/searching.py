"""What a search has found."""

import re
from collections.abc import Iterable, Sequence
from typing import TypeAlias

from rich.console import Console
from rich.text import Text

from kb.cli.render.links import title_style
from kb.cli.render.places import place_of
from kb.cli.render.terminal import Json, clean, complain, counted, one_line, open_console, print_indented

Span: TypeAlias = tuple[int, int]

_MARKED = re.compile(r"\*\*(.+?)\*\*")
# Chinese, Japanese and Thai are written without spaces: there a word has no edges to look for.
_UNSPACED = re.compile("[\u0e00-\u0eff\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff]")


def show_hits(answer: Json, *, first: int = 1, full: bool = False, why: bool = False, open_engine: str | None) -> None:
    """Numbered from `first` on. `full` shows the whole chunks, `why` what found them."""
    console = open_console()
    for rank, hit in enumerate(answer["results"], first):
        style = title_style(hit["document_id"], open_engine)
        title = Text.assemble((f"{rank:>2}  ", "dim"), (one_line(hit["title"]), style))
        console.print(title, Text(f"{hit['relevance']:.2f}", "cyan"), sep="  ")
        facts = [f"document {hit['document_id']}", *place_of(hit, hit["format"])]
        facts += [f"tags: {', '.join(hit['tags'])}"] if hit["tags"] else []
        print_indented(console, Text(one_line(" · ".join(facts)), "dim"))
        if why:
            print_indented(console, Text(_explain(hit["scores"]), "dim"))
        _show_text(console, *(_mark_all(hit) if full else _read_snippet(one_line(hit["snippet"]))))


def remark_on_hits(answer: Json, *, more: str | None, suggested: str | None) -> None:
    """On stderr; `more` and `suggested` are the commands to go on with, if there is anything to go on to."""
    if not answer["results"] and answer["total"]:
        complain(f"There are no more: {counted(answer['total'], 'hit')} in all.")
    elif not answer["results"]:
        complain("Nothing was found. Try other words, fewer filters, or `kb status` to see what is there.")
    elif more:
        complain(f"There are more, {answer['total']} in all: {more}")
    if suggested:
        complain(f"Did you mean: {suggested}")
    if answer.get("degraded"):
        complain(_explain_degraded(answer["results"]))


def _explain_degraded(hits: Sequence[Json]) -> str:
    if hits and all(hit["scores"]["fts"] is None for hit in hits):
        return "Searched by meaning only: these words are in too many documents to be looked for. Try rarer ones."
    return (
        "Searched by words only: the model or its vectors are not all there yet, or to compare them took too long. "
        "`kb status` tells which."
    )


def _explain(scores: Json) -> str:
    """Each method has a scale of its own, so their numbers are not to be compared with one another."""
    keyword, meaning = scores["fts"], scores["vector"]
    found = [f"by its words (bm25 {keyword:.2f})"] if keyword is not None else []
    found += [f"by its meaning (cosine {meaning:.2f})"] if meaning is not None else []
    return f"found {' and '.join(found)}"


def _show_text(console: Console, text: str, marks: Sequence[Span]) -> None:
    """With its marks as a style; where none can be shown, between `**`."""
    styled = Text(text)
    if console.is_terminal and not console.is_dumb_terminal:
        for begin, end in marks:
            styled.stylize("bold yellow", begin, end)
    else:
        for begin, end in reversed(marks):
            text = f"{text[:begin]}**{text[begin:end]}**{text[end:]}"
        styled = Text(text)
    for line in styled.split("\n", allow_blank=True):
        print_indented(console, line)


def _read_snippet(snippet: str) -> tuple[str, list[Span]]:
    """Its text and what is marked in it."""
    text, marks = "", list[Span]()
    for place, part in enumerate(_MARKED.split(snippet)):
        if place % 2:
            marks.append((len(text), len(text) + len(part)))
        text += part
    return text, marks


def _mark_all(hit: Json) -> tuple[str, list[Span]]:
    """The chunk's whole text, and in it the words that are marked in its snippet."""
    text = clean(hit["text"]).strip()
    marked = set(_MARKED.findall(hit["snippet"]))
    return text, [found.span() for found in re.finditer(_either(marked), text, re.IGNORECASE)] if marked else []


def _either(words: Iterable[str]) -> str:
    patterns = []
    # The longest first: "keyhole" is not "key" and a rest.
    for word in sorted(words, key=len, reverse=True):
        pattern = r"\s+".join(re.escape(part) for part in word.split())
        patterns.append(pattern if _UNSPACED.search(word) else rf"(?<!\w){pattern}(?!\w)")
    return "|".join(patterns)
