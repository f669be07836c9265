"""The HTTP API: routes put together, behind the guard."""

import secrets
import threading

from fastapi import APIRouter, Depends, FastAPI
from starlette.types import ASGIApp

from kb.access import Access
from kb.engine.api import (
    audit,
    bundles,
    documents,
    events,
    integrity,
    jobs,
    mapping,
    metrics,
    notes,
    pages,
    reindexing,
    search,
    status,
    tags,
)
from kb.engine.api.errors import add_error_handlers
from kb.engine.api.events import Feed
from kb.engine.api.guard import Guard
from kb.engine.api.large_answers import LargeAnswers
from kb.engine.api.metrics import Measured, Measurements
from kb.engine.api.openapi import describe_problems
from kb.engine.api.parameters import refuse_unread_parameters
from kb.engine.api.unread import BoundedBodies
from kb.engine.api.web import add_page
from kb.engine.wiring import Engine
from kb.version import VERSION

RESOURCES = (
    jobs,
    events,
    documents,
    pages,
    notes,
    tags,
    search,
    mapping,
    status,
    metrics,
    audit,
    reindexing,
    integrity,
    bundles,
)


def create_app(engine: Engine, access: Access) -> ASGIApp:
    routes = create_routes(engine)
    guard = Guard(BoundedBodies(routes), access, max_file_bytes=engine.options.max_file_bytes)
    return Measured(guard, routes.state.measurements)


def create_routes(engine: Engine | None = None) -> FastAPI:
    """The routes alone. Without an engine they can be described, but not called."""
    app = FastAPI(
        title="kb engine",
        version=VERSION,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
        dependencies=[Depends(refuse_unread_parameters)],
    )
    app.state.engine = engine
    app.state.integrity_turn = threading.Lock()
    app.state.large_answers = LargeAnswers()
    app.state.search_turns = search.make_turns()
    app.state.page_turns = pages.make_turns()
    app.state.map_turns = mapping.make_turns()
    app.state.feed = Feed()
    app.state.measurements = Measurements()
    # Numbers that the base gives may come again when it is restored, which only happens while no engine runs.
    app.state.started = secrets.token_hex(4)
    v1 = APIRouter(prefix="/api/v1")
    for resource in RESOURCES:
        v1.include_router(resource.router)
    app.include_router(v1)
    app.include_router(status.health_router)
    add_page(app)
    add_error_handlers(app)
    describe_problems(app)
    return app
