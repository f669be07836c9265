from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from tests.api_calls import V1, AddDocument, assert_problem

from kb.engine import integrity
from kb.engine.model import Scrub
from kb.engine.wiring import Engine


@pytest.fixture
def engine(engine: Engine) -> Engine:
    """One that goes on running; that of the other tests is about to stop."""
    return replace(engine, is_stopping=lambda: False)


def harm(engine: Engine, sql: str) -> None:
    """Change the base behind the engine's back."""
    connection = apsw.Connection(str(engine.options.data_dir / "kb.sqlite"))
    connection.execute(sql)
    connection.close()


def original_in(engine: Engine) -> Path:
    (path,) = (engine.options.data_dir / "originals").glob("[0-9a-f][0-9a-f]/*")
    return path


def test_a_whole_base_is_ok(api: TestClient, add_note: AddDocument, add_file: AddDocument) -> None:
    """E21"""
    add_note("four")
    add_file("eleven more")

    answer = api.get(f"{V1}/integrity").json()

    assert answer.pop("took_ms") > 0
    vector_bytes = 2 * 384 * 4
    assert answer == {
        "status": "ok",
        "checked": {
            "documents": 2,
            "chunks": 2,
            "vectors": 2,
            "revisions": 1,
            "originals": 1,
            "bytes": 4 + 4 + 11 + 11 + vector_bytes,
        },
        "problems": [],
        "problem_count": 0,
        "last_scrub": None,
    }


def test_damage_is_told_and_is_no_error_of_the_request(
    api: TestClient, engine: Engine, add_note: AddDocument, add_file: AddDocument
) -> None:
    """E21"""
    note, document = add_note("The walrus rests."), add_file("a file")
    harm(engine, "UPDATE embeddings SET vector = zeroblob(1536) WHERE chunk_id = 1")
    original_in(engine).write_text("A FILE")

    response = api.get(f"{V1}/integrity")

    answer = response.json()
    assert (response.status_code, answer["status"], answer["problem_count"]) == (200, "damaged", 2)
    assert sorted((p["kind"], p["document_id"], p["is_derived"]) for p in answer["problems"]) == [
        ("original", document["id"], False),
        ("vector", note["id"], True),
    ]
    for problem in answer["problems"]:
        assert str(engine.options.data_dir) not in problem["message"]
        assert "walrus" not in problem["message"]


def test_only_one_check_runs_at_a_time(api: TestClient, routes: FastAPI) -> None:
    """E21"""
    with routes.state.integrity_turn:
        refused = api.get(f"{V1}/integrity")

    assert_problem(refused, 429, "too_many_requests")
    assert refused.headers["Retry-After"]
    assert api.get(f"{V1}/integrity").status_code == 200


def test_a_check_that_takes_long_ends_when_the_engine_stops(
    api: TestClient, engine: Engine, routes: FastAPI, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E21"""
    monkeypatch.setattr(integrity, "FINISHED_ANYWAY_SECONDS", 0)
    routes.state.engine = replace(engine, is_stopping=lambda: True)

    stopped = api.get(f"{V1}/integrity")

    assert "stopping" in assert_problem(stopped, 503, "unavailable")["detail"]
    routes.state.engine = engine
    assert api.get(f"{V1}/integrity").status_code == 200


def test_a_check_that_is_interrupted_because_the_store_is_closed_is_no_fault_of_the_engine(
    api: TestClient, engine: Engine
) -> None:
    """E2, E21"""
    engine.store.close()

    stopped = api.get(f"{V1}/integrity")

    assert "stopping" in assert_problem(stopped, 503, "unavailable")["detail"]


def test_damage_that_the_scrub_found_is_an_issue_until_a_check_finds_none(
    api: TestClient, engine: Engine, add_note: AddDocument
) -> None:
    """E20, E21"""
    note = add_note("one")
    engine.store.write_scrub(Scrub(finished_at=engine.clock(), damage_count=2))

    health = api.get(f"{V1}/status").json()["health"]

    assert health["status"] == "degraded"
    assert "found damage (2)" in health["issues"][0]

    harm(engine, "UPDATE documents SET note_text = 'two'")
    damaged = api.get(f"{V1}/integrity").json()
    assert damaged["last_scrub"]["problem_count"] == 2
    assert api.get(f"{V1}/status").json()["health"]["status"] == "degraded"

    api.delete(f"{V1}/documents/{note['id']}")
    assert api.get(f"{V1}/integrity").json()["status"] == "ok"
    assert api.get(f"{V1}/status").json()["health"]["status"] == "healthy"


def test_text_that_is_none_is_damage_and_not_a_fault_of_the_engine(
    api: TestClient, engine: Engine, add_note: AddDocument
) -> None:
    """E2, E21"""
    note = add_note("The walrus rests.")
    harm(engine, "UPDATE chunks SET text = CAST(x'ff' AS TEXT)")

    refused = api.get(f"{V1}/documents/{note['id']}")

    assert "damaged" in assert_problem(refused, 503, "unavailable")["detail"]
    assert api.get(f"{V1}/integrity").json()["status"] == "damaged"


@pytest.mark.parametrize("is_missing", [True, False])
def test_an_original_is_repaired_by_adding_the_file_again(
    api: TestClient, engine: Engine, add_file: AddDocument, *, is_missing: bool
) -> None:
    """E21"""
    document = add_file("the file")
    if is_missing:
        original_in(engine).unlink()
    else:
        original_in(engine).write_text("The file")
    assert api.get(f"{V1}/integrity").json()["status"] == "damaged"

    again = add_file("the file")

    assert again["id"] == document["id"]
    assert api.get(f"{V1}/integrity").json()["problems"] == []


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE chunks SET page_num = 7",
        "UPDATE chunks SET text = replace(text, 'walrus', 'wamrus')",
        "UPDATE chunks SET text = CAST(x'ff' AS TEXT)",
        "UPDATE embeddings SET vector = zeroblob(1536)",
        "DELETE FROM embeddings",
        "INSERT INTO chunks_fts (chunks_fts) VALUES ('delete-all')",
    ],
)
def test_a_reindex_repairs_what_is_derived(
    api: TestClient, engine: Engine, add_note: AddDocument, work_off: Callable[[], None], sql: str
) -> None:
    """E21"""
    add_note("The walrus rests.")
    harm(engine, sql)
    assert api.get(f"{V1}/integrity").json()["status"] == "damaged"

    api.post(f"{V1}/reindex")
    work_off()

    assert api.get(f"{V1}/integrity").json()["problems"] == []
