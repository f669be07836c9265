"""Requests that take long: how they are cancelled, and what happens to them when the server stops."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from tests.mcp_server.programs import Json, McpProgram, RawClient

WAIT_SECONDS = 20
SLOW_CALL = {"name": "kb_status", "arguments": {}}


@pytest.fixture
def silent_engine() -> Iterator[str]:
    """Takes every connection and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def program(silent_engine: str, tmp_path: Path) -> Iterator[McpProgram]:
    with McpProgram(tmp_path, silent_engine) as program:
        yield program


@pytest.fixture
def client(program: McpProgram) -> Iterator[RawClient]:
    with RawClient(program.url) as client:
        yield client


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


def test_the_stream_of_announcements_is_open_until_the_server_stops(program: McpProgram, client: RawClient) -> None:
    """M1."""
    with client.http.stream("GET", "/mcp", headers={"Accept": "text/event-stream"}) as stream:
        assert stream.headers["content-type"] == "text/event-stream"
        lines = stream.iter_lines()
        assert next(lines).startswith(":")

        program.process.terminate()

        assert [line for line in lines if line] == []
    assert program.process.wait(WAIT_SECONDS) == 0


def test_a_server_with_calls_under_way_stops_within_seconds(program: McpProgram, client: RawClient) -> None:
    with ThreadPoolExecutor() as threads:
        answer = threads.submit(client.post, "tools/call", SLOW_CALL)
        client.request("ping")

        assert program.stop() == 0
        assert isinstance(answer.exception(), httpx.TransportError | None)
    assert "Traceback" not in program.log.read_text()
