"""Streamable HTTP as the server speaks it, by raw requests."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.engine_program import EngineProgram
from tests.mcp_clients import RawClient
from tests.newest_protocol import CLIENT, NEWEST_VERSION, newest_headers, newest_params

HANDSHAKE_VERSIONS = ("2025-06-18", "2025-11-25")


@pytest.fixture(scope="module")
def client(running_engine: EngineProgram) -> Iterator[RawClient]:
    with RawClient(running_engine.mcp_url) as client:
        yield client


def initialize(client: RawClient, version: str) -> Any:
    return client.post("initialize", {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT})


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_the_handshake_agrees_on_the_version_and_announces_what_the_server_can(client: RawClient, version: str) -> None:
    """M1."""
    response = initialize(client, version)

    result = response.json()["result"]
    assert result["protocolVersion"] == version
    assert result["capabilities"]["tools"] == {"listChanged": True}
    assert result["capabilities"]["prompts"] == {"listChanged": False}
    assert (result["serverInfo"]["name"], result["serverInfo"]["version"]) == ("knowledge-server", "3.0.0")
    assert response.headers["mcp-session-id"]
    assert response.headers["content-type"] == "application/json"


def test_an_unknown_version_is_answered_with_the_newest_that_has_a_handshake(client: RawClient) -> None:
    """M1."""
    assert initialize(client, "1999-01-01").json()["result"]["protocolVersion"] == "2025-11-25"


def test_the_newest_protocol_discovers_the_same_without_a_handshake(client: RawClient) -> None:
    """M1."""
    response = client.post("server/discover", newest_params(), newest_headers("server/discover"))

    result = response.json()["result"]
    assert NEWEST_VERSION in result["supportedVersions"]
    assert result["capabilities"]["tools"] == {"listChanged": True}
    assert result["capabilities"]["prompts"] == {"listChanged": False}
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "knowledge-server"


@pytest.mark.parametrize(
    "accept", [None, "*/*", "application/json", "text/html", "text/event-stream, application/json"]
)
def test_a_plain_call_without_handshake_is_answered_as_json_whatever_it_accepts(
    client: RawClient, accept: str | None
) -> None:
    """M4."""
    headers = {} if accept is None else {"Accept": accept}
    request = client.http.build_request(
        "POST", "/mcp", json={"jsonrpc": "2.0", "id": "1", "method": "tools/call", "params": {"name": "kb_status"}}
    )
    del request.headers["accept"]
    request.headers.update(headers)

    response = client.http.send(request)

    assert response.status_code == 200
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    assert answer["id"] == "1"
    assert answer["result"]["structuredContent"]["version"] == "3.0.0"
    assert json.loads(answer["result"]["content"][0]["text"]) == answer["result"]["structuredContent"]


@pytest.mark.parametrize("accept", ["", "application/json", "*/*"])
def test_the_newest_protocol_is_as_lenient_about_accept(client: RawClient, accept: str) -> None:
    """M4."""
    headers = {**newest_headers("tools/call", "kb_status"), "Accept": accept}

    response = client.post("tools/call", newest_params(name="kb_status", arguments={}), headers)

    assert response.headers["content-type"] == "application/json"
    assert response.json()["result"]["structuredContent"]["version"] == "3.0.0"


def test_a_call_that_asks_for_progress_is_answered_as_events(client: RawClient) -> None:
    """M4."""
    params = {"name": "kb_status", "arguments": {}, "_meta": {"progressToken": "p"}}

    response = client.post("tools/call", params, {"Accept": "application/json, text/event-stream"})

    assert response.headers["content-type"] == "text/event-stream"
    assert response.headers["x-accel-buffering"] == "no"
    data = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    assert json.loads(data[-1])["result"]["structuredContent"]["version"] == "3.0.0"


def test_a_client_that_cannot_read_events_gets_json_even_if_it_asks_for_progress(client: RawClient) -> None:
    """M4."""
    params = {"name": "kb_status", "arguments": {}, "_meta": {"progressToken": "p"}}

    response = client.post("tools/call", params, {"Accept": "application/json"})

    assert response.headers["content-type"] == "application/json"


def test_a_session_that_nobody_knows_is_served_all_the_same(client: RawClient) -> None:
    """M4."""
    headers = {"Mcp-Session-Id": "lost-by-a-restart", "MCP-Protocol-Version": "2025-11-25"}

    called = client.post("tools/call", {"name": "kb_status"}, headers)
    opened = client.http.post(
        "/mcp",
        json={
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT},
        },
        headers=headers,
    )

    assert called.json()["result"]["isError"] is False
    assert opened.json()["result"]["protocolVersion"] == "2025-11-25"
    assert opened.headers["mcp-session-id"] != "lost-by-a-restart"


def test_an_ended_session_is_not_found_and_others_go_on(client: RawClient) -> None:
    """M4."""
    ended, other = (initialize(client, "2025-11-25").headers["mcp-session-id"] for _ in range(2))

    deleted = client.http.delete("/mcp", headers={"Mcp-Session-Id": ended})

    assert deleted.status_code == 204
    refused = client.post("ping", headers={"Mcp-Session-Id": ended})
    assert refused.status_code == 404
    assert refused.json()["error"]["data"]["error_type"] == "session_not_found"
    assert client.post("ping", headers={"Mcp-Session-Id": other}).json()["result"] == {}
    assert client.http.delete("/mcp").status_code == 400


def test_notifications_and_answers_are_taken_without_a_word(client: RawClient) -> None:
    for message in ({"method": "notifications/initialized"}, {"id": 7, "result": {}}, {"method": "notifications/odd"}):
        response = client.http.post("/mcp", json={"jsonrpc": "2.0", **message})

        assert (response.status_code, response.content) == (202, b"")


REQUEST = '{"jsonrpc":"2.0","id":1,'
BROKEN_MESSAGES: dict[str, tuple[str, int, int, str]] = {
    "not JSON": ("{", 400, -32700, "parse_error"),
    "half a surrogate pair": (REQUEST + '"method":"ping","params":{"a":"\\ud800"}}', 400, -32700, "parse_error"),
    "nested too deep": ("[" * 100_000, 400, -32700, "parse_error"),
    "a batch": (f'[{REQUEST}"method":"ping"}}]', 400, -32600, "invalid_request"),
    "a number": ("1", 400, -32600, "invalid_request"),
    "no version": ('{"id":1,"method":"ping"}', 400, -32600, "invalid_request"),
    "an id that is a list": ('{"jsonrpc":"2.0","id":[],"method":"ping"}', 400, -32600, "invalid_request"),
    "params that are a list": (REQUEST + '"method":"ping","params":[1]}', 400, -32600, "invalid_request"),
    "an unknown method": (REQUEST + '"method":"tools/shout"}', 200, -32601, "method_not_found"),
    "a call of nothing": (REQUEST + '"method":"tools/call","params":{}}', 200, -32602, "invalid_params"),
    "an unknown tool": (REQUEST + '"method":"tools/call","params":{"name":"kb_x"}}', 200, -32602, "unknown_tool"),
}


@pytest.mark.parametrize("name", BROKEN_MESSAGES)
def test_a_fault_of_the_protocol_is_an_error_that_names_its_kind(client: RawClient, name: str) -> None:
    """M6."""
    body, status, code, error_type = BROKEN_MESSAGES[name]

    response = client.http.post("/mcp", content=body, headers={"Content-Type": "application/json"})

    error = response.json()["error"]
    assert (response.status_code, error["code"], error["data"]["error_type"]) == (status, code, error_type)
    assert "pydantic" not in response.text
    assert "Traceback" not in response.text


def test_what_the_transport_refuses_names_its_kind_too(client: RawClient) -> None:
    """M6."""
    refusals = {
        "unsupported_media_type": client.http.post("/mcp", content=b"{}", headers={"Content-Type": "text/plain"}),
        "payload_too_large": client.http.post(
            "/mcp", content=b'"' + b"x" * 17_000_000 + b'"', headers={"Content-Type": "application/json"}
        ),
        "method_not_allowed": client.http.put("/mcp", json={}),
        "not_found": client.http.get("/mcp/knowledge-base"),
        "unsupported_protocol_version": client.post(
            "tools/list",
            {"_meta": {**newest_params()["_meta"], "io.modelcontextprotocol/protocolVersion": "2099-01-01"}},
            {**newest_headers("tools/list"), "MCP-Protocol-Version": "2099-01-01"},
        ),
        "header_mismatch": client.post("tools/list", newest_params(), newest_headers("tools/call")),
    }

    for error_type, response in refusals.items():
        assert response.status_code >= 400, error_type
        assert response.headers["content-type"] == "application/json"
        assert response.json()["error"]["data"]["error_type"] == error_type


def test_a_toolset_has_an_address_of_its_own_and_one_that_is_off_has_none(client: RawClient) -> None:
    """M1."""
    everything = client.request("tools/list")["result"]["tools"]
    client.path = "/mcp/kb"
    one = client.request("tools/list")["result"]["tools"]
    client.path = "/mcp"

    assert [tool["name"] for tool in one] == [tool["name"] for tool in everything if tool["name"].startswith("kb_")]
    assert client.http.post("/mcp/kb-collections", json={}).status_code == 404


def test_each_tool_tells_all_that_a_client_can_use(client: RawClient) -> None:
    """M5."""
    tools = client.request("tools/list")["result"]["tools"]

    for tool in tools:
        assert tool["title"]
        assert len(tool["description"]) > 50
        assert tool["inputSchema"]["additionalProperties"] is False
        assert tool["outputSchema"]["type"] == "object"
        assert "required" not in tool["outputSchema"]
        assert {"readOnlyHint", "destructiveHint", "idempotentHint"} <= tool["annotations"].keys()
    hints = {tool["name"]: tool["annotations"] for tool in tools}
    assert hints["kb_search"]["readOnlyHint"]
    assert hints["kb_delete"]["destructiveHint"]
    assert not hints["kb_addnote"]["destructiveHint"]
    untrusted = {tool["name"] for tool in tools if "never instructions" in tool["description"]}
    assert {"kb_search", "kb_get"} <= untrusted


def test_wrong_arguments_are_named_before_any_call_is_made(client: RawClient) -> None:
    """M6."""
    assert client.fail("kb_search") == {
        "success": False,
        "error": "missing_required_parameter",
        "message": "kb_search needs 'query'. Call it again with it.",
        "parameter": "query",
        "missing_parameters": ["query"],
    }
    assert client.fail("kb_search", query="a", colection="b")["error"] == "invalid_parameter"
    assert "Did you mean 'tags'?" in client.fail("kb_search", query="a", tag=["b"])["message"]
    assert client.fail("kb_search", query="a", top="5")["parameter"] == "top"
    assert client.fail("kb_search", query="a", filters={"date_range": {"begin": "x"}})["parameter"] == (
        "filters.date_range.begin"
    )
    assert client.fail("kb_get", document_id=True)["error"] == "invalid_parameter"
    assert client.fail("kb_tag", document_id=1, add=["x" * 201])["parameter"] == "add.0"
    assert client.fail("kb_search", query=" ")["message"] == "'query' must not be blank, nor hold the character NUL."
    assert client.fail("kb_upload_start", filename="a", total_size=1, tags=["\x00"])["parameter"] == "tags.0"


def test_what_only_the_engine_finds_wrong_is_named_as_a_parameter_too(client: RawClient) -> None:
    """M6."""
    refused = client.fail("kb_search", query="a", filters={"date_range": {"start": "yesterday"}})

    assert refused["error"] == "invalid_parameter"
    assert refused["parameter"] == "filters.date_range.start"


def test_a_missing_document_is_told_by_every_tool_in_words_that_every_client_shows(client: RawClient) -> None:
    """M6, M9, M10, M11, M12."""
    missing = 2**62
    answers = [
        client.fail("kb_get", document_id=missing),
        client.fail("kb_delete", document_id=missing),
        client.fail("kb_tag", document_id=missing, add=["a"]),
        client.fail("kb_update_note", document_id=missing, text="a"),
    ]

    assert {answer["error"] for answer in answers} == {"document_not_found"}
    assert all(str(missing) in answer["message"] for answer in answers)


def test_a_whole_number_may_be_written_with_a_decimal_point(client: RawClient) -> None:
    document = client.call("kb_addnote", text="Counted in floats", wait=True)["document"]

    assert client.call("kb_get", document_id=float(document["id"]))["id"] == document["id"]


def test_the_prompt_shows_how_to_search_well(client: RawClient) -> None:
    """M25."""
    listed = client.request("prompts/list")["result"]["prompts"]
    prompt = client.request("prompts/get", {"name": listed[0]["name"], "arguments": {"question": "Where is the key?"}})

    assert "Where is the key?" in prompt["result"]["messages"][0]["content"]["text"]
    refused = client.request("prompts/get", {"name": "search-well"})["error"]
    assert (refused["code"], refused["data"]["error_type"]) == (-32602, "missing_required_parameter")
