"""What became of work that the engine took on."""

import asyncio
import time
from collections.abc import AsyncIterator

import anyio
import httpx

from kb.client import FINISHED, EngineClient, Json
from kb.mcp.answers import fit_document
from kb.mcp.errors import ToolError
from kb.mcp.tools import Call, ReportProgress

# Most clients give up after 60 seconds, unless they are told of progress.
ANSWER_WITHIN_SECONDS = 50.0
# An engine that migrates its base or replays its log takes a while to start.
ENGINE_RETURNS_WITHIN_SECONDS = 30.0
LOOK_FOR_ENGINE_SECONDS = 0.5
# So often at least, progress or not: a client that hears nothing may give up.
REPEAT_AFTER_SECONDS = 10.0
MOST_UNTIL_COMPLETED = 0.9999


def accept_job(job: Json) -> Json:
    """The engine's job as an answer. Raises `ToolError` if it has failed or was cancelled."""
    if job["status"] == "failed":
        failure = job["error"]
        raise ToolError(failure["code"], failure["message"], job_id=job["job_id"])
    if job["status"] == "cancelled":
        raise ToolError("job_cancelled", "The job was cancelled. Add it again if it is wanted.", job_id=job["job_id"])
    # Nothing went wrong so far; and in an answer `error` means that the call failed.
    return {name: value for name, value in job.items() if name != "error"}


async def wait_for_document(call: Call, job: Json) -> Json:
    """The job with the document that it has become, or with advice if that takes too long to wait for."""
    seen = await follow_job(call, job)
    if seen["status"] not in FINISHED:
        return {
            "job_id": job["job_id"],
            "status": seen["status"],
            "message": f"The job is still at work. Look again later: kb_jobs with job_id={job['job_id']}.",
        }
    completed = accept_job(seen)
    document = await call.engine.get_document(completed["document_id"], chunks=False)
    # The caller has just sent the text.
    document.pop("text", None)
    return {"job_id": job["job_id"], "status": completed["status"], "document": fit_document(document)}


async def follow_job(call: Call, job: Json) -> Json:
    """The job as it ended; or as it stands when a caller who is not told of its progress would give up."""
    progress = _Progress(call.report_progress) if call.report_progress else None
    latest = job
    with anyio.move_on_after(None if progress else ANSWER_WITHIN_SECONDS):
        async for latest in _watch_over_restarts(call.engine, job):
            if progress is not None:
                await progress.report(latest)
    return latest


async def _watch_over_restarts(engine: EngineClient, job: Json) -> AsyncIterator[Json]:
    """As `watch_job`: an engine that is started anew takes its jobs up again."""
    heard_at = time.monotonic()
    while True:
        try:
            async for latest in engine.watch_job(job["uuid"]):
                heard_at = time.monotonic()
                yield latest
        except httpx.TransportError:
            if time.monotonic() > heard_at + ENGINE_RETURNS_WITHIN_SECONDS:
                raise
            await asyncio.sleep(LOOK_FOR_ENGINE_SECONDS)
        else:
            return


def describe_step(job: Json) -> str:
    """What is being done, in words, where the job has none of its own."""
    return {"queued": "Waiting for its turn", "running": "Starting", "completed": "Done"}.get(job["status"], "Ended")


class _Progress:
    """Of one job. What is reported rises each time, as the protocol demands, even where the job's own number falls
    because some pages turned out to be scans."""

    def __init__(self, report: ReportProgress) -> None:
        self._report = report
        self._done = -1.0
        self._message = ""
        self._reported_at = 0.0

    async def report(self, job: Json) -> None:
        message = job["message"] or describe_step(job)
        # The engine rounds: a job of many steps is at 1.0 before it is done, and nothing larger could be told of it.
        done = job["progress"] if job["status"] == "completed" else min(job["progress"], MOST_UNTIL_COMPLETED)
        is_news = done > self._done or message != self._message
        if not is_news and time.monotonic() < self._reported_at + REPEAT_AFTER_SECONDS:
            return
        # A thousandth of what is left: however often, it never gets to 1.
        self._done = max(done, self._done + (1 - self._done) / 1000)
        self._message, self._reported_at = message, time.monotonic()
        await self._report(self._done, message)
