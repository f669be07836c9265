"""Clients that send what no well-behaved one would."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest
from tests.engine_program import EngineProgram
from tests.mcp_clients import RawClient
from tests.mcp_program import McpProgram
from tests.newest_protocol import newest_headers, newest_params

from kb.client import Json

WITHIN_SECONDS = 20
CROWD = 100
# 5,000 answers are 160 MB as text. Only a tenth of that is sent before the clients of the crowd have taken any.
CROWD_BYTES = 60_000_000
PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'


@pytest.fixture(scope="module")
def program(running_engine: EngineProgram, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpProgram]:
    with McpProgram(tmp_path_factory.mktemp("rough"), running_engine.url) as program:
        yield program


@pytest.fixture
def client(program: McpProgram) -> Iterator[RawClient]:
    with RawClient(program.url) as client:
        yield client


def connect(url: str) -> socket.socket:
    host, port = url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), WITHIN_SECONDS)


def post(url: str, body: str, *headers: str, path: str = "/mcp") -> str:
    """The whole answer to a request written by hand, on a connection that is then closed."""
    always = ("Host: localhost", "Content-Type: application/json", "Connection: close", f"Content-Length: {len(body)}")
    request = "\r\n".join((f"POST {path} HTTP/1.1", *always, *headers, "", body))
    with connect(url) as connection:
        connection.sendall(request.encode())
        return b"".join(iter(lambda: connection.recv(65_536), b"")).decode()


def ask_without_reading(url: str, requests: int) -> socket.socket:
    """A WebSocket on which this many requests for the list of tools are sent."""
    connection = socket.socket()
    # A small buffer, so that unread answers stay in the server.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    host, port = url.removeprefix("http://").split(":")
    connection.connect((host, int(port)))
    upgrade = ("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13")
    key = f"Sec-WebSocket-Key: {'A' * 22}=="
    connection.sendall("\r\n".join(("GET /mcp HTTP/1.1", "Host: localhost", *upgrade, key, "", "")).encode())
    assert b" 101 " in connection.recv(1000)
    question = PING.replace("ping", "tools/list").encode()
    connection.sendall((bytes([0x81, 0x80 | len(question), 0, 0, 0, 0]) + question) * requests)
    return connection


def test_an_offer_to_speak_http_2_is_passed_over_and_the_request_answered(program: McpProgram) -> None:
    """M4."""
    answer = post(program.url, PING, "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__")

    assert answer.endswith('{"jsonrpc":"2.0","id":1,"result":{}}')


@pytest.mark.parametrize("which", ["engine", "MCP server"])
def test_headers_without_end_are_refused_before_they_fill_the_memory(
    program: McpProgram, running_engine: EngineProgram, which: str
) -> None:
    url = program.url if which == "MCP server" else running_engine.url

    with connect(url) as connection:
        connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Long: ")
        with pytest.raises(ConnectionError):
            connection.sendall(b"x" * 100_000_000)


def test_a_client_that_goes_away_in_the_middle_leaves_no_trace(program: McpProgram, client: RawClient) -> None:
    head = ("POST /mcp HTTP/1.1", "Host: localhost", "Content-Type: application/json", "Content-Length: 1000", "", "{")
    with connect(program.url) as connection:
        connection.sendall("\r\n".join(head).encode())
    with connect(program.url) as connection:
        connection.sendall(b"\x16\x03\x01 not HTTP at all\r\n\r\n")
        connection.recv(65_536)

    assert client.request("ping")["result"] == {}
    assert len(program.log.read_text().splitlines()) == 1


def test_unread_answers_use_no_memory_and_delay_no_other_client(program: McpProgram, client: RawClient) -> None:
    process = psutil.Process(program.process.pid)
    before = process.memory_info().rss
    with ExitStack() as crowd:
        for _ in range(CROWD):
            crowd.enter_context(ask_without_reading(program.url, requests=50))

        assert client.request("ping")["result"] == {}
        assert process.memory_info().rss - before < CROWD_BYTES


def test_a_million_faults_are_not_counted_but_the_first_is_named(client: RawClient) -> None:
    """M6."""
    assert client.fail("kb_search", query="a", tags=[1] * 1_000_000)["message"] == "'tags' must have at most 100 items."
    metadata: Json = {f"field {number}": [] for number in range(300_000)}
    refused = client.fail("kb_search", query="a", filters={"metadata": metadata})
    assert refused["message"] == "'filters.metadata' must have at most 100 fields."


def test_a_name_without_end_is_not_given_back(client: RawClient) -> None:
    """M6."""
    name = "x" * 1_000_000

    refused = client.fail("kb_search", query="a", **{name: 1})
    unknown = client.post("tools/call", {"name": name})

    assert len(refused["message"]) < 500
    assert len(unknown.content) < 1000


def test_a_number_too_large_to_be_one_is_refused(program: McpProgram) -> None:
    """M6."""
    call = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"kb_search","arguments":'
    answer = post(program.url, call + '{"query":"a","filters":{"metadata":{"size":1e999}}}}}')

    assert json.loads(answer.partition("\r\n\r\n")[2])["result"]["structuredContent"]["error"] == "invalid_parameter"


def test_the_newest_protocol_without_its_headers_is_answered_as_json(client: RawClient) -> None:
    """M4."""
    response = client.post("tools/call", newest_params(name="kb_status", arguments={}))

    assert response.headers["content-type"] == "application/json"
    assert response.json()["result"]["resultType"] == "complete"


def test_a_subscription_is_a_stream_whatever_its_client_accepts(client: RawClient) -> None:
    """M1."""
    method = "subscriptions/listen"
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": newest_params(notifications={})}
    headers = {**newest_headers(method), "Accept": "application/json"}

    with client.http.stream("POST", "/mcp", json=body, headers=headers) as response:
        assert response.headers["content-type"] == "text/event-stream"
        first = next(line for line in response.iter_lines() if line.startswith("data: "))

    assert json.loads(first.removeprefix("data: "))["method"] == "notifications/subscriptions/acknowledged"


@pytest.mark.parametrize("origins", [["http://localhost", "https://evil.example"], ["https://evil.example"] * 2])
def test_every_origin_must_be_ours(program: McpProgram, origins: list[str]) -> None:
    """M2."""
    assert " 403 " in post(program.url, PING, *(f"Origin: {origin}" for origin in origins)).splitlines()[0]
    assert " 403 " in post(program.url, PING, "Sec-Fetch-Site: Cross-Site").splitlines()[0]
