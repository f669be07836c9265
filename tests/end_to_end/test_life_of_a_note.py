"""A note from its first word to its last byte, over HTTP, with the real model and real processes."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.engine_program import EngineProgram
from tests.waiting import wait_for_document

SUBJECTS = ["invoice", "garden", "bicycle", "concert", "recipe", "passport", "printer", "holiday", "meeting", "laptop"]
# The engine is everybody's, and somebody else may have written of the same things.
OURS = ["end to end"]
VERBS = ["repair", "order", "cancel", "describe", "compare", "collect", "sell", "paint", "measure", "archive"]


@pytest.fixture
def http(running_engine: EngineProgram) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=f"{running_engine.url}/api/v1", trust_env=False, timeout=60) as client:
        yield client


def add_note(http: httpx.Client, text: str) -> int:
    """Submit a note and wait for its document."""
    job = http.post("/jobs", json={"type": "note", "text": text, "tags": OURS}).raise_for_status().json()
    return wait_for_document(http, job["id"])


def find(http: httpx.Client, query: str, **options: object) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = (
        http.post("/search", json={"query": query, "tags": OURS, **options}).raise_for_status().json()["results"]
    )
    return results


def bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_note_is_found_by_a_synonym_rewritten_found_by_its_end_and_deleted_for_good(
    running_engine: EngineProgram, http: httpx.Client
) -> None:
    """E4, E6, E9, E14, E17, S5: what a person does with a note in its first year."""
    for number in range(200):
        text = f"{VERBS[number % 10].title()} the {SUBJECTS[number // 10 % 10]} number {number} before the weekend."
        http.post("/jobs", json={"type": "note", "text": text, "tags": OURS}).raise_for_status()
    note = add_note(http, "The physician moved my appointment to Thursday afternoon.")

    assert find(http, "doctor visit")[0]["document_id"] == note

    sentences = [f"Paragraph {n} tells how the harbour crane number {n} was serviced in spring." for n in range(155)]
    sentences.append("The last whimbrel left the breakwater before midnight.")
    long_text = " ".join(sentences)
    assert len(long_text.split()) > 2000
    rewritten = http.patch(f"/notes/{note}", json={"text": long_text}).raise_for_status().json()
    assert rewritten["chunk_count"] > 5
    assert rewritten["updated_at"] is not None

    found = find(http, "when did the last whimbrel leave?")[0]
    assert found["document_id"] == note
    assert "whimbrel" in found["text"]
    assert all(hit["document_id"] != note for hit in find(http, "physician", mode="fts"))

    deleted = http.delete(f"/documents/{note}").raise_for_status().json()
    assert deleted == {
        "status": "deleted",
        "document_id": note,
        "title": rewritten["title"],
        "chunks_removed": rewritten["chunk_count"],
    }
    assert all(hit["document_id"] != note for hit in find(http, "whimbrel breakwater"))
    assert http.get(f"/documents/{note}").status_code == 404
    assert b"whimbrel" not in bytes_below(running_engine.data_dir / "originals")


def test_an_uploaded_file_is_stored_found_downloaded_and_removed(
    running_engine: EngineProgram, http: httpx.Client
) -> None:
    """E4, E13, E14: the original goes with the last document that has it."""
    content = b"# Lighthouse log\n\nThe Fresnel lens was polished on Monday.\n"
    originals = running_engine.data_dir / "originals"

    job = http.post("/jobs", files={"file": ("log.md", content)}, data={"tags": ["sea", *OURS]}).json()
    document = wait_for_document(http, job["id"])

    assert find(http, "who cleaned the optics of the beacon?")[0]["document_id"] == document
    assert http.get(f"/documents/{document}/file").content == content
    assert b"Fresnel" in bytes_below(originals)

    http.delete(f"/documents/{document}").raise_for_status()

    assert b"Fresnel" not in bytes_below(originals)


def test_a_second_engine_on_the_same_data_is_told_so_plainly(running_engine: EngineProgram) -> None:
    """E29"""
    second = running_engine.run_kb("engine", "--port", "0", "--data-dir", str(running_engine.data_dir))

    assert second.returncode == 1
    assert "Another engine is already running" in second.stderr
    assert "Traceback" not in second.stderr


def test_a_port_in_use_is_told_plainly(running_engine: EngineProgram, tmp_path: Path) -> None:
    """E29"""
    port = running_engine.url.rpartition(":")[2]

    second = running_engine.run_kb("engine", "--port", port, "--data-dir", str(tmp_path))

    assert second.returncode == 1
    assert f"port {port}" in second.stderr
    assert "KB_PORT" in second.stderr


def test_the_first_line_of_the_log_names_version_url_and_data_directory(running_engine: EngineProgram) -> None:
    """E29"""
    first = running_engine.log.read_text().splitlines()[0]

    assert "3.0.0" in first
    assert running_engine.url.rpartition(":")[0] in first
    assert str(running_engine.data_dir) in first
