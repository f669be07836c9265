"""The command `reindex`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.options import AsJson, EngineUrl

if TYPE_CHECKING:
    from kb.client import EngineClient, Json


def reindex(
    *,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return at once; the job goes on.")] = False,
    engine_url: EngineUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make anew all that searches use, from the originals and notes.

    $ kb reindex
    $ kb reindex --no-wait

    Searches go on meanwhile, with what is there. It is needed after damage (`kb doctor` tells), and after a change to a
    model that sees less text at once.
    """
    from kb.cli.calling import call_engine
    from kb.cli.jobs import has_failed, wait_for
    from kb.cli.render.reindexing import reindex_failed, reindexing_goes_on, show_reindexed, show_reindexing
    from kb.cli.render.terminal import complain, print_json

    begun: Json = {}

    async def work(engine: "EngineClient") -> "Json":
        begun.update(await engine.reindex())
        return begun if no_wait else await wait_for(engine, begun)

    try:
        job = call_engine(engine_url, work)
    except typer.Exit:
        # Of Ctrl-C, or of an engine that is no longer there: the job is safe in its queue.
        if begun:
            complain(reindexing_goes_on(begun))
        raise
    if as_json:
        print_json(job)
    if has_failed(job):
        end_with(reindex_failed(job), Exit.JOB_FAILED)
    if not as_json:
        show_reindexing(job) if no_wait else show_reindexed(job)
