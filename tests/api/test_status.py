import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from starlette.testclient import TestClient
from tests.api_calls import OPEN, V1, AddDocument, assert_problem
from tests.engine_in_process import serving

from kb.access import Access
from kb.engine.api.app import create_app
from kb.engine.errors import Unavailable
from kb.engine.model import Computing, EmbeddingModel, Vector, Vectors
from kb.engine.ports import Embedder
from kb.engine.wiring import Engine


class UnreadyEmbedder:
    """An embedder whose model is still loading, or never will."""

    def __init__(self, model: EmbeddingModel, failure: str | None) -> None:
        self.model = model
        self.is_ready = False
        self.failure = failure
        self.computing = Computing()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        raise Unavailable("The embedding model is still being loaded; try again shortly.")

    def embed_query(self, text: str) -> Vector:
        raise Unavailable("The embedding model is still being loaded; try again shortly.")

    def token_spans(self, text: str) -> list[tuple[int, int]]:
        raise Unavailable("The embedding model is still being loaded; try again shortly.")


@pytest.fixture(params=[None, "The weights are damaged."])
def unready_api(request: pytest.FixtureRequest, engine: Engine, embedder: Embedder) -> Iterator[TestClient]:
    unready = replace(engine, embedder=UnreadyEmbedder(embedder.model, request.param))
    with TestClient(create_app(unready, OPEN), raise_server_exceptions=False) as client:
        yield client


def test_e20_status_tells_what_is_there(api: TestClient, add_note: AddDocument, add_file: AddDocument) -> None:
    add_note("four")
    document = add_file("eleven more")
    api.post(f"{V1}/jobs", json={"type": "note", "text": "waiting"})

    status = api.get(f"{V1}/status").json()

    assert status["version"] == "3.0.0"
    assert status["schema_version"] >= 3
    assert status["model"].keys() >= {"name", "dimension", "window", "loaded"}
    assert status["documents"] == {"total": 2, "by_type": {"note": 1, "txt": 1}}
    assert (status["chunks"], status["vectors"], status["size_bytes"]) == (2, 2, 15)
    assert status["queue"] == {"queued": 1, "running": 0, "failed": 0}
    assert status["storage"].keys() >= {"data_dir", "originals", "database"}
    assert status["configuration"].keys() >= {"chunk_size", "max_file_size_mb", "embedding_model"}
    assert status["health"] == {
        "status": "healthy",
        "vector_db_connected": True,
        "storage_accessible": True,
        "embedding_model_loaded": True,
        "issues": [],
    }
    assert status["last_updated"] == document["created_at"]


def test_e20_status_tells_what_the_caller_s_key_allows(open_api: Callable[[Access], TestClient]) -> None:
    api = open_api(replace(OPEN, writing_keys=("full",), reading_keys=("reading",)))

    for key, access in (("full", "write"), ("reading", "read")):
        assert api.get(f"{V1}/status", headers={"Authorization": f"Bearer {key}"}).json()["access"] == access


@pytest.mark.parametrize("authorization", ["", "Bearer reading"])
def test_e20_an_engine_without_a_key_lets_everyone_write(
    open_api: Callable[[Access], TestClient], authorization: str
) -> None:
    api = open_api(replace(OPEN, reading_keys=("reading",)))

    assert api.get(f"{V1}/status", headers={"Authorization": authorization}).json()["access"] == "write"


def test_e20_an_empty_base_has_a_status_too(api: TestClient) -> None:
    status = api.get(f"{V1}/status").json()

    assert (status["documents"]["total"], status["last_updated"]) == (0, None)


def test_e20_an_issue_is_named(engine: Engine) -> None:
    troubled = replace(engine, list_issues=lambda: ["The worker is not running."])

    with TestClient(create_app(troubled, OPEN)) as api:
        status = api.get(f"{V1}/status").json()
        ready = api.get("/health/ready")

    assert status["health"]["status"] == "degraded"
    assert status["health"]["issues"] == ["The worker is not running."]
    assert assert_problem(ready, 503, "unavailable")["detail"] == "The worker is not running."


def test_e27_a_ready_engine_says_so(api: TestClient) -> None:
    assert api.get("/health/live").json() == {"status": "live"}
    assert api.get("/health/ready").json() == {"status": "ready"}


def test_e27_while_the_model_loads_the_engine_lives_but_is_not_ready(unready_api: TestClient) -> None:
    status = unready_api.get(f"{V1}/status").json()

    assert unready_api.get("/health/live").status_code == 200
    assert_problem(unready_api.get("/health/ready"), 503, "unavailable")
    assert status["model"]["loaded"] is False
    assert status["health"]["status"] == "degraded"
    assert len(status["health"]["issues"]) == 1


def test_e27_while_the_model_loads_search_is_by_keyword(unready_api: TestClient, add_note: AddDocument) -> None:
    note = add_note("The walrus rests.")

    hybrid = unready_api.post(f"{V1}/search", json={"query": "walrus"}).json()
    keyword = unready_api.post(f"{V1}/search", json={"query": "walrus", "mode": "fts"}).json()
    vector = unready_api.post(f"{V1}/search", json={"query": "walrus", "mode": "vector"})

    assert hybrid["degraded"] is True
    assert [result["document_id"] for result in hybrid["results"]] == [note["id"]]
    assert hybrid["results"][0]["scores"]["vector"] is None
    assert keyword["degraded"] is False
    assert_problem(vector, 503, "unavailable")


class WaitingEmbedder(UnreadyEmbedder):
    """One whose callers wait for its model until the test lets them go."""

    def __init__(self, model: EmbeddingModel) -> None:
        super().__init__(model, None)
        self.waiting = threading.Semaphore(0)
        self.may_go = threading.Event()

    def embed_query(self, text: str) -> Vector:
        self.waiting.release()
        self.may_go.wait(30)
        return super().embed_query(text)


def test_those_who_wait_for_the_model_keep_nobody_from_searching_by_keyword(
    engine: Engine, add_note: AddDocument, embedder: Embedder
) -> None:
    add_note("The walrus rests.")
    loading = WaitingEmbedder(embedder.model)
    callers = (os.cpu_count() or 1) + 2
    with serving(replace(engine, embedder=loading)) as (http, _), ThreadPoolExecutor(callers) as threads:
        by_vector = [
            threads.submit(http.post, "/search", json={"query": "walrus", "mode": "vector"}) for _ in range(callers)
        ]
        for _ in range(callers):
            assert loading.waiting.acquire(timeout=10)

        found = http.post("/search", json={"query": "walrus"}).json()

        assert found["total"] == 1
        loading.may_go.set()
        assert {answer.result().status_code for answer in by_vector} == {503}


def test_e28_vectors_of_another_model_are_named_and_left_out(
    engine: Engine, add_note: AddDocument, embedder: Embedder
) -> None:
    from kb.engine.storage import open_store

    note = add_note("The walrus rests.")
    store = open_store(engine.options.data_dir, model_fingerprint="another-model")
    try:
        with TestClient(create_app(replace(engine, store=store), OPEN)) as api:
            found = api.post(f"{V1}/search", json={"query": "walrus"}).json()
            by_vector = api.post(f"{V1}/search", json={"query": "walrus", "mode": "vector"})
            health = api.get(f"{V1}/status").json()["health"]
    finally:
        store.close()

    assert [result["document_id"] for result in found["results"]] == [note["id"]]
    assert found["degraded"] is True
    assert_problem(by_vector, 503, "unavailable")
    assert health["status"] == "degraded"
    assert "no vectors of this model" in health["issues"][0]
