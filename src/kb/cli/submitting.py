"""Files on their way into the engine: sent one by one, then waited for, then told about."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import httpx

from kb.cli.calling import Failure, failure_of
from kb.cli.exits import Exit
from kb.cli.render.adding import QUEUE_IS_FULL, job_failure, left_out, show_job
from kb.cli.render.problems import cannot_be_read
from kb.cli.render.progress import ShowProgress, describe_progress, progress
from kb.cli.render.terminal import complain, print_json
from kb.cli.sources import Source
from kb.client import EngineClient, Json

Outcome: TypeAlias = Json | Failure

# What the engine refuses about one file. Anything else it would say of the next one too.
REFUSALS_OF_ONE_FILE = frozenset({400, 413, 415, 422})
UNSUPPORTED_FORMAT = "unsupported_format"


@dataclass(frozen=True)
class Submission:
    """How a source fared: its job, or why there is none."""

    source: Source
    outcome: Outcome


async def submit_files(
    engine: EngineClient,
    sources: Sequence[Source],
    *,
    title: str | None,
    tags: Sequence[str],
    force_ocr: bool,
    wait: bool,
) -> list[Submission]:
    """All are sent before the first is waited for: the engine works meanwhile."""
    is_told = False

    def tell_that_the_queue_is_full() -> None:
        nonlocal is_told
        if not is_told:
            complain(QUEUE_IS_FULL)
        is_told = True

    with progress(len(sources)) as show:
        submissions = []
        submit = partial(engine.submit_file, title=title, tags=tags, force_ocr=force_ocr)
        for source in sources:
            show(source.label, 0)
            outcome = await _submit(submit, source, on_full=tell_that_the_queue_is_full)
            submissions.append(Submission(source, outcome))
        if not wait:
            return submissions
        finished = []
        for submission in submissions:
            finished.append(await _finish(engine, submission, show))
            show(submission.source.label, 1)
        return finished


async def _submit(submit: Callable[..., Awaitable[Json]], source: Source, *, on_full: Callable[[], None]) -> Outcome:
    while True:
        try:
            return await submit(source.file, source_path=source.source_path)
        except OSError as error:
            return Failure(cannot_be_read(error), Exit.FAILED)
        except httpx.HTTPStatusError as error:
            status = error.response.status_code
            if status in REFUSALS_OF_ONE_FILE:
                return failure_of(error.response)
            if status != httpx.codes.TOO_MANY_REQUESTS:
                raise
            # The queue is full, and grows shorter while we wait.
            on_full()
            await asyncio.sleep(float(error.response.headers.get("Retry-After", "1")))


async def _finish(engine: EngineClient, submission: Submission, show: ShowProgress) -> Submission:
    if isinstance(submission.outcome, Failure):
        return submission

    def show_job(job: Json) -> None:
        show(describe_progress(submission.source.label, job), 0)

    job = await engine.wait_for_job(submission.outcome["id"], on_progress=show_job)
    return Submission(submission.source, job)


def report(submissions: Sequence[Submission], *, as_json: bool) -> Exit:
    """Tell how each fared, and answer with what a script should know of all of them."""
    told = [submission for submission in submissions if not _is_skipped(submission)]
    exits = [_report_one(submission, as_json=as_json) for submission in told]
    failures = [code for code in exits if code is not Exit.DONE]
    skipped = len(submissions) - len(told)
    if skipped:
        complain(left_out(skipped))
    if not failures:
        return Exit.DONE if told else Exit.REFUSED
    return failures[0] if len(submissions) == 1 else Exit.JOB_FAILED


def _is_skipped(submission: Submission) -> bool:
    outcome = submission.outcome
    is_unsupported = isinstance(outcome, Failure) and outcome.code == UNSUPPORTED_FORMAT
    return is_unsupported and not submission.source.is_named


def _report_one(submission: Submission, *, as_json: bool) -> Exit:
    outcome = submission.outcome
    if isinstance(outcome, Failure):
        complain(f"{submission.source.label}: {outcome.sentence}")
        return outcome.exit
    return report_job(outcome, label=submission.source.label, as_json=as_json)


def report_job(job: Json, *, label: str, as_json: bool) -> Exit:
    if as_json:
        print_json(job)
    if job["status"] in {"failed", "cancelled"}:
        complain(job_failure(job, label))
        return Exit.JOB_FAILED
    if not as_json:
        show_job(job, label)
    return Exit.DONE
