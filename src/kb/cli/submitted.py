"""Jobs that are in the engine already: found, acted upon one by one, and waited for."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence

import httpx

from kb.cli.adding.submitting import report_job
from kb.cli.calling import Failure, failure_of
from kb.cli.exits import Exit
from kb.cli.render.jobs import bars_of_jobs, name_of
from kb.cli.render.terminal import complain
from kb.client import EngineClient, Json

JOBS_A_CALL = 1000
# The running ones last: a job that is taken up between the two questions is then not missed.
UNENDED = ("queued", "running")
# What the engine says of one job; of the next one it may say something else.
REFUSALS_OF_ONE_JOB = frozenset({404, 409, 422})


async def read_jobs(engine: EngineClient, statuses: Sequence[str]) -> list[Json]:
    """All of these statuses, the oldest first."""
    found: dict[int, Json] = {}
    for status in statuses:
        offset, total = 0, 1
        while offset < total:
            page = await engine.list_jobs(status=status, limit=JOBS_A_CALL, offset=offset)
            found |= {job["id"]: job for job in page["jobs"]}
            offset, total = offset + JOBS_A_CALL, page["total"]
    return [found[job_id] for job_id in sorted(found)]


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


async def follow(engine: EngineClient, jobs: Sequence[Json], *, as_json: bool) -> Exit:
    """Wait until all have ended, and tell of each when it does."""
    code = Exit.DONE
    with bars_of_jobs(len(jobs)) as bars:
        waiting = [engine.wait_for_job(job["id"], on_progress=bars.show) for job in jobs]
        for ended in asyncio.as_completed(waiting):
            job = await ended
            with bars.aside():
                code = report_job(job, label=name_of(job), as_json=as_json) or code
    return code
