"""Commands that look: `search`, `status`."""

from typing import Annotated

import typer

from kb.cli.options import AsJson, EngineUrl, Mode, Tag, Tags, join_tags, read_text


def search(
    query: Annotated[list[str], typer.Argument(metavar="QUERY", help="What to look for.")],
    *,
    top: Annotated[int, typer.Option("--top", min=1, max=200, help="How many hits at most.")] = 10,
    tags: Tags = None,
    tag: Tag = None,
    mode: Annotated[
        Mode, typer.Option("--mode", help="By words (fts), by meaning (vector), or both (hybrid).")
    ] = Mode.HYBRID,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Search everything by words and by meaning.

    "Double quotes" ask for a phrase, -word leaves a word out: kb search '"spare key" -car'
    """
    from kb.cli.calling import call_engine
    from kb.cli.render.searching import show_hits
    from kb.cli.render.terminal import print_json

    words = read_text(" ".join(query))
    wanted = join_tags(tags, tag)
    answer = call_engine(engine_url, lambda engine: engine.search(words, top=top, mode=mode.value, tags=wanted))
    if as_json:
        print_json(answer)
    else:
        show_hits(answer)


def status(*, as_json: AsJson = False, engine_url: EngineUrl = None) -> None:
    """Show how the engine is and what it holds."""
    from kb.cli.calling import call_engine
    from kb.cli.render.status import show_status
    from kb.cli.render.terminal import print_json

    answer = call_engine(engine_url, lambda engine: engine.get_status())
    if as_json:
        print_json(answer)
    else:
        show_status(answer)
