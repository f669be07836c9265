"""Who may have a connection when there are too many, and what one may make of the server's memory."""

import asyncio
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from typing import Any

import httpx
import pytest
from starlette.types import ASGIApp, Message, Scope
from tests.api_calls import OPEN, V1
from tests.engine_program import EngineProgram
from tests.keys import bearer
from tests.newest_protocol import newest_headers, newest_params
from tests.security.open_server import WITHIN_SECONDS, Server, open_server, read_to_end
from tests.waiting import wait_until

from kb.access import Access
from kb.engine.api import guard as engine_guard
from kb.engine.api.guard import MAX_JSON_BYTES
from kb.engine.api.unread import BoundedBodies
from kb.mcp import guard as mcp_guard
from kb.serving import IS_ADMITTED, Limits
from kb.serving.held_bodies import MANY_VALUES, MAX_VALUES
from kb.serving.websockets import MAX_UNSENT_BYTES, WebSocketConnection

THREE = Limits(connections=3)
KEY = "the-key"
POST = b"POST /in HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n"
GET = b"GET /in HTTP/1.1\r\nHost: a\r\n\r\n"
LARGE = b"GET /in/large HTTP/1.1\r\nHost: a\r\n\r\n"
WHOLE = LARGE.replace(b"large", b"whole")
LARGE_BYTES = 2_000_000
LARGE_MESSAGES = MAX_UNSENT_BYTES // LARGE_BYTES * 2 // 3
PING = b"\x89\xfd" + b"\0" * 4 + b"x" * 125
WEBSOCKET = (
    b"GET /in HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n"
)


async def answer(scope: Scope, receive: Any, send: Any) -> None:
    """Lets in whoever knows where. A large answer is followed by another piece, a whole one is in one."""
    if scope["path"].startswith("/in"):
        scope[IS_ADMITTED] = True
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        if scope["path"].endswith("large"):
            message = {"type": "websocket.send", "text": "x" * LARGE_BYTES}
            with suppress(OSError):
                await asyncio.gather(*(send(message) for _ in range(LARGE_MESSAGES)))
        while (await receive())["type"] != "websocket.disconnect":
            pass
        return
    while (message := await receive())["type"] == "http.request" and message["more_body"]:
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    if scope["path"].endswith("large"):
        await send({"type": "http.response.body", "body": b"x" * LARGE_BYTES, "more_body": True})
    await send({"type": "http.response.body", "body": b"x" * LARGE_BYTES if scope["path"].endswith("whole") else b"x"})


def closing(request: bytes) -> bytes:
    return request.replace(b"Host", b"Connection: close\r\nHost")


def without_key(request: bytes) -> bytes:
    return request.replace(b"/in", b"/out")


def connect(server: Server, sent: bytes, is_so: Callable[[Any], bool]) -> socket.socket:
    """A client that reads nothing, once its connection has come so far."""
    before = set(server.connections)
    client = server.connect(receive_buffer=4096)
    client.sendall(sent)
    wait_until(lambda: any(is_so(one) for one in server.connections - before))
    return client


def is_unread(connection: Any) -> bool:
    return bool(connection.is_writing_paused)


def has_upgraded(connection: Any) -> bool:
    return isinstance(connection, WebSocketConnection) and connection.handshake_complete


def has_request(connection: Any) -> bool:
    return connection.cycle is not None


def assert_served(client: socket.socket) -> None:
    client.sendall(GET)
    assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")


def test_the_connection_without_a_request_for_the_longest_time_gives_way() -> None:
    with open_server(answer, THREE) as server, ExitStack() as opened:
        busy = opened.enter_context(connect(server, POST, has_request))
        oldest, newer, newest = (opened.enter_context(server.connect()) for _ in range(3))

        assert read_to_end(oldest) == b""
        for client in (newer, newest):
            assert_served(client)
        busy.sendall(b"x" * 1000)
        assert busy.recv(65_536).startswith(b"HTTP/1.1 200 ")


def test_only_if_all_have_requests_is_a_new_connection_refused() -> None:
    with open_server(answer, THREE) as server, ExitStack() as opened:
        busy = [opened.enter_context(connect(server, sent, has_request)) for sent in (POST, POST, LARGE)]

        for _ in range(2):
            with server.connect() as refused:
                said = read_to_end(refused)
            assert said.startswith(b"HTTP/1.1 503 ")
            assert b"retry-after: 1" in said.lower()
        busy.pop().close()
        wait_until(lambda: len(server.connections) == 2)
        with server.connect() as accepted:
            assert_served(accepted)


@pytest.mark.parametrize("request_of_mine", [LARGE, WHOLE], ids=["being answered", "answered"])
def test_who_was_not_let_in_gives_way_whatever_is_unread_and_who_was_does_not(request_of_mine: bytes) -> None:
    with open_server(answer, THREE) as server, ExitStack() as opened:
        mine = opened.enter_context(connect(server, closing(request_of_mine), is_unread))
        for _ in range(5):
            opened.enter_context(connect(server, without_key(LARGE), is_unread))
        with server.connect() as honest:
            assert_served(honest)

        assert len(read_to_end(mine)) > LARGE_BYTES


def test_a_connection_that_is_closing_counts_and_gives_way_before_any_other() -> None:
    with open_server(answer, THREE) as server, ExitStack() as opened:
        idle = opened.enter_context(server.connect())
        assert_served(idle)
        for _ in range(5):
            unread = without_key(closing(WHOLE))
            opened.enter_context(connect(server, unread, lambda one: one.transport.is_closing()))
        wait_until(lambda: len(server.connections) <= 3)

        assert_served(idle)


def test_where_there_are_no_websockets_a_request_for_one_is_like_any_other() -> None:
    with open_server(answer, Limits(look_every_seconds=0.05, silence_seconds=0.3), websockets=None) as server:
        with server.connect() as client:
            client.sendall(WEBSOCKET)
            assert client.recv(65_536).startswith(b"HTTP/1.1 200 ")
        wait_until(lambda: not server.connections)
        with connect(server, WEBSOCKET.replace(b"/in", b"/in/large"), is_unread):
            wait_until(lambda: not server.connections)


def test_e1_the_engine_has_no_websockets(running_engine: EngineProgram) -> None:
    """Whoever asks for one has to have a key, like everybody, and is answered in HTTP."""
    headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    answer = httpx.get(f"{running_engine.url}{V1}/status", headers=headers, trust_env=False, timeout=60)

    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"


def test_no_websocket_may_send_what_becomes_longer_than_it_is() -> None:
    with open_server(answer, THREE) as server, server.connect() as client:
        client.sendall(WEBSOCKET)
        said = client.recv(65_536)

    assert said.startswith(b"HTTP/1.1 101 ")
    assert b"deflate" not in said


GUARDS: dict[str, Callable[[ASGIApp], ASGIApp]] = {
    "engine": lambda app: engine_guard.Guard(app, Access((KEY,), (), ("a",), ()), max_file_bytes=1),
    "mcp": lambda app: mcp_guard.Guard(app, Access((KEY,), (), ("a",), ())),
}
HEALTH = {"engine": "/health/live", "mcp": "/health"}
CALLS = {"engine": f"{V1}/status", "mcp": "/mcp"}


def scope_of(path: str, key: str = "") -> Scope:
    headers = [(b"host", b"a"), *((name.lower().encode(), value.encode()) for name, value in bearer(key).items())]
    return {"type": "http", "method": "GET", "scheme": "http", "path": path, "headers": headers, "query_string": b""}


@pytest.mark.parametrize("which", GUARDS)
def test_e1_m2_only_who_has_a_key_is_let_in_so_that_its_connection_is_kept(which: str) -> None:
    scopes = [scope_of(HEALTH[which], KEY), scope_of(CALLS[which], "another"), scope_of(CALLS[which], KEY)]

    for scope in scopes:
        exchange(GUARDS[which](answer), scope, [])

    assert [IS_ADMITTED in scope for scope in scopes] == [False, False, True]


def exchange(app: Any, scope: Scope, bodies: list[bytes]) -> list[bytes]:
    """The pieces of the answer; after the last piece of the request the client goes."""
    unread, said = iter(bodies), []

    async def receive() -> Message:
        piece = next(unread, None)
        return {"type": "http.disconnect"} if piece is None else request_of(piece)

    async def send(message: Message) -> None:
        said.append(message.get("body", b""))

    asyncio.run(app(scope, receive, send))
    return said


def request_of(piece: bytes) -> Message:
    return {"type": "http.request", "body": piece, "more_body": True}


@pytest.mark.parametrize("piece", [b"," * (MAX_VALUES + 1), b"x" * (MAX_JSON_BYTES + 1)], ids=["values", "bytes"])
def test_e2_a_body_that_nobody_asked_for_does_not_break_an_answer_that_has_begun(piece: bytes) -> None:
    async def stream(scope: Scope, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while (await receive())["type"] != "http.disconnect":
            pass
        await send({"type": "http.response.body", "body": b"done"})

    scope = {**scope_of(f"{V1}/export"), "headers": [(b"host", b"testserver")]}

    assert exchange(engine_guard.Guard(BoundedBodies(stream), OPEN, max_file_bytes=1), scope, [piece])[-1] == b"done"


def test_e2_a_body_that_was_answered_keeps_no_other_from_its_turn() -> None:
    async def stream(scope: Scope, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 200, "headers": []})
        if scope["path"] == "/first":
            # While it still streams, another comes.
            await app(scope_of("/second"), receive_many, note_status)

    async def receive_many() -> Message:
        return {**request_of(b"," * (MANY_VALUES + 1)), "more_body": False}

    async def note_status(message: Message) -> None:
        begun.append(message["status"])

    begun: list[int] = []
    app = BoundedBodies(stream)
    asyncio.run(asyncio.wait_for(app(scope_of("/first"), receive_many, note_status), WITHIN_SECONDS))

    assert begun == [200, 200]


def test_m6_a_subscription_of_many_values_keeps_no_other_message_waiting(running_engine: EngineProgram) -> None:
    method = "subscriptions/listen"
    many = {"x": "," * (MANY_VALUES + 1)}
    params = newest_params(notifications={})
    params["_meta"] |= many
    subscription = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    ping = {"jsonrpc": "2.0", "id": 2, "method": "ping", "params": {"_meta": many}}

    with (
        httpx.Client(base_url=running_engine.mcp_url, trust_env=False, timeout=WITHIN_SECONDS) as http,
        http.stream("POST", "/mcp", json=subscription, headers=newest_headers(method)) as stream,
    ):
        assert stream.headers["content-type"] == "text/event-stream"
        assert http.post("/mcp", json=ping).json()["result"] == {}


def test_client_that_only_pings_is_no_longer_read() -> None:
    with open_server(answer, Limits()) as server, connect(server, WEBSOCKET, has_upgraded) as client:
        (connection,) = server.connections
        while not connection.is_writing_paused:
            client.sendall(PING)
        wait_until(lambda: not connection.transport.is_reading())

        def is_read_again() -> bool:
            client.recv(1_000_000)
            return connection.transport.is_reading() and not connection.is_writing_paused

        wait_until(is_read_again)


def test_websocket_that_is_behind_longest_is_ended() -> None:
    large = WEBSOCKET.replace(b"/in", b"/in/large")
    with open_server(answer, Limits()) as server, ExitStack() as opened:
        clients = [opened.enter_context(connect(server, large, is_unread)) for _ in range(2)]

        wait_until(lambda: len(server.connections) == 1)
        remaining = clients[1].getsockname()
        assert [one.client for one in server.connections] == [remaining]


def test_unread_answers_do_not_keep_a_server_from_stopping(caplog: pytest.LogCaptureFixture) -> None:
    with ExitStack() as opened, open_server(answer, Limits()) as server:
        opened.enter_context(connect(server, WEBSOCKET.replace(b"/in", b"/in/large"), is_unread))

    assert "graceful shutdown exceeded" not in caplog.text
