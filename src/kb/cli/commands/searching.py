"""The command `search`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.filters import DocType, Format, Meta, Since, SourcePath, Until, build_filters, locate
from kb.cli.options import AsJson, EngineUrl, Mode, Tag, Tags, join_tags, read_text

if TYPE_CHECKING:
    from kb.client import Json

# The engine goes no further.
LAST_OFFSET = 10_000


def _require_share(given: float | None) -> float | None:
    # Not by the option's own limits: neither is passed by what is no number at all.
    if given is not None and not 0 <= given <= 1:
        raise typer.BadParameter("It must be a number from 0 to 1.")
    return given


Query = Annotated[
    list[str], typer.Argument(metavar="QUERY", help="What to look for; `-` reads it from standard input.")
]
Top = Annotated[int, typer.Option("--top", metavar="N", min=1, max=200, help="How many hits at most.")]
Page = Annotated[int | None, typer.Option("--page", metavar="N", min=1, help="Which page of so many hits.")]
Offset = Annotated[
    int | None, typer.Option("--offset", metavar="N", min=0, max=LAST_OFFSET, help="How many hits to leave out.")
]
MinRelevance = Annotated[
    float | None, typer.Option(metavar="0..1", help="Leave out what is less relevant.", callback=_require_share)
]
ByDocument = Annotated[bool, typer.Option("--by-document", help="Only the best hit of each document.")]
ByMode = Annotated[Mode, typer.Option("--mode", help="By words (fts), by meaning (vector), or both (hybrid).")]
Full = Annotated[bool, typer.Option("--full", help="Show all of the text that was found, not a snippet.")]
Why = Annotated[bool, typer.Option("--why", help="Show what found each hit, and both scores.")]
AsJsonLines = Annotated[bool, typer.Option("--jsonl", help="Print the JSON of each hit, one a line.")]


def search(
    context: typer.Context,
    query: Query,
    *,
    top: Top = 10,
    page: Page = None,
    offset: Offset = None,
    tags: Tags = None,
    tag: Tag = None,
    doc_type: DocType = None,
    format: Format = None,
    since: Since = None,
    until: Until = None,
    source_path: SourcePath = None,
    meta: Meta = None,
    min_relevance: MinRelevance = None,
    by_document: ByDocument = False,
    mode: ByMode = Mode.HYBRID,
    full: Full = False,
    why: Why = False,
    as_json: AsJson = False,
    as_jsonl: AsJsonLines = False,
    engine_url: EngineUrl = None,
) -> None:
    """Search everything by words and by meaning.

    $ kb search where is the spare key
    $ kb search '"spare key" -car' --tag home --since 2026-01-01
    $ kb search invoice --type pdf --by-document --jsonl

    "Double quotes" ask for a phrase, -word leaves a word out, and behind -- all are words: kb search -- --force
    """
    from kb.cli.calling import call_engine
    from kb.cli.render.links import find_open_engine
    from kb.cli.render.searching import show_hits
    from kb.cli.render.terminal import print_json

    if as_json and as_jsonl:
        raise typer.BadParameter("--json and --jsonl exclude one another. Give one of them.")
    begin, words = _find_beginning(top, page, offset), read_text(" ".join(query))
    named = {"doc_type": doc_type, "format": format, "source_path": locate(source_path)}
    limits: Json = {"top": top, "offset": begin, "min_relevance": min_relevance, "mode": mode.value}
    scope: Json = {"tags": join_tags(tags, tag), "filters": build_filters(named, since, until, meta or ())}
    grouping = "document" if by_document else "chunk"
    answer = call_engine(engine_url, lambda engine: engine.search(words, **limits, **scope, group_by=grouping))
    if as_json:
        print_json(answer)
    elif as_jsonl:
        for hit in answer["results"]:
            print_json(hit)
    else:
        show_hits(answer, first=begin + 1, full=full, why=why, open_engine=find_open_engine(engine_url))
    if not as_json:
        _remark_on(answer, context, begin)


def _find_beginning(top: int, page: int | None, offset: int | None) -> int:
    """How many hits to leave out."""
    if page is not None and offset is not None:
        raise typer.BadParameter("--page and --offset both say where to begin. Give one of them.")
    begin = offset or top * ((page or 1) - 1)
    if begin > LAST_OFFSET:
        raise typer.BadParameter(f"No search goes beyond hit {LAST_OFFSET}. Ask for an earlier page.")
    return begin


def _remark_on(answer: "Json", context: typer.Context, begin: int) -> None:
    """What the hits do not tell, each with the command that goes on from here."""
    from kb.cli.render.next_command import command_again
    from kb.cli.render.searching import remark_on_hits

    end, params = begin + len(answer["results"]), context.params
    # A page of very large hits ends early. Then `page` + 1 would skip hits, so the next page is given by its offset.
    is_short = len(answer["results"]) < params["top"]
    by_offset = is_short or params["offset"] is not None
    next_page = {"page": None, "offset": end} if by_offset else {"page": (params["page"] or 1) + 1}
    has_more = end < min(answer["total"], LAST_OFFSET)
    suggestion = answer.get("suggestion")
    remark_on_hits(
        answer,
        more=command_again(context, **next_page) if has_more else None,
        suggested=command_again(context, query=suggestion, page=None, offset=None) if suggestion else None,
    )
