"""What somebody sees who types the contract's requests, with nothing but curl or a WebSocket."""

import json
import subprocess

import pytest
from tests.engine_program import EngineProgram
from tests.mcp_server.knowledge.asking import Knowledge
from tests.mcp_server.knowledge.conftest import Write
from tests.mcp_server.knowledge.shapes import assert_shape
from websockets.sync.client import connect

from kb.client import Json

ANSWER_WITHIN_SECONDS = 30
SEARCH: Json = {
    "jsonrpc": "2.0",
    "id": "1",
    "method": "tools/call",
    "params": {"name": "knowledge-search", "arguments": {"query": "authentication", "top_k": 5}},
}
INITIALIZE: Json = {
    "jsonrpc": "2.0",
    "id": "1",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "by hand", "version": "1"},
    },
}
FAULTS: dict[str, tuple[str, int, str]] = {
    "no JSON": ("{", -32700, "parse_error"),
    "no request": ('{"jsonrpc": "2.0", "id": "1"}', -32600, "invalid_request"),
    "no such method": ('{"jsonrpc": "2.0", "id": "1", "method": "tools/shout"}', -32601, "method_not_found"),
    "no parameters": ('{"jsonrpc": "2.0", "id": "1", "method": "tools/call", "params": {}}', -32602, "invalid_params"),
    "no such tool": (
        '{"jsonrpc": "2.0", "id": "1", "method": "tools/call", "params": {"name": "knowledge-shout"}}',
        -32602,
        "unknown_tool",
    ),
}


def curl(engine: EngineProgram, body: str) -> tuple[str, Json]:
    """The type of the answer, and the answer."""
    command = ["curl", "--silent", "--noproxy", "*", "--header", "Content-Type: application/json"]
    told = ["--data-binary", "@-", "--write-out", "\n%{content_type}", f"{engine.mcp_url}/mcp"]
    ended = subprocess.run(
        [*command, *told], input=body, capture_output=True, text=True, check=True, timeout=ANSWER_WITHIN_SECONDS
    )
    answer, _, content_type = ended.stdout.rpartition("\n")
    return content_type, json.loads(answer)


def speak(engine: EngineProgram, text: str) -> Json:
    with connect(engine.mcp_url.replace("http", "ws") + "/mcp", proxy=None) as websocket:
        websocket.send(text)
        answer: Json = json.loads(websocket.recv(ANSWER_WITHIN_SECONDS))
        return answer


def test_a_search_by_curl_and_by_websocket_is_answered_alike(
    own: Knowledge, own_engine: EngineProgram, write: Write
) -> None:
    """M1, M4, M17."""
    added = own.add(write("auth-guide.txt", "To configure authentication, set up the provider."))

    content_type, by_curl = curl(own_engine, json.dumps(SEARCH))
    by_websocket = speak(own_engine, json.dumps(SEARCH))

    assert content_type == "application/json"
    for answer in (by_curl, by_websocket):
        assert_shape(answer, "tool result")
        (content,) = answer["result"]["content"]
        found = json.loads(content["text"])
        assert_shape(found, "search")
        assert found["results"][0]["document_id"] == added["document_id"]
        assert answer["result"]["structuredContent"] == found


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_protocol_has_its_code_and_its_kind(own_engine: EngineProgram, name: str) -> None:
    """M6, M23."""
    body, code, error_type = FAULTS[name]

    content_type, by_curl = curl(own_engine, body)

    assert content_type == "application/json"
    assert_shape(by_curl, "protocol error")
    assert (by_curl["error"]["code"], by_curl["error"]["data"]["error_type"]) == (code, error_type)
    assert speak(own_engine, body) == by_curl


def test_the_server_tells_what_it_can(own_engine: EngineProgram) -> None:
    """M1."""
    for answer in (curl(own_engine, json.dumps(INITIALIZE))[1], speak(own_engine, json.dumps(INITIALIZE))):
        assert_shape(answer["result"], "initialize")
