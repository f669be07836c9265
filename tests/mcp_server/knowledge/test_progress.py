"""What a caller who waits for a document is told meanwhile, in each way there is to call."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest
from starlette.routing import Route, Router
from tests.engine_program import EngineProgram
from tests.following import PAGE_MESSAGE
from tests.mcp_server.fixtures_processes import open_adding_program
from tests.mcp_server.programs import Era, McpProgram, sdk_client
from tests.mcp_server.test_other_clients import TypeScriptClient
from tests.mcp_server.test_transport import MODERN_VERSION, modern_headers, modern_params
from tests.pdf_files import make_text_pdf
from tests.scanned_pages import write_scan
from websockets.asyncio.client import connect

from kb.client import EngineClient, Json
from kb.listening import Access
from kb.mcp.announcements import Announcements
from kb.mcp.exchange import Exchange
from kb.mcp.guard import Guard
from kb.mcp.http import HttpEndpoint
from kb.mcp.server import build_server
from kb.mcp.tools import Caller, ReportProgress, Tool
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.watching import WatchedEngine

pytestmark = pytest.mark.anyio

WITHIN_SECONDS = 60
PAGES = 12
ASKED_WITH = "a name of mine"
BOTH = "application/json, text/event-stream"
JSON_ALONE = "application/json"
REVISIONS = ("2025-06-18", MODERN_VERSION)

Told: TypeAlias = list[Json]
"""The parameters of the notifications, less their token."""
Speak: TypeAlias = Callable[[McpProgram, str, Json], Awaitable[tuple[Told, Json]]]
"""Calls a tool and asks for progress; answers what was told before the result, and the result."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def program(running_engine: EngineProgram, folder: Path) -> Iterator[McpProgram]:
    with open_adding_program(folder, running_engine.url) as program:
        yield program


@pytest.fixture
def pdf(folder: Path) -> str:
    """A file that the base does not have yet."""
    word = uuid.uuid4().hex
    pages = [f"Page {page} tells of {word}." for page in range(1, PAGES + 1)]
    path = folder / f"{word}.pdf"
    path.write_bytes(make_text_pdf(pages))
    return str(path)


def without_token(params: Json, token: str | int) -> Json:
    assert params["progressToken"] == token
    assert type(params["progressToken"]) is type(token)
    return {name: value for name, value in params.items() if name != "progressToken"}


def split_answer(messages: Sequence[Json], token: str | int) -> tuple[Told, Json]:
    """What came over the wire for one call; its answer must be the last of it."""
    *notifications, answer = messages
    assert {message["method"] for message in notifications} <= {"notifications/progress"}
    return [without_token(message["params"], token) for message in notifications], answer["result"]


def parse_events(response: httpx.Response) -> list[Json]:
    assert response.headers["content-type"] == "text/event-stream"
    return [json.loads(line.removeprefix("data: ")) for line in response.text.splitlines() if line.startswith("data:")]


def call_of(tool: str, arguments: Json, token: Any, revision: str = REVISIONS[0], accept: str = BOTH) -> Json:
    """A request as `httpx` takes it."""
    is_newest = revision == MODERN_VERSION
    params = {"name": tool, "arguments": arguments, **(modern_params() if is_newest else {"_meta": {}})}
    if token is not None:
        params["_meta"]["progressToken"] = token
    headers = modern_headers("tools/call", tool) if is_newest else {"MCP-Protocol-Version": revision}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    return {"json": body, "headers": {**headers, "Accept": accept}}


async def post(program: McpProgram, tool: str, arguments: Json, token: Any, **how: str) -> httpx.Response:
    async with httpx.AsyncClient(base_url=program.url, trust_env=False, timeout=WITHIN_SECONDS) as http:
        return await http.post("/mcp", **call_of(tool, arguments, token, **how))


async def by_http(program: McpProgram, tool: str, arguments: Json) -> tuple[Told, Json]:
    return split_answer(parse_events(await post(program, tool, arguments, ASKED_WITH)), ASKED_WITH)


async def by_newest_http(program: McpProgram, tool: str, arguments: Json) -> tuple[Told, Json]:
    return split_answer(
        parse_events(await post(program, tool, arguments, ASKED_WITH, revision=MODERN_VERSION)), ASKED_WITH
    )


async def by_websocket(program: McpProgram, tool: str, arguments: Json) -> tuple[Told, Json]:
    return await _by_websocket(program, {"name": tool, "arguments": arguments, "_meta": {}})


async def by_newest_websocket(program: McpProgram, tool: str, arguments: Json) -> tuple[Told, Json]:
    return await _by_websocket(program, modern_params(name=tool, arguments=arguments))


async def _by_websocket(program: McpProgram, params: Json) -> tuple[Told, Json]:
    params["_meta"]["progressToken"] = 7
    async with connect(program.url.replace("http", "ws") + "/mcp", proxy=None) as websocket:
        await websocket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))
        messages = [json.loads(await websocket.recv())]
        while "result" not in messages[-1]:
            messages.append(json.loads(await websocket.recv()))
        return split_answer(messages, 7)


async def by_sdk(program: McpProgram, tool: str, arguments: Json) -> tuple[Told, Json]:
    return await _by_sdk(program, "legacy", tool, arguments)


async def by_newest_sdk(program: McpProgram, tool: str, arguments: Json) -> tuple[Told, Json]:
    return await _by_sdk(program, "auto", tool, arguments)


async def _by_sdk(program: McpProgram, era: Era, tool: str, arguments: Json) -> tuple[Told, Json]:
    told: Told = []

    async def take(progress: float, total: float | None, message: str | None) -> None:
        told.append({"progress": progress, "total": total, "message": message})

    async with sdk_client(program.url, era) as client:
        result = await client.call_tool(tool, arguments, progress_callback=take)
        return told, result.model_dump(mode="json", by_alias=True)


async def by_typescript(program: McpProgram, tool: str, arguments: Json) -> tuple[Told, Json]:
    return await asyncio.to_thread(_by_typescript, f"{program.url}/mcp", tool, arguments)


async def by_typescript_websocket(program: McpProgram, tool: str, arguments: Json) -> tuple[Told, Json]:
    address = program.url.replace("http", "ws") + "/mcp"
    return await asyncio.to_thread(_by_typescript, address, tool, arguments)


def _by_typescript(address: str, tool: str, arguments: Json) -> tuple[Told, Json]:
    with TypeScriptClient(address) as client:
        client.answer("connect")
        outcome = client.answer("callToolForProgress", {"name": tool, "arguments": arguments})
        return outcome["told"], outcome["result"]


SPEECHES: list[Speak] = [
    by_http,
    by_newest_http,
    by_websocket,
    by_newest_websocket,
    by_sdk,
    by_newest_sdk,
    by_typescript,
    by_typescript_websocket,
]


@pytest.fixture(params=SPEECHES, ids=lambda speak: speak.__name__)
def speak(request: pytest.FixtureRequest) -> Speak:
    chosen: Speak = request.param
    return chosen


def assert_told_to_the_end(told: Told, pages: int) -> None:
    assert {params["total"] for params in told} == {1.0}
    done = [params["progress"] for params in told]
    assert done == sorted(set(done))
    assert done[0] >= 0
    assert done[-1] == 1.0
    named = [found for params in told if (found := PAGE_MESSAGE.fullmatch(params["message"]))]
    assert {int(found[2]) for found in named} == {pages}
    assert int(named[-1][1]) == pages


async def test_who_adds_a_document_and_waits_is_told_of_its_pages(program: McpProgram, pdf: str, speak: Speak) -> None:
    """M16, M23"""
    told, result = await speak(program, "knowledge-add", {"file_path": pdf, "async": False})

    assert result["structuredContent"]["success"] is True
    assert_told_to_the_end(told, PAGES)


async def test_who_waits_for_a_task_is_told_of_its_pages(program: McpProgram, pdf: str, speak: Speak) -> None:
    """M22, M23"""
    queued = (await post(program, "knowledge-add", {"file_path": pdf}, None)).json()["result"]
    task_id = queued["structuredContent"]["task_id"]

    told, result = await speak(program, "knowledge-task-status", {"task_id": task_id, "wait": True})

    assert result["structuredContent"]["status"] == "completed"
    assert_told_to_the_end(told, PAGES)


async def test_a_scan_tells_of_its_pages_too(program: McpProgram, folder: Path) -> None:
    """M23"""
    lines = [[f"Sandpiper {uuid.uuid4().hex} on page {page}."] for page in range(1, 4)]
    path = write_scan(folder / "sandpipers.pdf", lines)

    told, result = await by_http(program, "knowledge-add", {"file_path": str(path), "async": False})

    assert result["structuredContent"]["processing_method"] == "ocr"
    assert_told_to_the_end(told, len(lines))


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("token", [ASKED_WITH, "", "0", 0, 7, -1, 2**53])
async def test_the_token_comes_back_as_it_was(program: McpProgram, token: str | int, revision: str) -> None:
    """M8, M23: of whatever tool waits."""
    note = {"text": f"A note of {uuid.uuid4().hex}.", "wait": True}

    response = await post(program, "kb_addnote", note, token, revision=revision)

    told, result = split_answer(parse_events(response), token)
    assert result["structuredContent"]["status"] == "completed"
    assert told[-1]["progress"] == told[-1]["total"] == 1.0


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize(
    ("token", "accept"),
    [(None, BOTH), (None, JSON_ALONE), (7, JSON_ALONE), (None, "*/*")],
    ids=["no token", "json without token", "json with token", "anything"],
)
async def test_who_does_not_ask_or_cannot_listen_gets_plain_json(
    program: McpProgram, pdf: str, token: int | None, accept: str, revision: str
) -> None:
    """M4, M23"""
    arguments = {"file_path": pdf, "async": False}

    response = await post(program, "knowledge-add", arguments, token, accept=accept, revision=revision)

    assert response.headers["content-type"] == "application/json"
    assert response.json()["result"]["structuredContent"]["success"] is True


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("accept", [JSON_ALONE, BOTH])
async def test_no_tool_takes_its_time_for_a_client_that_cannot_listen(revision: str, accept: str) -> None:
    """M4, M23: though it asks for progress, it would have given up before a long job ends."""
    listeners = []

    async def call_tool(tool: Tool, arguments: Json, caller: Caller, report: ReportProgress | None) -> Json:
        listeners.append(report)
        return {"content": [], "isError": False}

    announcements = Announcements()
    engine = WatchedEngine(EngineClient("http://localhost"), "http://localhost")
    server = build_server(KB_TOOLS, engine, call_tool, announcements.listen)
    endpoint = HttpEndpoint(server, Exchange(server), announcements)
    app = Guard(Router([Route("/mcp", endpoint)]), Access("", "", ("localhost",), ()))
    async with (
        endpoint.running(),
        httpx.AsyncClient(base_url="http://localhost", transport=httpx.ASGITransport(app)) as http,
    ):
        await http.post("/mcp", **call_of("kb_status", {}, 0, revision, accept))

    (listener,) = listeners
    assert (listener is None) == (accept == JSON_ALONE)


@pytest.mark.parametrize("meta", [{}, {"progressToken": True}], ids=str)
async def test_who_does_not_ask_over_a_websocket_hears_nothing_but_the_answer(
    program: McpProgram, pdf: str, meta: Json
) -> None:
    """M23"""
    params = {"name": "knowledge-add", "arguments": {"file_path": pdf, "async": False}, "_meta": meta}
    async with connect(program.url.replace("http", "ws") + "/mcp", proxy=None) as websocket:
        await websocket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))

        answer = json.loads(await websocket.recv())

    assert answer["result"]["structuredContent"]["success"] is True


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("token", [True, 1.5, [], {}], ids=str)
async def test_what_is_no_token_is_not_sent_back(program: McpProgram, token: object, revision: str) -> None:
    """M23: hostile or mistaken, it does no harm."""
    note = {"text": f"A note of {uuid.uuid4().hex}.", "wait": True}

    response = await post(program, "kb_addnote", note, token, revision=revision)

    assert response.headers["content-type"] == "application/json"
