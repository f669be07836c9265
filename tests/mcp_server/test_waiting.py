"""Requests that take long: how they are cancelled, and what happens to them when the server stops."""

import asyncio
import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from tests.mcp_clients import RawClient
from tests.mcp_program import McpProgram
from websockets.sync.client import connect

from kb.client import EngineClient, Json
from kb.mcp.caller import Caller
from kb.mcp.calling import ToolCalls
from kb.mcp.file_roots import FileRoots
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.uploads import open_uploads
from kb.mcp.watched_engine import WatchedEngine
from kb.mcp.websocket import MOST_UNDER_WAY, MOST_UNDER_WAY_TOGETHER

WAIT_SECONDS = 20
SLOW_CALL = {"name": "kb_status", "arguments": {}}


@contextmanager
def open_program(folder: Path) -> Iterator[tuple[McpProgram, socket.socket]]:
    """`kb mcp`, and its engine, which takes every connection and never says a word."""
    with (
        socket.create_server(("127.0.0.1", 0), backlog=200) as silent_engine,
        McpProgram(folder, f"http://127.0.0.1:{silent_engine.getsockname()[1]}") as program,
    ):
        yield program, silent_engine


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpProgram]:
    with open_program(tmp_path_factory.mktemp("waiting")) as (program, _):
        yield program


@pytest.fixture
def client(program: McpProgram) -> Iterator[RawClient]:
    with RawClient(program.url) as client:
        yield client


def accept_call(silent_engine: socket.socket) -> socket.socket:
    """The connection of a call; the server also looks at the engine by itself."""
    while True:
        connection, _ = silent_engine.accept()
        connection.settimeout(WAIT_SECONDS)
        if connection.recv(65_536).startswith(b"GET /health/live "):
            return connection
        connection.close()


def cancel(client: RawClient, session: str, request_id: int) -> None:
    message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": request_id}}
    response = client.http.post("/mcp", json=message, headers={"Mcp-Session-Id": session})
    assert response.status_code == 202


@pytest.mark.parametrize("meta", [{}, {"progressToken": 1}], ids=["json", "events"])
def test_a_request_is_cancelled_within_its_own_session_alone(client: RawClient, meta: Json) -> None:
    """M23."""
    call = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {**SLOW_CALL, "_meta": meta}}

    def send(session: str) -> httpx.Response:
        headers = {"Mcp-Session-Id": session, "Accept": "application/json, text/event-stream"}
        return client.http.post("/mcp", json=call, headers=headers)

    with ThreadPoolExecutor() as threads:
        ours, theirs = (threads.submit(send, session) for session in ("ours", "theirs"))
        while not ours.done():
            cancel(client, "ours", 5)
        assert not theirs.done()
        while not theirs.done():
            cancel(client, "theirs", 5)

    assert '"error_type":"request_cancelled"' in ours.result().text


def test_the_end_of_a_session_ends_what_it_waits_for(client: RawClient) -> None:
    headers = {"Mcp-Session-Id": "ours"}

    with ThreadPoolExecutor() as threads:
        answer = threads.submit(client.post, "tools/call", SLOW_CALL, headers)
        while not answer.done():
            client.http.delete("/mcp", headers=headers)

    assert answer.result().json()["error"]["data"]["error_type"] in ("request_cancelled", "session_not_found")


def test_a_server_with_calls_under_way_stops_within_seconds_and_says_so(tmp_path: Path) -> None:
    """M1: and until then its stream of announcements is open."""
    with (
        open_program(tmp_path) as (program, silent_engine),
        RawClient(program.url) as client,
        client.http.stream("GET", "/mcp", headers={"Accept": "text/event-stream"}) as stream,
        ThreadPoolExecutor() as threads,
    ):
        assert stream.headers["content-type"] == "text/event-stream"
        lines = stream.iter_lines()
        assert next(lines).startswith(":")
        answer = threads.submit(client.call_for_result, "kb_status")
        # From here on the call is under way.
        connection = accept_call(silent_engine)

        assert program.stop() == 0
        connection.close()

        assert [line for line in lines if line] == []
        assert answer.result()["structuredContent"]["error"] == "server_stopped"
    assert "Traceback" not in program.log.read_text()


def test_a_request_cancelled_over_a_websocket_is_not_answered_and_the_next_one_is(tmp_path: Path) -> None:
    """M23."""
    with (
        open_program(tmp_path) as (program, silent_engine),
        connect(program.url.replace("http", "ws") + "/mcp", proxy=None) as websocket,
    ):
        websocket.send(json.dumps({"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": SLOW_CALL}))
        connection = accept_call(silent_engine)
        cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 5}}
        websocket.send(json.dumps(cancelled))
        # The call is given up: its connection to the engine ends.
        while connection.recv(65_536):
            pass
        websocket.send('{"jsonrpc":"2.0","id":6,"method":"ping"}')

        assert json.loads(websocket.recv(WAIT_SECONDS))["id"] == 6
        connection.close()


def call_until_refused(program: McpProgram, opened: ExitStack) -> int:
    """The id of the first call that is refused on a new WebSocket; the calls before it stay under way."""
    websocket = opened.enter_context(connect(program.url.replace("http", "ws") + "/mcp", proxy=None))
    for request_id in range(MOST_UNDER_WAY + 1):
        call = {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": SLOW_CALL}
        websocket.send(json.dumps(call))
    refused = json.loads(websocket.recv(WAIT_SECONDS))
    assert refused["error"]["data"]["error_type"] == "too_many_requests"
    request_id = refused["id"]
    return int(request_id)


def test_calls_under_way_are_bounded_for_one_websocket_and_for_all(program: McpProgram) -> None:
    full = MOST_UNDER_WAY_TOGETHER // MOST_UNDER_WAY
    with ExitStack() as opened:
        allowed = [call_until_refused(program, opened) for _ in range(full + 1)]

    assert allowed == [*[MOST_UNDER_WAY] * full, 0]


def test_calls_that_wait_for_the_same_silent_engine_are_told_of_it_together(
    tmp_path: Path,
) -> None:
    """M3: many callers wait no longer than one."""

    async def call_at_once(calls: int) -> list[Json]:
        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"http://127.0.0.1:{silent.getsockname()[1]}"
            async with EngineClient(url, timeout=0.5) as engine, open_uploads(tmp_path / "u", timedelta(1)) as uploads:
                watched = WatchedEngine(engine, url)
                tools = ToolCalls(watched, uploads, FileRoots(()), lambda coroutine: coroutine.close())
                writer = Caller("writer", can_write=True)
                return await asyncio.gather(*(tools.call(KB_TOOLS[-1], {}, writer) for _ in range(calls)))

    answers = asyncio.run(asyncio.wait_for(call_at_once(100), WAIT_SECONDS))

    assert {answer["structuredContent"]["error"] for answer in answers} == {"engine_timeout"}
