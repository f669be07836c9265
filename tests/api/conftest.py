import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from starlette.testclient import TestClient
from tests.api.calls import MAX_FILE_BYTES, OPEN, V1, AddDocument, Json
from tests.contract.samples import work_off as work_off_jobs
from tests.folders import open_folder

from kb.access import Access
from kb.engine.api.app import create_app, create_routes
from kb.engine.api.guard import Guard
from kb.engine.api.unread import render_unread
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Embedder
from kb.engine.reserve import Reserve
from kb.engine.storage import open_store
from kb.engine.wiring import Engine, EngineOptions
from kb.listening import listen, url_of
from kb.serving import Limits, configure_server


@contextmanager
def open_engine_with(embedder: Embedder) -> Iterator[Engine]:
    """An engine on a folder of its own, with the model that all tests of the session share."""
    with open_folder() as name:
        folder = Path(name)
        store = open_store(folder, model_fingerprint=embedder.model.fingerprint)
        options = EngineOptions(folder, folder, folder, MAX_FILE_BYTES)
        try:
            engine = Engine(store, FolderOriginals(folder / "originals"), embedder, options, Reserve(folder))
            store.adopt_model(now=engine.clock())
            # A stream of events has to end here, since the test client waits for the whole of an answer.
            yield replace(engine, is_stopping=lambda: True)
        finally:
            store.close()


@contextmanager
def serving(engine: Engine) -> Iterator[tuple[httpx.Client, uvicorn.Server]]:
    """The API on a socket, as the program serves it."""
    with listen("127.0.0.1", 0, "KB_PORT") as listener:
        app = create_app(
            replace(engine, is_stopping=lambda: server.should_exit), replace(OPEN, hosts=(listener.getsockname()[0],))
        )
        config = configure_server(app, render=render_unread, limits=Limits(), shutdown_within_seconds=60)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        limits = httpx.Limits(max_connections=None)
        try:
            with httpx.Client(base_url=url_of(listener) + V1, trust_env=False, timeout=10, limits=limits) as http:
                yield http, server
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture
def engine(embedder: Embedder) -> Iterator[Engine]:
    with open_engine_with(embedder) as engine:
        yield engine


@pytest.fixture(scope="session")
def routes() -> FastAPI:
    """Made once: it takes longer than most tests, and knows nothing but the engine it is given."""
    return create_routes()


@pytest.fixture
def open_api(routes: FastAPI, engine: Engine) -> Iterator[Callable[[Access], TestClient]]:
    """Makes a client of the engine behind a guard of one's choice."""
    routes.state.engine = engine
    with ExitStack() as stack:

        def open_behind(access: Access) -> TestClient:
            guard = Guard(routes, access, max_file_bytes=MAX_FILE_BYTES)
            return stack.enter_context(TestClient(guard, raise_server_exceptions=False))

        yield open_behind


@pytest.fixture
def api(open_api: Callable[[Access], TestClient]) -> TestClient:
    return open_api(OPEN)


@pytest.fixture
def work_off(engine: Engine) -> Callable[[], None]:
    """Do all jobs that are waiting."""
    return lambda: work_off_jobs(engine.pipeline)


@pytest.fixture
def add_note(api: TestClient, work_off: Callable[[], None]) -> AddDocument:
    def add(text: str, **fields: object) -> Json:
        submitted = api.post(f"{V1}/jobs", json={"type": "note", "text": text, **fields})
        assert submitted.status_code == 202, submitted.text
        work_off()
        return _document_of(api, submitted.json()["id"])

    return add


@pytest.fixture
def add_file(api: TestClient, work_off: Callable[[], None]) -> AddDocument:
    def add(content: str, name: str = "a.txt", **fields: object) -> Json:
        submitted = api.post(f"{V1}/jobs", files={"file": (name, content.encode())}, data=fields)
        assert submitted.status_code == 202, submitted.text
        work_off()
        return _document_of(api, submitted.json()["id"])

    return add


def _document_of(api: TestClient, job_id: int) -> Json:
    job = api.get(f"{V1}/jobs/{job_id}").json()
    assert job["status"] == "completed", job
    document: Json = api.get(f"{V1}/documents/{job['document_id']}").json()
    return document
