"""The command `doctor`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.exits import Exit
from kb.cli.options import DataDir, EngineUrl

if TYPE_CHECKING:
    from kb.cli.doctor import Check


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
    from kb.cli.doctor import Verdict, worst_of
    from kb.cli.doctor.examination import Doctor
    from kb.cli.ending import ending_plainly
    from kb.cli.render.doctor import describe, show_check, show_verdict
    from kb.cli.render.terminal import print_json

    checks: list[Check] = []

    def tell(check: "Check") -> None:
        checks.append(check)
        if not as_json:
            show_check(check)

    with ending_plainly():
        outcome = Doctor(tell, quick=quick, repair=repair).examine(engine_url, data_dir)
    if as_json:
        print_json(describe(checks))
    else:
        show_verdict(checks)
    if outcome is Exit.DONE and worst_of(checks) is Verdict.WRONG:
        outcome = Exit.FAILED
    raise typer.Exit(outcome)
