"""Jobs that are in the engine already: found, acted upon one by one, waited for, and told."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpx

from kb.cli.calling import Failure, failure_of
from kb.cli.exits import Exit
from kb.cli.patience import Patience
from kb.cli.render import adding
from kb.cli.render.jobs import name_of
from kb.cli.render.progress import Board, progress_of_jobs, progress_of_steps
from kb.cli.render.terminal import complain
from kb.cli.watching_jobs import JobWatch, Outcome
from kb.client import EngineClient, Json, read_all

# The running ones last: a job that is taken up between the two questions is then not missed.
UNENDED = ("queued", "running")
# What the engine says of one job; of the next one it may say something else.
REFUSALS_OF_ONE_JOB = frozenset({404, 409, 422})


async def read_job_ids(engine: EngineClient, statuses: Sequence[str]) -> list[int]:
    """All of these statuses, the oldest first."""
    pages = (read_all(engine.list_jobs, "jobs", status=status) for status in statuses)
    return sorted({job["id"] for page in pages async for job in page})


async def for_each(
    job_ids: Iterable[str], call: Callable[[str], Awaitable[Json]], tell: Callable[[Json], None]
) -> list[Failure]:
    """Tell each answer as it comes; what is refused of one job does not hold up the others."""
    failures = []
    for job_id in dict.fromkeys(job_ids):
        try:
            tell(await call(job_id))
        except httpx.HTTPStatusError as error:
            if error.response.status_code not in REFUSALS_OF_ONE_JOB:
                raise
            failures.append(failure_of(error.response))
    return failures


def report_failures(failures: Iterable[Failure]) -> Exit:
    """The exit code is that of the first."""
    codes = []
    for failure in failures:
        complain(failure.sentence)
        codes.append(failure.exit)
    return codes[0] if codes else Exit.DONE


async def follow(engine: EngineClient, job_ids: Sequence[int], *, as_json: bool) -> Exit:
    """Wait until all have ended, and tell of each when it does."""
    code = Exit.DONE
    with progress_of_jobs(len({*job_ids})) as board:

        def tell(job_id: int, outcome: Outcome) -> None:
            nonlocal code
            board.count_done(job_id)
            if isinstance(outcome, Failure):
                board.complain(outcome.sentence)
                told = outcome.exit
            else:
                told = report_job(board, outcome, name_of(outcome), as_json=as_json)
            code = code or told

        def show(job: Json) -> None:
            board.show_job(job["id"], name_of(job), job)

        watch = JobWatch(engine, Patience(engine, board.complain), show, tell)
        watch.add(job_ids)
        watch.close()
        await watch.run()
    return code


async def wait_for(engine: EngineClient, job: Json) -> Json:
    """The job when it has ended; a bar shows how far it is."""
    with progress_of_steps() as show:

        def show_job(job: Json) -> None:
            show(str(job["message"] or job["current_step"] or job["status"]), round(job["progress"] * 100), 100)

        return await engine.wait_for_job(job["id"], on_progress=show_job)


def report_job(board: Board, job: Json, label: str, *, as_json: bool) -> Exit:
    """Tell how the job ended, or that it has not; answer with what a script should know."""
    if as_json:
        board.say_json(job)
    if has_failed(job):
        board.complain(adding.job_failure(job, label))
        return Exit.JOB_FAILED
    if not as_json:
        board.say(adding.render_job(job, label))
    return Exit.DONE


def has_failed(job: Json) -> bool:
    return job["status"] in {"failed", "cancelled"}
