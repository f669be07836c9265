from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.api.calls import MAX_FILE_BYTES, OPEN, V1, AddDocument, Json

from kb.engine.api.app import create_app
from kb.engine.ingestion.worker import Worker
from kb.engine.originals import Originals
from kb.engine.ports import Embedder
from kb.engine.storage import open_store
from kb.engine.wiring import Engine, EngineOptions


@pytest.fixture
def engine(tmp_path: Path, embedder: Embedder) -> Iterator[Engine]:
    """An engine on a folder of its own, with the model that all tests of the session share."""
    options = EngineOptions(tmp_path, tmp_path, tmp_path, MAX_FILE_BYTES)
    store = open_store(tmp_path, model_fingerprint=embedder.model.fingerprint)
    yield Engine(store, Originals(tmp_path / "originals"), embedder, options)
    store.close()


@pytest.fixture
def api(engine: Engine) -> Iterator[TestClient]:
    with TestClient(create_app(engine, OPEN), raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def work_off(engine: Engine) -> Callable[[], None]:
    """Do all jobs that are waiting."""
    worker = Worker(engine.pipeline)

    def work() -> None:
        while worker.work_once():
            pass

    return work


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
