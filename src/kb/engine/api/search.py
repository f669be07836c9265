"""The search route."""

import os
import time

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request, Response

from kb.engine.api.answers import SearchAnswer, render_search
from kb.engine.api.bodies import SearchBody
from kb.engine.api.metrics import Measurements, MeasurementsDep
from kb.engine.api.parameters import EngineDep
from kb.engine.search.hybrid import search
from kb.engine.wiring import Engine

router = APIRouter(tags=["search"])


def make_turns() -> CapacityLimiter:
    """As many searches at a time as there are cores, and one that comes or goes.

    More would be slower each, and no more of them done: they would only take Python's lock from one another.
    """
    return CapacityLimiter((os.cpu_count() or 1) + 1)


@router.post("/search", name="search", response_model=SearchAnswer)
async def search_documents(
    request: Request, engine: EngineDep, measurements: MeasurementsDep, body: SearchBody
) -> Response:
    # Who waits for the model must not keep those waiting who can do without.
    turns: CapacityLimiter | None = request.app.state.search_turns if engine.embedder.is_ready else None
    return await to_thread.run_sync(_search, engine, measurements, body, limiter=turns)


def _search(engine: Engine, measurements: Measurements, body: SearchBody) -> Response:
    started = time.perf_counter()
    request = body.to_request()
    outcome = search(engine.store, engine.embedder, request)
    seconds = time.perf_counter() - started
    measurements.search_seconds.add(request.mode.value, seconds)
    return Response(render_search(outcome, seconds * 1000), media_type="application/json")
