"""A burst of files: a note that comes later is found sooner, and searches go on."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from bench.agents_at_work.programs import ENGINE_KEY
from bench.figures import p95
from tests.amounts import IS_FULL, Tell, amount
from tests.engine_program import EngineProgram

FILES = amount(selection=60, full=5_000)
SENDERS = 4
SEARCHES = amount(selection=20, full=200)
FOUND_WITHIN_SECONDS = 20
HEADERS = {"Authorization": f"Bearer {ENGINE_KEY}"}
TEXT = "The harbour master writes down every ship that comes in. " * 20


@pytest.fixture
def http(loaded_engine: EngineProgram) -> Iterator[httpx.Client]:
    url = f"{loaded_engine.url}/api/v1"
    with httpx.Client(base_url=url, headers=HEADERS, trust_env=False, timeout=60) as http:
        yield http


def test_a_note_overtakes_a_burst_of_files_and_searches_go_on(http: httpx.Client, tell: Tell) -> None:
    """E4, E24."""
    idle = [time_search(http) for _ in range(SEARCHES)]
    with ThreadPoolExecutor(SENDERS) as senders:
        jobs = list(senders.map(lambda number: send_file(http, number), range(FILES)))

        begun = time.monotonic()
        note = http.post("/jobs", json={"type": "note", "text": "The lighthouse keeper bakes plum cake."}).json()
        while not is_found(http, "lighthouse plum cake"):
            assert time.monotonic() < begun + FOUND_WITHIN_SECONDS
        found_after, waiting = time.monotonic() - begun, count_waiting(http)
        busy = [time_search(http) for _ in range(SEARCHES)]

    assert waiting > 0, "The files were done before the note was: this shows nothing."
    assert http.get(f"/jobs/{note['id']}").json()["status"] == "completed"
    idle_p95, busy_p95 = p95(idle), p95(busy)
    told = f"a note found after {found_after:.1f} s, while {waiting} of {FILES} files waited"
    tell(f"{told}; search p95 {idle_p95 * 1000:.0f} ms idle, {busy_p95 * 1000:.0f} ms meanwhile")
    if IS_FULL:
        assert found_after < 5
        assert busy_p95 < 2 * idle_p95 + 0.05
    cancel(http, jobs)


def send_file(http: httpx.Client, number: int) -> int:
    file = {"file": (f"{number}.txt", f"{number}. {TEXT}".encode())}
    job: int = http.post("/jobs", files=file, data={"tags": ["burst"]}).raise_for_status().json()["id"]
    return job


def time_search(http: httpx.Client) -> float:
    begun = time.monotonic()
    http.post("/search", json={"query": "who writes down the ships"}).raise_for_status()
    return time.monotonic() - begun


def is_found(http: httpx.Client, words: str) -> bool:
    found = http.post("/search", json={"query": words, "mode": "fts"}).raise_for_status().json()["results"]
    return any("lighthouse keeper" in hit["text"] for hit in found)


def count_waiting(http: httpx.Client) -> int:
    waiting: int = http.get("/status").raise_for_status().json()["queue"]["queued"]
    return waiting


def cancel(http: httpx.Client, jobs: list[int]) -> None:
    """Nobody waits for the rest of them; some are done meanwhile."""
    for job_id in reversed(jobs):
        http.post(f"/jobs/{job_id}/cancel?forget=true")
