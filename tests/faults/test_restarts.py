"""Restarts while clients are connected: whoever repeats what was not answered creates nothing twice (E4)."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
from tests.amounts import Tell, amount
from tests.engine_program import EngineProgram

SUBMITTERS = 4
ANSWERED_WITHIN_SECONDS = 30
INGESTED_WITHIN_SECONDS = 60
NOTES_BETWEEN_RESTARTS = 12
PATIENT = httpx.Timeout(30)
# Too short for most answers: what the first request asks for is done, and nobody hears of it.
IMPATIENT = httpx.Timeout(30, read=0.003)
# There shall always be requests under way, but not so many that the worker is what is waited for.
PAUSE_SECONDS = 0.05


class Submitter:
    """Submits notes, each until it is answered, always under the same key; at first it hardly waits for the answer."""

    def __init__(self, url: str, name: str) -> None:
        self.jobs: list[int] = []
        self.repeated = 0
        self._http = httpx.Client(base_url=f"{url}/api/v1", trust_env=False, timeout=60)
        self._name = name

    def work_until(self, stopping: threading.Event) -> None:
        with self._http:
            while not stopping.is_set():
                self.jobs.append(self._submit(f"restart-{self._name}-{len(self.jobs)}"))
                time.sleep(PAUSE_SECONDS)

    def _submit(self, key: str) -> int:
        deadline = time.monotonic() + ANSWERED_WITHIN_SECONDS
        body = {"type": "note", "text": f"The note {key}.", "tags": ["restarts"]}
        timeout = IMPATIENT
        while True:
            try:
                response = self._http.post("/jobs", json=body, headers={"Idempotency-Key": key}, timeout=timeout)
                if response.status_code != 503:
                    job_id: int = response.raise_for_status().json()["id"]
                    return job_id
            except httpx.TransportError:
                self.repeated += 1
            assert time.monotonic() < deadline, key
            timeout = PATIENT
            time.sleep(PAUSE_SECONDS)


def call_tool(engine: EngineProgram, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """As an agent does whose session a restart took."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    response = httpx.post(f"{engine.mcp_url}/mcp", json=call, trust_env=False, timeout=30)
    answer: dict[str, Any] = response.raise_for_status().json()["result"]
    return answer


def test_repeating_what_a_restart_left_unanswered_creates_nothing_twice(engine: EngineProgram, tell: Tell) -> None:
    """E4, E24, M4"""
    submitters = [Submitter(engine.url, str(number)) for number in range(SUBMITTERS)]
    restarts = amount(selection=1, full=20)
    stopping = threading.Event()

    with ThreadPoolExecutor(SUBMITTERS) as threads:
        working = [threads.submit(submitter.work_until, stopping) for submitter in submitters]
        try:
            for done in range(restarts):
                while sum(len(submitter.jobs) for submitter in submitters) < (done + 1) * NOTES_BETWEEN_RESTARTS:
                    time.sleep(0.02)
                engine.restart()
                assert not call_tool(engine, "kb_search", {"query": "note"}).get("isError")
        finally:
            stopping.set()
    for one in working:
        one.result()

    jobs = {job_id for submitter in submitters for job_id in submitter.jobs}
    keys = sum(len(submitter.jobs) for submitter in submitters)
    assert len(jobs) == keys
    with httpx.Client(base_url=f"{engine.url}/api/v1", trust_env=False, timeout=60) as http:
        deadline = time.monotonic() + INGESTED_WITHIN_SECONDS
        while (total := http.get("/documents", params={"tag": "restarts"}).json()["total"]) < keys:
            assert time.monotonic() < deadline, f"{total} of {keys} notes are there"
            time.sleep(0.1)
        queue = http.get("/status").json()["queue"]
    assert total == keys
    assert (queue["queued"], queue["running"], queue["failed"]) == (0, 0, 0)
    repeated = sum(submitter.repeated for submitter in submitters)
    tell(f"{restarts} restarts with {SUBMITTERS} clients: {keys} notes, {repeated} requests repeated, none twice")
