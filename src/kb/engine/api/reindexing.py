"""The route that has derived data made anew."""

from fastapi import APIRouter, Response

from kb.engine.api.answers import JobAnswer
from kb.engine.api.parameters import EngineDep

router = APIRouter(tags=["upkeep"])


@router.post("/reindex", status_code=202)
def reindex(engine: EngineDep, response: Response) -> JobAnswer:
    """Make chunks, words and vectors of all documents anew, from the originals, in the background."""
    now = engine.clock()
    job = engine.store.add_reindex(now=now)
    engine.wake_worker()
    response.headers["Location"] = f"/api/v1/jobs/{job.id}"
    return JobAnswer.of(job, now)
