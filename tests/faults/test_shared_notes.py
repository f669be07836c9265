"""Many writers and many readers on the same notes: no update is lost, nobody is told that the base is locked (E17)."""

import hashlib
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx
from tests.amounts import SEED, Tell, amount
from tests.engine_program import EngineProgram

WRITERS = 16
READERS = 32
NOTES = 4
INGESTED_WITHIN_SECONDS = 30
# Readers without a pause would leave the writers, who share a processor with them, too little of it.
READERS_PAUSE_SECONDS = 0.05


def text_of(counter: int) -> str:
    """Its last line tells whether the text above is whole."""
    body = f"This note was rewritten {counter} times. " * (1 + counter % 5)
    return f"{counter}\n{body}\n{hashlib.sha256(body.encode()).hexdigest()}"


def counter_of(text: str) -> int:
    counter, body, digest = text.splitlines()
    assert hashlib.sha256(body.encode()).hexdigest() == digest, text
    assert f"rewritten {counter} times" in body
    return int(counter)


def add_notes(http: httpx.Client) -> list[int]:
    jobs = [
        http.post("/jobs", json={"type": "note", "text": text_of(0)}).raise_for_status().json()["id"]
        for _ in range(NOTES)
    ]
    deadline = time.monotonic() + INGESTED_WITHIN_SECONDS
    while True:
        notes = [http.get(f"/jobs/{job_id}").raise_for_status().json()["document_id"] for job_id in jobs]
        if None not in notes:
            return notes
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Users:
    def __init__(self, http: httpx.Client, notes: list[int], seconds: float) -> None:
        self._http = http
        self._notes = notes
        self._ends_at = time.monotonic() + seconds
        self._lock = threading.Lock()
        self.increments: Counter[int] = Counter()
        self.conflicts = 0
        self.reads = 0

    def write(self, number: int) -> None:
        chance = random.Random(SEED + number)  # noqa: S311 - no secret
        while time.monotonic() < self._ends_at:
            note_id = chance.choice(self._notes)
            counter, etag = self._read(note_id)
            response = self._http.patch(
                f"/notes/{note_id}", json={"text": text_of(counter + 1)}, headers={"If-Match": etag}
            )
            assert response.status_code in (200, 412), response.text
            with self._lock:
                if response.is_success:
                    self.increments[note_id] += 1
                else:
                    self.conflicts += 1

    def read(self, number: int) -> None:
        chance = random.Random(SEED - number)  # noqa: S311 - no secret
        seen: Counter[int] = Counter()
        while time.monotonic() < self._ends_at:
            note_id = chance.choice(self._notes)
            counter, _ = self._read(note_id)
            assert counter >= seen[note_id], "A note went back to an earlier text."
            seen[note_id] = counter
            with self._lock:
                self.reads += 1
            time.sleep(READERS_PAUSE_SECONDS)

    def _read(self, note_id: int) -> tuple[int, str]:
        response = self._http.get(f"/documents/{note_id}")
        assert response.status_code == 200, response.text
        return counter_of(response.json()["text"]), response.headers["ETag"]


def test_no_update_of_a_shared_note_is_lost_and_every_reader_sees_a_whole_one(
    engine: EngineProgram, tell: Tell
) -> None:
    """E17, E11, E29"""
    limits = httpx.Limits(max_connections=WRITERS + READERS)
    with httpx.Client(base_url=f"{engine.url}/api/v1", trust_env=False, timeout=60, limits=limits) as http:
        notes = add_notes(http)
        users = Users(http, notes, seconds=amount(selection=4, full=60))

        with ThreadPoolExecutor(WRITERS + READERS) as threads:
            writing = [threads.submit(users.write, number) for number in range(WRITERS)]
            reading = [threads.submit(users.read, number) for number in range(READERS)]
        for one in [*writing, *reading]:
            one.result()

        counted = {note_id: counter_of(http.get(f"/documents/{note_id}").json()["text"]) for note_id in notes}
        versions = {note_id: http.get(f"/documents/{note_id}").json()["version"] for note_id in notes}
    assert counted == {note_id: users.increments[note_id] for note_id in notes}
    assert versions == {note_id: 1 + users.increments[note_id] for note_id in notes}
    tell(
        f"{WRITERS} writers, {READERS} readers: {users.increments.total()} rewrites, none lost, "
        f"{users.conflicts} refused as stale, {users.reads} whole reads"
    )
