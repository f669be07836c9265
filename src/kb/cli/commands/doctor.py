"""Commands that look after a base: `doctor`, `reindex`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.commands.programs import DataDir
from kb.cli.exits import Exit
from kb.cli.options import AsJson, EngineUrl

if TYPE_CHECKING:
    from kb.cli.checks import Check
    from kb.client import EngineClient, Json


def doctor(
    *,
    quick: Annotated[
        bool, typer.Option("--quick", help="Leave out what takes long: reading everything that is stored.")
    ] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Fetch the model if it is missing, and reindex if that helps.")
    ] = False,
    data_dir: DataDir = None,
    engine_url: EngineUrl = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all checks as JSON, in one line.")] = False,
) -> None:
    """Look for what is wrong, and say how to put it right.

    $ kb doctor
    $ kb doctor --quick
    $ kb doctor --repair

    Looks at settings, engine, model, queue, disk, MCP server, and whether everything that is stored is still as it was
    written. Where no engine answers, it looks at the data directory itself, and changes nothing there. --repair only
    makes anew what is derived: documents, notes and tags are never touched.
    """
    from kb.cli.checks import Verdict, worst_of
    from kb.cli.checks.examination import Doctor
    from kb.cli.commands.programs import ending_plainly
    from kb.cli.render.doctor import describe, show_check, show_verdict
    from kb.cli.render.problems import STOPPED
    from kb.cli.render.terminal import complain, print_json

    checks: list[Check] = []

    def tell(check: "Check") -> None:
        checks.append(check)
        if not as_json:
            show_check(check)

    with ending_plainly():
        try:
            outcome = Doctor(tell, quick=quick, repair=repair).examine(engine_url, data_dir)
        except KeyboardInterrupt:
            complain(STOPPED)
            raise typer.Exit(Exit.INTERRUPTED) from None
    if as_json:
        print_json(describe(checks))
    else:
        show_verdict(checks)
    if outcome is Exit.DONE and worst_of(checks) is Verdict.WRONG:
        outcome = Exit.FAILED
    raise typer.Exit(outcome)


def reindex(
    *,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return at once; the job goes on.")] = False,
    engine_url: EngineUrl = None,
    as_json: AsJson = False,
) -> None:
    """Make anew all that searches use, from the originals and notes.

    $ kb reindex
    $ kb reindex --no-wait

    Searches go on meanwhile, with what is there. It is needed after damage (`kb doctor` tells), and helps nothing else.
    """
    from kb.cli.calling import call_engine
    from kb.cli.checks.examination import follow
    from kb.cli.render.doctor import reindex_failed, reindexing_goes_on, show_reindexed, show_reindexing
    from kb.cli.render.terminal import complain, print_json

    begun: Json = {}

    async def work(engine: "EngineClient") -> "Json":
        begun.update(await engine.reindex())
        return begun if no_wait else await follow(engine, begun)

    try:
        job = call_engine(engine_url, work)
    except typer.Exit:
        # Of Ctrl-C, or of an engine that is no longer there: the job is safe in its queue.
        if begun:
            complain(reindexing_goes_on(begun))
        raise
    if as_json:
        print_json(job)
    if job["status"] in {"failed", "cancelled"}:
        complain(reindex_failed(job))
        raise typer.Exit(Exit.JOB_FAILED)
    if not as_json:
        show_reindexing(job) if no_wait else show_reindexed(job)
