"""What a caller who waits for a document is told meanwhile, in each way there is to call."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import httpx
import pytest
from starlette.routing import Route, Router
from tests.amounts import IS_FULL
from tests.engine_program import EngineProgram
from tests.following_jobs import PAGE_MESSAGE
from tests.mcp_clients import Era, sdk_client
from tests.mcp_server.knowledge.conftest import Write
from tests.mcp_server.knowledge.speaking import (
    BOTH,
    CALL,
    CallOf,
    call_of,
    newest_call_of,
    open_http,
    open_websocket,
    post,
)
from tests.mcp_server.typescript_client import TypeScriptClient
from tests.pdf_files import make_text_pdf
from tests.scanned_pages import write_scan

from kb.access import Access
from kb.client import EngineClient, Json
from kb.mcp.announcements import Announcements
from kb.mcp.caller import Caller
from kb.mcp.exchange import Exchange
from kb.mcp.guard import Guard
from kb.mcp.http import HttpEndpoint
from kb.mcp.server import build_server
from kb.mcp.tools import ReportProgress, Tool
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.watched_engine import WatchedEngine
from kb.serving.held_bodies import Bodies

pytestmark = pytest.mark.anyio

PAGES = 12
ASKED_WITH = "a name of mine"
JSON_ALONE = "application/json"
ERAS: list[CallOf] = [call_of, newest_call_of]

Told: TypeAlias = list[Json]
"""The parameters of the notifications, less their token."""
Speak: TypeAlias = Callable[[str, str, Json], Awaitable[tuple[Told, Json]]]
"""Calls a tool at an address and asks for progress; answers what was told before the result, and the result."""


@pytest.fixture(scope="session")
def url(own_engine: EngineProgram) -> str:
    return own_engine.mcp_url


@pytest.fixture
def pdf(write: Write) -> str:
    """A file that the base does not have yet."""
    word = uuid.uuid4().hex
    pages = [f"Page {page} tells of {word}." for page in range(1, PAGES + 1)]
    return str(write(f"{word}.pdf", make_text_pdf(pages)))


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


async def ask(url: str, params: Json, **headers: str) -> httpx.Response:
    async with open_http(url, **headers) as http:
        return await post(http, CALL, params)


def by_http(of: CallOf) -> Speak:
    async def speak(url: str, tool: str, arguments: Json) -> tuple[Told, Json]:
        return split_answer(parse_events(await ask(url, of(tool, arguments, progressToken=ASKED_WITH))), ASKED_WITH)

    return speak


def by_websocket(of: CallOf) -> Speak:
    async def speak(url: str, tool: str, arguments: Json) -> tuple[Told, Json]:
        async with open_websocket(url, CALL, of(tool, arguments, progressToken=7)) as websocket:
            messages = [json.loads(await websocket.recv())]
            while "result" not in messages[-1]:
                messages.append(json.loads(await websocket.recv()))
            return split_answer(messages, 7)

    return speak


def by_sdk(era: Era) -> Speak:
    async def speak(url: str, tool: str, arguments: Json) -> tuple[Told, Json]:
        told: Told = []

        async def take(progress: float, total: float | None, message: str | None) -> None:
            told.append({"progress": progress, "total": total, "message": message})

        async with sdk_client(url, era) as client:
            result = await client.call_tool(tool, arguments, progress_callback=take)
            return told, result.model_dump(mode="json", by_alias=True)

    return speak


def by_typescript(scheme: str) -> Speak:
    def call(url: str, tool: str, arguments: Json) -> tuple[Told, Json]:
        with TypeScriptClient(url.replace("http", scheme) + "/mcp") as client:
            client.answer("connect")
            outcome = client.answer("callToolForProgress", {"name": tool, "arguments": arguments})
            return outcome["told"], outcome["result"]

    async def speak(url: str, tool: str, arguments: Json) -> tuple[Told, Json]:
        return await asyncio.to_thread(call, url, tool, arguments)

    return speak


SPEECHES: dict[str, Speak] = {
    "http": by_http(call_of),
    "http, newest": by_http(newest_call_of),
    "websocket": by_websocket(call_of),
    "websocket, newest": by_websocket(newest_call_of),
    "SDK": by_sdk("legacy"),
    "SDK, newest": by_sdk("auto"),
    "TypeScript": by_typescript("http"),
    "TypeScript over WebSocket": by_typescript("ws"),
}


def assert_told_to_the_end(told: Told, pages: int) -> None:
    assert {params["total"] for params in told} == {1.0}
    done = [params["progress"] for params in told]
    assert done == sorted(set(done))
    assert done[0] >= 0
    assert done[-1] == 1.0
    named = [found for params in told if (found := PAGE_MESSAGE.fullmatch(params["message"]))]
    assert {int(found[2]) for found in named} == {pages}
    assert int(named[-1][1]) == pages


@pytest.mark.parametrize("way", SPEECHES)
async def test_who_adds_a_document_and_waits_is_told_of_its_pages(url: str, pdf: str, way: str) -> None:
    """M16, M23"""
    told, result = await SPEECHES[way](url, "knowledge-add", {"file_path": pdf, "async": False})

    assert result["structuredContent"]["success"] is True
    assert_told_to_the_end(told, PAGES)


# How a caller is told is the same for all tools; that they tell it is seen in one way.
@pytest.mark.parametrize("way", SPEECHES if IS_FULL else ["http"])
async def test_who_waits_for_a_task_is_told_of_its_pages(url: str, pdf: str, way: str) -> None:
    """M22, M23"""
    queued = (await ask(url, call_of("knowledge-add", {"file_path": pdf}))).json()["result"]
    task_id = queued["structuredContent"]["task_id"]

    told, result = await SPEECHES[way](url, "knowledge-task-status", {"task_id": task_id, "wait": True})

    assert result["structuredContent"]["status"] == "completed"
    assert_told_to_the_end(told, PAGES)


async def test_a_scan_tells_of_its_pages_too(url: str, files: Path) -> None:
    """M23"""
    lines = [[f"Sandpiper {page}."] for page in range(1, 4)]
    path = write_scan(files / "sandpipers.pdf", lines)

    told, result = await by_http(call_of)(url, "knowledge-add", {"file_path": str(path), "async": False})

    assert result["structuredContent"]["processing_method"] == "ocr"
    assert_told_to_the_end(told, len(lines))


@pytest.mark.parametrize("of", ERAS)
@pytest.mark.parametrize("token", [ASKED_WITH, "", "0", 0, 7, -1, 2**53])
async def test_the_token_comes_back_as_it_was(url: str, token: str | int, of: CallOf) -> None:
    """M8, M23: of whatever tool waits."""
    note = {"text": f"A note of {uuid.uuid4().hex}.", "wait": True}

    response = await ask(url, of("kb_addnote", note, progressToken=token))

    told, result = split_answer(parse_events(response), token)
    assert result["structuredContent"]["status"] == "completed"
    assert told[-1]["progress"] == told[-1]["total"] == 1.0


@pytest.mark.parametrize("of", ERAS)
@pytest.mark.parametrize(
    ("meta", "accept"),
    [({}, BOTH), ({}, JSON_ALONE), ({"progressToken": 7}, JSON_ALONE), ({}, "*/*")],
    ids=["no token", "json without token", "json with token", "anything"],
)
async def test_who_does_not_ask_or_cannot_listen_gets_plain_json(
    url: str, pdf: str, meta: Json, accept: str, of: CallOf
) -> None:
    """M4, M23"""
    response = await ask(url, of("knowledge-add", {"file_path": pdf, "async": False}, **meta), Accept=accept)

    assert response.headers["content-type"] == "application/json"
    assert response.json()["result"]["structuredContent"]["success"] is True


@pytest.mark.parametrize("of", ERAS)
@pytest.mark.parametrize("accept", [JSON_ALONE, BOTH])
async def test_no_tool_takes_its_time_for_a_client_that_cannot_listen(of: CallOf, accept: str) -> None:
    """M4, M23: though it asks for progress, it would have given up before a long job ends."""
    listeners = []

    async def call_tool(tool: Tool, arguments: Json, caller: Caller, report: ReportProgress | None) -> Json:
        listeners.append(report)
        return {"content": [], "isError": False}

    announcements = Announcements()
    engine = WatchedEngine(EngineClient("http://localhost"), "http://localhost")
    server = build_server(KB_TOOLS, engine, call_tool, announcements.listen)
    endpoint = HttpEndpoint(server, Exchange(server), announcements, Bodies())
    app = Guard(Router([Route("/mcp", endpoint)]), Access((), (), ("localhost",), ()))
    headers = {"Accept": accept}
    async with (
        endpoint.running(),
        httpx.AsyncClient(base_url="http://localhost", headers=headers, transport=httpx.ASGITransport(app)) as http,
    ):
        await post(http, CALL, of("kb_status", {}, progressToken=0))

    (listener,) = listeners
    assert (listener is None) == (accept == JSON_ALONE)


@pytest.mark.parametrize("meta", [{}, {"progressToken": True}], ids=str)
async def test_who_does_not_ask_over_a_websocket_hears_nothing_but_the_answer(url: str, pdf: str, meta: Json) -> None:
    """M23"""
    call = call_of("knowledge-add", {"file_path": pdf, "async": False}, **meta)
    async with open_websocket(url, CALL, call) as websocket:
        answer = json.loads(await websocket.recv())

    assert answer["result"]["structuredContent"]["success"] is True


@pytest.mark.parametrize("of", ERAS)
@pytest.mark.parametrize("token", [True, 1.5, [], {}], ids=str)
async def test_what_is_no_token_is_not_sent_back(url: str, token: object, of: CallOf) -> None:
    """M23: hostile or mistaken, it does no harm."""
    note = {"text": f"A note of {uuid.uuid4().hex}.", "wait": True}

    response = await ask(url, of("kb_addnote", note, progressToken=token))

    assert response.headers["content-type"] == "application/json"
