"""A change of the list of tools is heard on every transport. The server of the conformance suite can have one."""

import json
from collections.abc import Iterator

import pytest
from tests.mcp_clients import RawClient
from tests.mcp_server.conformance import conformance_server
from websockets.sync.client import connect

CHANGED = "notifications/tools/list_changed"
WITHIN_SECONDS = 20


@pytest.fixture(scope="module")
def client() -> Iterator[RawClient]:
    with conformance_server() as url, RawClient(url.removesuffix("/mcp")) as client:
        yield client


def test_by_the_stream_that_a_get_opens(client: RawClient) -> None:
    """M1."""
    with client.http.stream("GET", "/mcp", headers={"Accept": "text/event-stream"}) as stream:
        lines = stream.iter_lines()
        next(lines)
        client.call_for_result("test_trigger_tool_change")

        data = next(line.removeprefix("data: ") for line in lines if line.startswith("data: "))

    assert json.loads(data) == {"jsonrpc": "2.0", "method": CHANGED}


def test_over_a_websocket(client: RawClient) -> None:
    """M1."""
    url = str(client.http.base_url).replace("http", "ws").rstrip("/") + "/mcp"
    with connect(url, proxy=None) as websocket:
        websocket.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        websocket.recv(WITHIN_SECONDS)
        client.call_for_result("test_trigger_tool_change")

        assert json.loads(websocket.recv(WITHIN_SECONDS))["method"] == CHANGED
