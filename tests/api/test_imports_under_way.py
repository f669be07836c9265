"""E21: a bundle takes its time. The server is real, since the test client sends all of it at once."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

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
