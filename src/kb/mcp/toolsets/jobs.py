"""What became of work that the engine took on."""

import asyncio
from collections import deque

from kb.client import EngineClient, Json
from kb.mcp.answers import fit_document
from kb.mcp.errors import ToolError

# Most clients give up after 60 seconds.
ANSWER_WITHIN_SECONDS = 50.0


def accept_job(job: Json) -> Json:
    """The engine's job as an answer. Raises `ToolError` if it has failed or was cancelled."""
    if job["status"] == "failed":
        failure = job["error"]
        raise ToolError(failure["code"], failure["message"], job_id=job["job_id"])
    if job["status"] == "cancelled":
        raise ToolError("job_cancelled", "The job was cancelled. Add it again if it is wanted.", job_id=job["job_id"])
    # Nothing went wrong so far; and in an answer `error` means that the call failed.
    return {name: value for name, value in job.items() if name != "error"}


async def wait_for_document(engine: EngineClient, job: Json) -> Json:
    """The job with the document that it has become, or with advice if that takes too long to wait for."""
    seen = deque([job], maxlen=1)
    try:
        async with asyncio.timeout(ANSWER_WITHIN_SECONDS):
            finished = await engine.wait_for_job(job["job_id"], on_progress=seen.append)
    except TimeoutError:
        return {
            "job_id": job["job_id"],
            "status": seen[0]["status"],
            "message": f"The job is still at work. Look again later: kb_jobs with job_id={job['job_id']}.",
        }
    completed = accept_job(finished)
    document = await engine.get_document(completed["document_id"], chunks=False)
    # The caller has just sent the text.
    document.pop("text", None)
    return {"job_id": job["job_id"], "status": completed["status"], "document": fit_document(document)}
