"""E21: a bundle takes its time. The server is real, since the test client sends all of it at once."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from uuid import UUID

import httpx
from tests.api_calls import V1, assert_problem
from tests.bundles import pack, portable_note
from tests.engine_in_process import serving
from tests.waiting import wait_until

from kb.engine.wiring import Engine

TAR = {"Content-Type": "application/x-tar"}


@contextmanager
def importing(http: httpx.Client, bundle: bytes) -> Iterator[socket.socket]:
    """The connection of somebody who has sent this much of a bundle, and whose import is under way."""
    host, port = http.base_url.host, http.base_url.port
    headers = f"Host: {host}\r\nContent-Type: application/x-tar\r\nContent-Length: {len(bundle) + 1024}\r\n"
    with socket.create_connection((host, port or 0), timeout=30) as sender:
        sender.sendall(f"POST {V1}/import HTTP/1.1\r\n{headers}\r\n".encode() + bundle)
        wait_until(lambda: http.get("/status").json()["documents"]["total"] > 0, "the import has begun")
        yield sender


def test_e21_one_import_runs_at_a_time(engine: Engine) -> None:
    bundle = pack([portable_note(vector_model="")])
    with serving(engine) as (http, _), importing(http, bundle[:-1024]) as sender:
        refused = http.post("/import", content=bundle, headers=TAR)
        sender.sendall(bundle[-1024:])
        answer = sender.recv(4096)
        afterwards = http.post("/import", content=bundle, headers=TAR)

    assert_problem(refused, 429, "too_many_requests")
    assert refused.headers["retry-after"]
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert afterwards.json()["documents_unchanged"] == 1


def test_e21_an_import_whose_sender_is_silent_ends_when_the_engine_stops(engine: Engine) -> None:
    bundle = pack([portable_note(vector_model="")])
    with serving(engine) as (http, server), importing(http, bundle[:-1024]) as sender:
        server.should_exit = True
        answer = sender.makefile("rb").read()

    assert answer.startswith(b"HTTP/1.1 503 ")
    assert b"The engine is stopping. Documents imported before that: 1." in answer


def test_e32_a_note_is_accepted_while_bundles_are_imported(engine: Engine) -> None:
    """E32: one of the bundles has a document with 100,000 tags."""
    many = pack(portable_note(number, uuid=UUID(int=number), vector_model="") for number in range(1, 301))
    greedy = pack([portable_note(999, tags=tuple(f"tag {number}" for number in range(100_000)), vector_model="")])
    with serving(engine) as (http, _), ThreadPoolExecutor(1) as threads:
        imports = threads.submit(lambda: [http.post("/import", content=one, headers=TAR) for one in (many, greedy)])
        wait_until(lambda: http.get("/status").json()["documents"]["total"] > 0, "the import has begun")

        notes = 0
        while notes == 0 or not imports.done():
            submitted = http.post("/jobs", json={"type": "note", "text": f"note {notes}"}, timeout=10)
            assert submitted.status_code == 202, submitted.text
            notes += 1

    accepted, refused = imports.result()
    assert accepted.json()["documents_added"] == 300
    assert "at most 1000 tags" in assert_problem(refused, 422, "invalid_request")["detail"]
