"""A device that was asked for and is not there: the engine serves all the same, and says so."""

import logging
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.api_calls import MAX_FILE_BYTES, OPEN, V1

from kb.engine.api.app import create_app
from kb.engine.wiring import Engine, EngineOptions, open_engine

LACKING = "The model computes on the processor and not on rocm: "


@pytest.fixture
def engine(tmp_path: Path, model_folder: Path, cache_dir: Path, caplog: pytest.LogCaptureFixture) -> Iterator[Engine]:
    options = EngineOptions(tmp_path, model_folder, cache_dir / "graphs", MAX_FILE_BYTES, device="rocm")
    with caplog.at_level(logging.WARNING), open_engine(options) as engine:
        while not engine.embedder.is_ready:
            time.sleep(0.001)
        yield engine


@pytest.fixture
def api(engine: Engine) -> Iterator[TestClient]:
    with TestClient(create_app(engine, OPEN)) as api:
        yield api


def test_e20_a_device_that_is_missing_is_an_issue_and_keeps_nobody_from_working(
    api: TestClient, caplog: pytest.LogCaptureFixture
) -> None:
    status = api.get(f"{V1}/status").json()
    found = api.post(f"{V1}/search", json={"query": "walrus", "mode": "vector"})

    assert status["device"] == "cpu"
    assert status["model"]["loaded"] is True
    assert status["health"]["status"] == "degraded"
    (issue,) = [issue for issue in status["health"]["issues"] if LACKING in issue]
    # Once, and not with each request.
    assert [message for record in caplog.get_records("setup") if LACKING in (message := record.message)] == [issue]
    assert caplog.messages == []
    assert api.get("/health/ready").status_code == 200
    assert found.status_code == 200


def test_e20_what_a_worker_lacks_is_an_issue_unless_the_engine_lacks_the_same(api: TestClient, engine: Engine) -> None:
    own = engine.embedder.computing.shortfall
    assert own is not None
    for worker, shortfall in (("one", own), ("two", "It has no device.")):
        engine.store.report_shortfall(
            worker, shortfall, now=engine.clock(), until=engine.clock() + timedelta(minutes=1)
        )

    issues = api.get(f"{V1}/status").json()["health"]["issues"]

    assert issues == [own, "A worker says: It has no device."]
