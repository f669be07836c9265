"""Clients that are slow on purpose, against limits of tenths of seconds where the programs have half minutes."""

import asyncio
import contextlib
import select
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.security.open_server import Server, open_server, read_to_end
from tests.waiting import wait_until

from kb.serving import Limits

Scope = dict[str, Any]

LIMITS = Limits(
    look_every_seconds=0.05,
    head_within_seconds=0.4,
    silence_seconds=0.5,
    least_bytes_per_second=1000,
    rest_within_seconds=0.4,
)
LONGER_THAN_ANY_LIMIT = 0.9
PATIENCE_SECONDS = 10
ANSWER_BYTES = 30_000_000
LAST = {"/short": b"x" * 120_000, "/whole": b"x" * ANSWER_BYTES}
POST = b"POST /read HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n"


class App:
    """Does what its path says, and writes down whose client has gone before all was over."""

    def __init__(self) -> None:
        self.gone: list[str] = []

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        path = scope["path"]
        if scope["type"] == "websocket":
            await self._send_without_end(receive, send)
            return
        if path == "/busy":
            await asyncio.sleep(LONGER_THAN_ANY_LIMIT)
        if path == "/stuck":
            time.sleep(LONGER_THAN_ANY_LIMIT)  # noqa: ASYNC251 - it is what must not be held against clients
        if path != "/refuse" and not await self._read(receive):
            self.gone.append(path)
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if path == "/events":
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            await asyncio.sleep(LONGER_THAN_ANY_LIMIT)
        for _ in range(ANSWER_BYTES // 100_000 if path == "/long" else 0):
            await send({"type": "http.response.body", "body": b"x" * 100_000, "more_body": True})
        await send({"type": "http.response.body", "body": LAST.get(path, b"done")})
        if path == "/long" and (await receive())["type"] == "http.disconnect":
            self.gone.append(path)

    async def _read(self, receive: Any) -> bool:
        while (message := await receive())["type"] != "http.disconnect":
            if not message["more_body"]:
                return True
        return False

    async def _send_without_end(self, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        try:
            while True:
                await send({"type": "websocket.send", "text": "x" * 100_000})
        except OSError:
            self.gone.append("websocket")


@pytest.fixture(scope="module")
def app() -> App:
    return App()


@pytest.fixture(scope="module")
def server(app: App) -> Iterator[Server]:
    with open_server(app, LIMITS) as server:
        yield server


def pace(connection: socket.socket, pieces: int, piece: bytes) -> bytes:
    """Send so many pieces, 50 ms apart, or until the server hangs up; then all that it said."""
    try:
        for _ in range(pieces):
            connection.sendall(piece)
            time.sleep(0.05)
    except ConnectionError:
        pass
    return read_to_end(connection)


def pace_until_answered(connection: socket.socket, piece: bytes) -> bytes:
    """Send piece after piece, 50 ms apart, and never stop first; then all that the server said."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not select.select([connection], [], [], 0.05)[0]:
        assert time.monotonic() < deadline, "The server waits for ever."
        with contextlib.suppress(ConnectionError):
            connection.sendall(piece)
    return read_to_end(connection)


def status_of(said: bytes) -> int:
    return int(said.split(b" ")[1])


def assert_timed_out(said: bytes) -> None:
    assert status_of(said) == 408
    assert b"application/problem+json" in said
    assert b"nosniff" in said
    assert b'"code":"invalid_request"' in said


def test_who_says_nothing_is_left_without_a_word(server: Server) -> None:
    with server.connect() as connection:
        assert read_to_end(connection) == b""


@pytest.mark.parametrize("before", [b"", b"GET /read HTTP/1.1\r\nHost: a\r\n\r\n"], ids=["first", "second"])
def test_a_head_that_comes_byte_by_byte_is_not_waited_for(server: Server, before: bytes) -> None:
    with server.connect() as connection:
        connection.sendall(before)
        if before:
            assert b"done" in connection.recv(65_536)
        connection.sendall(b"GET /read HTTP/1.1\r\nX: ")
        assert_timed_out(pace_until_answered(connection, b"x"))


def test_a_body_that_stops_coming_is_not_waited_for(server: Server, app: App) -> None:
    with server.connect() as connection:
        connection.sendall(POST + b"\r\n" + b"x" * 50_000)
        assert_timed_out(read_to_end(connection))

    wait_until(lambda: "/read" in app.gone)


@pytest.mark.parametrize("encoding", ["length", "chunked"])
def test_a_body_that_comes_byte_by_byte_is_not_waited_for(server: Server, encoding: str) -> None:
    head = POST if encoding == "length" else b"POST /read HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
    with server.connect() as connection:
        connection.sendall(head + b"\r\n")
        assert_timed_out(pace_until_answered(connection, b"x" if encoding == "length" else b"1\r\nx\r\n"))


def test_a_slow_but_steady_body_is_taken(server: Server) -> None:
    with server.connect() as connection:
        connection.sendall(POST.replace(b"100000", b"4000") + b"Connection: close\r\n\r\n")
        began = time.monotonic()
        said = pace(connection, 20, b"x" * 200)

    assert status_of(said) == 200
    assert time.monotonic() - began > LONGER_THAN_ANY_LIMIT


@pytest.mark.parametrize("path", [b"/busy", b"/stuck"])
def test_what_the_server_takes_itself_is_not_the_client_s_fault(server: Server, path: bytes) -> None:
    with server.connect() as connection:
        # More than is read in advance, so that reading stops.
        connection.sendall(POST.replace(b"/read", path) + b"Connection: close\r\n\r\n" + b"x" * 99_999)
        time.sleep(LONGER_THAN_ANY_LIMIT)
        connection.sendall(b"x")
        assert status_of(read_to_end(connection)) == 200


def test_a_client_that_waits_to_be_asked_for_its_body_is_waited_for(server: Server) -> None:
    with server.connect() as connection:
        connection.sendall(POST.replace(b"/read", b"/busy") + b"Expect: 100-continue\r\nConnection: close\r\n\r\n")
        assert status_of(connection.recv(65_536)) == 100
        connection.sendall(b"x" * 100_000)
        assert status_of(read_to_end(connection)) == 200


def test_an_answer_that_is_not_taken_is_taken_back(server: Server, app: App) -> None:
    with server.connect(receive_buffer=4096) as connection:
        connection.sendall(b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n")

        wait_until(lambda: "/long" in app.gone)
        wait_until(lambda: not server.connections)


def test_the_end_of_an_answer_that_is_not_taken_does_not_keep_a_connection_from_closing(server: Server) -> None:
    with server.connect(receive_buffer=4096) as connection:
        connection.sendall(b"GET /short HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        # All but what does not fit: little enough not to be waited for by the application.
        wait_until(lambda: any(one.transport.is_closing() for one in server.connections))

        wait_until(lambda: not server.connections)


@pytest.mark.parametrize("close", [b"", b"Connection: close\r\n"], ids=["kept", "closing"])
@pytest.mark.parametrize("path", [b"/long", b"/whole"])
def test_an_answer_that_is_taken_slowly_is_given(server: Server, path: bytes, close: bytes) -> None:
    with server.connect(receive_buffer=65_536) as connection:
        connection.sendall(b"GET " + path + b" HTTP/1.1\r\nHost: a\r\n" + close + b"\r\n")
        began = time.monotonic()
        taken, part = 0, b""
        while not part.endswith(b"0\r\n\r\n"):
            part = connection.recv(200_000)
            assert part, f"cut off after {taken} bytes"
            taken += len(part)
            if time.monotonic() - began < LONGER_THAN_ANY_LIMIT:
                time.sleep(0.02)

    assert taken > ANSWER_BYTES
    assert time.monotonic() - began > LONGER_THAN_ANY_LIMIT


def test_a_stream_may_be_silent(server: Server) -> None:
    with server.connect() as connection:
        connection.sendall(b"GET /events HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        assert read_to_end(connection).endswith(b"done\r\n0\r\n\r\n")


def test_the_rest_of_a_body_that_was_refused_is_not_read_for_ever(server: Server) -> None:
    with server.connect() as connection:
        connection.sendall(POST.replace(b"/read", b"/refuse") + b"\r\n")
        assert status_of(connection.recv(65_536)) == 200
        pace(connection, 100, b"x" * 500)

    wait_until(lambda: not server.connections)


def test_after_the_rest_of_a_body_that_was_answered_early_a_connection_is_kept_like_any_other(server: Server) -> None:
    with server.connect() as connection:
        connection.sendall(POST.replace(b"/read", b"/refuse") + b"\r\n" + b"x" * 50_000)
        assert status_of(connection.recv(65_536)) == 200
        connection.sendall(b"x" * 50_000)
        time.sleep(LONGER_THAN_ANY_LIMIT)
        assert [one.timeout_keep_alive_task is not None for one in server.connections] == [True]

        connection.sendall(b"GET /read HTTP/1.1\r\nHost: a\r\n\r\n")
        assert status_of(connection.recv(65_536)) == 200


def test_a_websocket_that_is_not_read_is_ended(server: Server, app: App) -> None:
    upgrade = b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    with server.connect(receive_buffer=4096) as connection:
        key = b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
        connection.sendall(b"GET /ws HTTP/1.1\r\nHost: a\r\n" + upgrade + key + b"\r\n")
        assert status_of(connection.recv(100)) == 101

        wait_until(lambda: "websocket" in app.gone)
        wait_until(lambda: not server.connections)
