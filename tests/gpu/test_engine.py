"""An engine and its worker whose model runs on sentence-transformers: from a note to a search by what it means."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.engine_program import EngineAlone

LACKING = "The model computes on the processor and not on cuda: "


class PatientEngine(EngineAlone):
    # Engine and worker load torch at the same time, perhaps on a machine that others use.
    ready_within_seconds = 240


@pytest.fixture(scope="module")
def engine(unknown_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineAlone]:
    settings = {"KB_EMBEDDING_MODEL": str(unknown_folder), "KB_DEVICE": "cuda"}
    with PatientEngine(tmp_path_factory.mktemp("engine"), settings).running() as program:
        yield program


def test_a_note_is_found_by_what_it_means(engine: EngineAlone) -> None:
    for text in ("The spare key is under the flower pot.", "The ferry leaves at nine."):
        added = engine.run_kb("addnote", text)
        assert added.returncode == 0, added.stderr

    with httpx.Client(base_url=f"{engine.url}/api/v1", trust_env=False, timeout=60) as http:
        found = http.post("/search", json={"query": "how do I unlock the door", "mode": "vector"}).json()

    assert found["results"][0]["text"] == "The spare key is under the flower pot."
    assert found["degraded"] is False


def test_the_device_that_is_missing_is_told_by_log_status_and_doctor(engine: EngineAlone) -> None:
    with httpx.Client(base_url=f"{engine.url}/api/v1", trust_env=False, timeout=60) as http:
        status = http.get("/status").json()
    shown, examined = engine.run_kb("status").stdout, engine.run_kb("doctor", "--quick").stdout

    assert (status["device"], status["model"]["name"]) == ("cpu", "one-more-step")
    assert [issue for issue in status["health"]["issues"] if LACKING in issue]
    assert "one-more-step, loaded, on cpu" in shown
    for told in (shown, examined, engine.log.read_text()):
        assert LACKING in told


def test_the_log_has_no_bars_and_nothing_that_libraries_say(engine: EngineAlone) -> None:
    lines = engine.log.read_text().splitlines()
    expected = (LACKING, "GET /health/ready: The embedding model is still loading.")

    assert [line for line in lines if " engine " not in line and " worker " not in line] == []
    assert [line for line in lines if "SentenceTransformer" in line] == []
    assert [line for line in lines if " WARNING " in line and not any(told in line for told in expected)] == []
