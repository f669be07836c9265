"""Commands on jobs: `jobs`, `cancel`, `retry`."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.completion.candidates import complete_jobs
from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.options import AsJson, EngineUrl, Yes

if TYPE_CHECKING:
    from kb.client import EngineClient, Json

JobIds = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help="Numbers or UUIDs of jobs.", autocompletion=complete_jobs)
]


class Status(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


def jobs(
    job_ids: JobIds = None,
    *,
    status: Annotated[Status | None, typer.Option("--status", help="Only those of this status.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, metavar="N", help="How many jobs at most.")] = 20,
    offset: Annotated[
        int, typer.Option("--offset", min=0, metavar="N", help="How many of the newest to leave out.")
    ] = 0,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Wait for them, or else for all that have not ended, and tell.")
    ] = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """List jobs, the newest first.

    $ kb jobs
    $ kb jobs --status failed
    $ kb jobs 17
    $ kb jobs --follow

    A job is the work on one file or note that was added. With numbers you see all there is to know of these, with the
    error and what to do. With --follow the exit code is 7 if one of them failed.
    """
    if (job_ids or follow) and (status or offset):
        raise typer.BadParameter("--status and --offset are for the list.")
    if follow:
        _follow_jobs(job_ids or [], engine_url, as_json=as_json)
    elif job_ids:
        _show_jobs(job_ids, engine_url, as_json=as_json)
    else:
        _list_jobs(status, engine_url, limit=limit, offset=offset, as_json=as_json)


def cancel(
    job_ids: JobIds = None,
    *,
    all_jobs: Annotated[bool, typer.Option("--all", help="All that have not ended.")] = False,
    yes: Yes = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Cancel jobs that have not ended.

    $ kb cancel 17 18
    $ kb cancel --all

    Nothing of a cancelled job can be searched. `kb retry` takes it up again.
    """
    from kb.cli.calling import call_engine
    from kb.cli.jobs import for_each, report_failures
    from kb.cli.render.jobs import show_cancelled
    from kb.cli.render.terminal import print_json

    if all_jobs == bool(job_ids):
        raise typer.BadParameter("Give the numbers of jobs, or --all.")
    wanted = _unended_that_may_go(engine_url, yes=yes) if all_jobs else job_ids or []
    tell = print_json if as_json else show_cancelled
    failures = call_engine(engine_url, lambda engine: for_each(wanted, engine.cancel_job, tell))
    # Of all, some may have ended while the user was asked.
    serious = [failure for failure in failures if not (all_jobs and failure.code == "job_finished")]
    raise typer.Exit(report_failures(serious))


def _unended_that_may_go(engine_url: str | None, *, yes: bool) -> list[str]:
    """The ids of all jobs that have not ended, if the user agrees. Ends the command if not, or if there are none."""
    from kb.cli.calling import call_engine
    from kb.cli.confirming import require_consent
    from kb.cli.jobs import UNENDED, read_job_ids
    from kb.cli.render.jobs import NOBODY_TO_ASK, NONE_UNENDED, NOTHING_CANCELLED, question_before_cancelling

    found = call_engine(engine_url, lambda engine: read_job_ids(engine, UNENDED))
    if not found:
        end_with(NONE_UNENDED, Exit.DONE)
    question = question_before_cancelling(len(found))
    require_consent(question, yes=yes, refusal=NOTHING_CANCELLED, nobody_to_ask=NOBODY_TO_ASK)
    return [str(job_id) for job_id in found]


def retry(
    job_ids: JobIds = None,
    *,
    failed: Annotated[bool, typer.Option("--failed", help="All that failed.")] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Return once they are queued again.")] = False,
    as_json: AsJson = False,
    engine_url: EngineUrl = None,
) -> None:
    """Try jobs again that failed or were cancelled.

    $ kb retry 17
    $ kb retry --failed --no-wait

    It waits for them to end, unless told otherwise.
    """
    from kb.cli.calling import call_engine
    from kb.cli.jobs import follow, for_each, read_job_ids, report_failures
    from kb.cli.render.jobs import NONE_FAILED, show_queued
    from kb.cli.render.terminal import complain, print_json

    if failed == bool(job_ids):
        raise typer.BadParameter("Give the numbers of jobs, or --failed.")

    async def retry_all(engine: "EngineClient") -> Exit:
        wanted = job_ids or [str(job_id) for job_id in await read_job_ids(engine, [Status.FAILED])]
        if not wanted:
            complain(NONE_FAILED)
        queued: list[int] = []

        def note(job: "Json") -> None:
            queued.append(job["id"])
            if no_wait:
                (print_json if as_json else show_queued)(job)

        failures = await for_each(wanted, engine.retry_job, note)
        ended = Exit.DONE if no_wait else await follow(engine, queued, as_json=as_json)
        refused = report_failures(failures)
        return ended or refused

    raise typer.Exit(call_engine(engine_url, retry_all))


def _follow_jobs(job_ids: list[str], engine_url: str | None, *, as_json: bool) -> None:
    from kb.cli.calling import call_engine
    from kb.cli.jobs import UNENDED, follow, for_each, read_job_ids, report_failures
    from kb.cli.render.jobs import NONE_UNENDED
    from kb.cli.render.terminal import complain

    async def follow_all(engine: "EngineClient") -> Exit:
        found = [] if job_ids else await read_job_ids(engine, UNENDED)
        failures = await for_each(job_ids, engine.get_job, lambda job: found.append(job["id"]))
        if not found and not failures:
            complain(NONE_UNENDED)
        ended = await follow(engine, found, as_json=as_json)
        refused = report_failures(failures)
        return ended or refused

    raise typer.Exit(call_engine(engine_url, follow_all))


def _show_jobs(job_ids: list[str], engine_url: str | None, *, as_json: bool) -> None:
    from kb.cli.calling import call_engine
    from kb.cli.jobs import for_each, report_failures
    from kb.cli.render.jobs import show_in_full
    from kb.cli.render.terminal import print_json

    tell = print_json if as_json else show_in_full
    failures = call_engine(engine_url, lambda engine: for_each(job_ids, engine.get_job, tell))
    raise typer.Exit(report_failures(failures))


def _list_jobs(status: Status | None, engine_url: str | None, *, limit: int, offset: int, as_json: bool) -> None:
    from kb.cli.calling import call_engine
    from kb.cli.render.jobs import show_jobs
    from kb.cli.render.terminal import print_json

    page = call_engine(engine_url, lambda engine: engine.list_jobs(status=status, limit=limit, offset=offset))
    (print_json if as_json else show_jobs)(page)
