"""What tests put into an engine behind the page's back, as an agent or a script would."""

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from tests.engine_program import EngineProgram

ADDED_WITHIN_SECONDS = 60


def add_note(engine: EngineProgram, text: str, title: str | None = None, tags: Sequence[str] = ()) -> int:
    """Answers the id of the document, which can then be found."""
    body = {"type": "note", "text": text, "tags": list(tags), **({"title": title} if title else {})}
    return _finish(engine, _call(engine, "POST", "/jobs", json=body))


def add_notes(engine: EngineProgram, notes: Iterable[Mapping[str, Any]]) -> list[int]:
    """All at once: `{"text": ..., "title": ..., "tags": [...]}` each."""
    jobs = [_call(engine, "POST", "/jobs", json={"type": "note", **note}) for note in notes]
    return [_finish(engine, job) for job in jobs]


def add_file(engine: EngineProgram, path: Path, tags: Sequence[str] = ()) -> int:
    with path.open("rb") as file:
        job = _call(engine, "POST", "/jobs", files={"file": (path.name, file)}, data={"tags": list(tags)})
    return _finish(engine, job)


def rewrite_note(engine: EngineProgram, document_id: int, text: str) -> None:
    _call(engine, "PATCH", f"/notes/{document_id}", json={"text": text})


def delete_document(engine: EngineProgram, document_id: int) -> None:
    _call(engine, "DELETE", f"/documents/{document_id}")


def clear(engine: EngineProgram) -> None:
    _call(engine, "DELETE", "/documents", json={"confirm": True, "confirmation_phrase": "DELETE ALL"})


def get_document(engine: EngineProgram, document_id: int) -> dict[str, Any]:
    return _call(engine, "GET", f"/documents/{document_id}")


def read_map(engine: EngineProgram) -> dict[str, Any]:
    return _call(engine, "GET", "/map")


def _call(engine: EngineProgram, method: str, path: str, **options: Any) -> dict[str, Any]:
    answer = httpx.request(method, f"{engine.url}/api/v1{path}", trust_env=False, timeout=30, **options)
    answer.raise_for_status()
    body: dict[str, Any] = answer.json()
    return body


def _finish(engine: EngineProgram, job: Mapping[str, Any]) -> int:
    deadline = time.monotonic() + ADDED_WITHIN_SECONDS
    while job["status"] in ("queued", "running"):
        assert time.monotonic() < deadline, job
        time.sleep(0.05)
        job = _call(engine, "GET", f"/jobs/{job['id']}")
    assert job["status"] == "completed", job
    document_id: int = job["document_id"]
    return document_id
