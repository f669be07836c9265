"""Who is let in, over HTTP and WebSocket alike."""

import base64
import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import httpx
import pytest
from tests.engine_program import EngineProgram, run_kb
from tests.mcp_clients import READING_TOOLS, RawClient
from tests.mcp_program import McpProgram
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Subprotocol

KEY, READING_KEY = "agents/key+", "readers-key"


@pytest.fixture(scope="module")
def guarded(running_engine: EngineProgram, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpProgram]:
    settings = {"KB_MCP_API_KEY": KEY, "KB_MCP_API_KEY_READONLY": READING_KEY}
    with McpProgram(tmp_path_factory.mktemp("guarded"), running_engine.url, settings) as program:
        yield program


def ping(program: McpProgram, **headers: str) -> httpx.Response:
    with RawClient(program.url, headers={name.replace("_", "-"): value for name, value in headers.items()}) as client:
        return client.post("ping")


def ping_by_websocket(
    program: McpProgram, headers: Mapping[str, str] = {}, *, protocols: list[str] | None = None
) -> str | None:
    """The protocol that the server chose."""
    url = program.url.replace("http", "ws") + "/mcp"
    offered = None if protocols is None else [Subprotocol(name) for name in protocols]
    with connect(url, additional_headers=headers, subprotocols=offered, proxy=None) as websocket:
        websocket.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        assert json.loads(websocket.recv(10)) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        return websocket.subprotocol


@pytest.mark.parametrize(
    "authorization",
    ["", "Bearer", "Bearer wrong", f"Basic {KEY}", KEY, f"Bearer  {KEY}", f"Bearer {KEY}x", "Bearer \xe9"],
)
def test_a_request_without_the_key_is_refused(guarded: McpProgram, authorization: str) -> None:
    """M2."""
    with httpx.Client(trust_env=False, timeout=60) as http:
        headers = [(b"Authorization", authorization.encode("latin-1"))] if authorization else []
        body = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        response = http.post(f"{guarded.url}/mcp", json=body, headers=headers)

    assert response.status_code == 401
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert response.json()["error"]["data"]["error_type"] == "unauthorized"


def test_two_keys_in_one_request_are_refused(guarded: McpProgram) -> None:
    """M2."""
    with httpx.Client(trust_env=False, timeout=60) as http:
        headers = [("Authorization", f"Bearer {KEY}"), ("Authorization", f"Bearer {KEY}")]
        response = http.post(f"{guarded.url}/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers)

    assert response.status_code == 401


def test_the_key_opens_and_health_needs_none(guarded: McpProgram) -> None:
    """M2."""
    assert ping(guarded, Authorization=f"Bearer {KEY}").json()["result"] == {}
    assert ping(guarded, Authorization=f"bearer {READING_KEY}").json()["result"] == {}
    assert httpx.get(f"{guarded.url}/health", trust_env=False, timeout=60).json()["status"] == "ok"
    assert httpx.get(f"{guarded.url}/anything", trust_env=False, timeout=60).status_code == 401


def test_the_reading_key_reads_and_changes_nothing(guarded: McpProgram) -> None:
    """M2."""
    with RawClient(guarded.url, headers={"Authorization": f"Bearer {READING_KEY}"}) as client:
        assert client.call("kb_status")["version"] == "3.0.0"

        names = [tool["name"] for tool in client.request("tools/list")["result"]["tools"]]
        for name in set(names) - READING_TOOLS:
            assert client.fail(name)["error"] == "forbidden"


@pytest.mark.parametrize("host", ["evil.example", "evil.example:3000", "", "localhost.evil.example"])
def test_a_name_that_is_not_ours_is_refused(guarded: McpProgram, host: str) -> None:
    """M2."""
    response = ping(guarded, Host=host, Authorization=f"Bearer {KEY}")

    assert response.status_code == 421
    assert response.json()["error"]["data"]["error_type"] == "host_not_allowed"
    assert httpx.get(f"{guarded.url}/health", headers={"Host": host}, trust_env=False, timeout=60).status_code == 421


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", ""])
def test_a_page_of_another_origin_is_refused(guarded: McpProgram, origin: str) -> None:
    """M2."""
    response = ping(guarded, Origin=origin, Authorization=f"Bearer {KEY}")

    assert response.status_code == 403
    assert response.json()["error"]["data"]["error_type"] == "origin_not_allowed"


@pytest.mark.parametrize("origin", ["http://127.0.0.1:5500", "http://localhost:3000", "https://[::1]", "OWN"])
def test_page_of_this_machine_is_refused(guarded: McpProgram, origin: str) -> None:
    """E30: of any port, even of the server's own port, since it has no pages."""
    response = ping(guarded, Origin=guarded.url if origin == "OWN" else origin, Authorization=f"Bearer {KEY}")

    assert response.status_code == 403


def test_request_of_another_site_without_origin_is_refused(guarded: McpProgram) -> None:
    """M2."""
    assert ping(guarded, Sec_Fetch_Site="cross-site", Authorization=f"Bearer {KEY}").status_code == 403


def test_a_websocket_passes_the_same_checks_before_it_is_accepted(guarded: McpProgram) -> None:
    """M2."""
    refusals: list[tuple[int, dict[str, str]]] = [
        (401, {}),
        (401, {"Authorization": "Bearer wrong"}),
        (403, {"Authorization": f"Bearer {KEY}", "Origin": "https://evil.example"}),
    ]
    for status, headers in refusals:
        with pytest.raises(InvalidStatus) as refused:
            ping_by_websocket(guarded, headers)

        assert refused.value.response.status_code == status
        assert ("www-authenticate" in refused.value.response.headers) == (status == 401)

    ping_by_websocket(guarded, {"Authorization": f"Bearer {KEY}"})


def test_a_browser_sends_the_key_among_the_protocols_it_offers(guarded: McpProgram) -> None:
    """M2."""
    encoded = base64.urlsafe_b64encode(KEY.encode()).decode().rstrip("=")

    assert ping_by_websocket(guarded, protocols=["mcp", f"bearer.{encoded}"]) == "mcp"
    assert ping_by_websocket(guarded, protocols=["mcp", f"bearer.{READING_KEY}"]) == "mcp"
    with pytest.raises(InvalidStatus):
        ping_by_websocket(guarded, protocols=["mcp", "bearer.wrong"])


def test_refusals_leave_no_trace_in_the_log_and_no_key(guarded: McpProgram) -> None:
    """M2."""
    ping(guarded, Authorization=f"Bearer {KEY}x")
    with pytest.raises(InvalidStatus):
        ping_by_websocket(guarded, {"Authorization": f"Bearer {KEY}x"})

    log = guarded.log.read_text()
    assert len(log.splitlines()) == 1

    assert KEY not in log
    assert READING_KEY not in log


def test_without_a_key_everyone_is_let_in(running_engine: EngineProgram) -> None:
    """M2, MCP auth disabled."""
    with RawClient(running_engine.mcp_url) as client:
        assert client.request("ping")["result"] == {}


def test_a_public_address_without_a_key_is_refused_with_the_reason(tmp_path: Path) -> None:
    """M2."""
    ended = run_kb(tmp_path, "mcp", "--host", "::", "--port", "0")

    assert ended.returncode == 1
    assert "KB_MCP_API_KEY" in ended.stderr
    assert "Traceback" not in ended.stderr
