from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from tests.api_calls import MAX_FILE_BYTES, OPEN, V1, AddDocument, Json
from tests.engine_in_process import open_engine_with
from tests.handmade_documents import work_off as work_off_jobs

from kb.access import Access
from kb.engine.api.app import create_routes
from kb.engine.api.guard import Guard
from kb.engine.ports import Embedder
from kb.engine.wiring import Engine


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
