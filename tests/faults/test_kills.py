"""`kill -9` at random moments, with every promise checked afterwards (E24).

A client adds and rewrites notes and writes down what was acknowledged. Meanwhile engine and worker are killed.
This is the death of processes, not of the machine: the page cache survives, so it says nothing about a power cut.
"""

import random
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import httpx
import psutil
import pytest
from tests.engine_program import EngineProgram

SEED = 20261115
NOTES_PER_KILL = 10


@dataclass
class Ledger:
    """What the client knows: which job each note became, and which text of it was acknowledged last."""

    job_of_note: dict[int, int] = field(default_factory=dict)
    acknowledged: dict[int, str] = field(default_factory=dict)
    unanswered: dict[int, set[str]] = field(default_factory=dict)


def word(number: int) -> str:
    """A word that only note `number` has."""
    return "zq" + "".join(chr(ord("a") + int(digit)) for digit in f"{number:05d}")


def text_of(number: int, revision: int) -> str:
    return f"{word(number)} is note {number} in its revision {revision}. " * (1 + 40 * (number % 3))


class Client:
    def __init__(self, url: str, notes: int) -> None:
        self.notes = notes
        self.http = httpx.Client(base_url=f"{url}/api/v1", trust_env=False, timeout=30)
        self.ledger = Ledger()

    def work(self) -> None:
        for number in range(self.notes):
            self.add(number)
            if number % 2:
                self.rewrite(number // 2, revision=number)

    def add(self, number: int) -> None:
        body = {"type": "note", "text": text_of(number, 0)}
        job = self.insist("POST", "/jobs", json=body, headers={"Idempotency-Key": f"note-{number}"}).json()
        self.ledger.job_of_note[number] = job["id"]
        self.ledger.acknowledged[number] = text_of(number, 0)

    def rewrite(self, number: int, revision: int) -> None:
        document_id = self.insist("GET", f"/jobs/{self.ledger.job_of_note[number]}").json()["document_id"]
        if document_id is None:
            return  # not ingested yet
        self.ledger.unanswered[number] = {text_of(number, revision)}
        self.insist("PATCH", f"/notes/{document_id}", json={"text": text_of(number, revision)})
        self.ledger.acknowledged[number] = text_of(number, revision)

    def insist(self, method: str, path: str, **request: object) -> httpx.Response:
        """Ask until answered: while the engine is down there is nobody to ask."""
        deadline = time.monotonic() + 60
        while True:
            try:
                response = self.http.request(method, path, **request)  # type: ignore[arg-type]  # passed through
            except httpx.TransportError:
                response = None
            if response is not None and response.status_code != 503:
                return response.raise_for_status()
            assert time.monotonic() < deadline
            time.sleep(0.02)

    def wait_until_idle(self) -> None:
        deadline = time.monotonic() + 60 + self.notes
        while True:
            queue = self.insist("GET", "/status").json()["queue"]
            if queue["queued"] == queue["running"] == 0:
                return
            assert time.monotonic() < deadline, queue
            time.sleep(0.1)


def kill_at_random(engine: EngineProgram, kills: int, chance: random.Random) -> tuple[int, int]:
    """Returns how many kills were of the engine and how many of the worker."""
    engines = workers = 0
    while engines + workers < kills:
        time.sleep(chance.uniform(0.02, 0.5))
        if chance.random() < 0.5:
            engine.kill()
            engine.start()
            engines += 1
        else:
            for child in psutil.Process(engine.process.pid).children():
                child.kill()
            workers += 1
    return engines, workers


@pytest.fixture
def engine(model_folder: Path, tmp_path: Path) -> Iterator[EngineProgram]:
    program = EngineProgram(tmp_path)
    program.start()
    yield program
    if program.process.poll() is None:
        program.kill()


@pytest.mark.parametrize("kills", [20, pytest.param(100, marks=pytest.mark.slow)])
def test_kills_lose_no_acknowledged_write_and_leave_none_half_or_twice(
    engine: EngineProgram, kills: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """E24, E4, E17"""
    notes = kills * NOTES_PER_KILL
    client = Client(engine.url, notes)
    working = threading.Thread(target=client.work)
    working.start()

    engines, workers = kill_at_random(engine, kills, random.Random(SEED))  # noqa: S311 - no secret

    working.join()
    client.wait_until_idle()
    ledger = client.ledger
    assert len(ledger.acknowledged) == notes
    for number in range(notes):
        job = client.insist("GET", f"/jobs/{ledger.job_of_note[number]}").json()
        assert job["status"] == "completed", job
        found = client.insist("POST", "/search", json={"query": word(number), "mode": "fts", "group_by": "document"})
        assert [hit["document_id"] for hit in found.json()["results"]] == [job["document_id"]]
        stored = client.insist("GET", f"/documents/{job['document_id']}").json()["text"]
        assert stored in {ledger.acknowledged[number]} | ledger.unanswered.get(number, set())
    assert client.insist("GET", "/documents").json()["total"] == notes
    assert engine.stop() == 0
    assert_base_is_consistent(engine.data_dir / "kb.sqlite")
    client.http.close()
    with capsys.disabled():
        sys.stdout.write(f"\n  {engines} kills of the engine, {workers} of the worker, seed {SEED}: nothing lost\n")


def assert_base_is_consistent(path: Path) -> None:
    """Rows, words and vectors tell the same story."""
    db = apsw.Connection(str(path))
    assert db.pragma("integrity_check") == "ok"
    db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)")
    halves = db.execute(
        "SELECT id FROM documents WHERE chunk_count = 0 "
        "OR chunk_count != (SELECT count(*) FROM chunks WHERE document_id = documents.id) "
        "OR chunk_count != (SELECT count(*) FROM chunks JOIN embeddings ON chunk_id = chunks.id "
        "WHERE document_id = documents.id)"
    ).fetchall()
    assert halves == []
    assert db.execute("SELECT count(*) FROM chunks").get == db.execute("SELECT count(*) FROM embeddings").get
    db.close()
