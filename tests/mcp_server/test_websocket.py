"""The same JSON-RPC over a WebSocket at the same address."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.engine_program import EngineProgram
from tests.newest_protocol import CLIENT, newest_params
from websockets.sync.client import ClientConnection, connect

from kb.client import Json

ANSWER_WITHIN_SECONDS = 20


@pytest.fixture
def websocket(running_engine: EngineProgram) -> Iterator[ClientConnection]:
    with connect(running_engine.mcp_url.replace("http", "ws") + "/mcp", proxy=None, max_size=None) as websocket:
        yield websocket


def send(websocket: ClientConnection, method: str, params: Json | None = None, request_id: int | None = 1) -> None:
    named = {} if request_id is None else {"id": request_id}
    websocket.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}, **named}))


def receive(websocket: ClientConnection) -> Any:
    return json.loads(websocket.recv(ANSWER_WITHIN_SECONDS))


def test_a_conversation_with_handshake(websocket: ClientConnection) -> None:
    """M1."""
    send(websocket, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT})
    assert receive(websocket)["result"]["protocolVersion"] == "2025-06-18"
    send(websocket, "notifications/initialized", request_id=None)

    send(websocket, "tools/call", {"name": "kb_status", "arguments": {}}, 2)

    answer = receive(websocket)
    assert answer["id"] == 2
    assert answer["result"]["structuredContent"]["version"] == "3.0.0"


def test_a_call_needs_no_handshake_here_either(websocket: ClientConnection) -> None:
    """M1, M4."""
    send(websocket, "tools/call", {"name": "kb_status", "arguments": {}})

    assert receive(websocket)["result"]["isError"] is False


def test_the_newest_protocol_is_spoken_too(websocket: ClientConnection) -> None:
    """M1."""
    send(websocket, "server/discover", newest_params(), 1)
    discovered = receive(websocket)["result"]
    send(websocket, "tools/call", newest_params(name="kb_status", arguments={}), 2)
    called = receive(websocket)["result"]

    assert discovered["supportedVersions"] == ["2026-07-28"]
    assert (called["resultType"], called["isError"]) == ("complete", False)


def test_requests_overtake_one_another_and_each_is_answered_once(websocket: ClientConnection) -> None:
    send(websocket, "tools/call", {"name": "kb_addnote", "arguments": {"text": "A slow one", "wait": True}}, 0)
    for request_id in range(1, 31):
        send(websocket, "ping", request_id=request_id)

    answers = [receive(websocket) for _ in range(31)]

    assert sorted(answer["id"] for answer in answers) == [*range(31)]
    assert all("result" in answer for answer in answers)


@pytest.mark.parametrize(
    ("frame", "code"), [("{", -32700), ("[]", -32600), (b"\xff\xfe", -32700), ('{"jsonrpc":"2.0","id":1}', -32600)]
)
def test_a_broken_frame_is_answered_and_the_conversation_goes_on(
    websocket: ClientConnection, frame: str | bytes, code: int
) -> None:
    """M6."""
    websocket.send(frame)
    error = receive(websocket)["error"]
    send(websocket, "ping")

    assert error["code"] == code
    assert error["data"]["error_type"] in ("parse_error", "invalid_request")
    assert receive(websocket)["result"] == {}


def test_an_error_names_its_kind(websocket: ClientConnection) -> None:
    """M6."""
    send(websocket, "tools/call", {"name": "kb_shout"})
    assert receive(websocket)["error"]["data"]["error_type"] == "unknown_tool"

    send(websocket, "tools/call", newest_params(name=1))
    assert receive(websocket)["error"]["data"]["error_type"] == "invalid_params"
