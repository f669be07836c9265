"""The search route."""

import time

from fastapi import APIRouter, Response

from kb.engine.api.answers import SearchAnswer
from kb.engine.api.bodies import SearchBody
from kb.engine.api.measuring import MeasurementsDep
from kb.engine.api.parameters import EngineDep
from kb.engine.search.hybrid import search

router = APIRouter(tags=["search"])


@router.post("/search", name="search", response_model=SearchAnswer)
def search_documents(engine: EngineDep, measurements: MeasurementsDep, body: SearchBody) -> Response:
    started = time.perf_counter()
    request = body.to_request()
    outcome = search(engine.store, engine.embedder, request)
    seconds = time.perf_counter() - started
    measurements.search_seconds.add(request.mode.value, seconds)
    answer = SearchAnswer.of(outcome, seconds * 1000)
    # Serialised here: handed to the framework, every field would be validated once more.
    return Response(answer.model_dump_json(), media_type="application/json")
