"""What a caller who waits for a document is told meanwhile, in each way there is to call."""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import timedelta
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine_program import EngineProgram
from tests.following import PAGE_MESSAGE
from tests.mcp_server.fixtures_processes import open_adding_program
from tests.mcp_server.programs import Era, McpProgram, sdk_client
from tests.mcp_server.recording import PretendedEngine
from tests.mcp_server.test_other_clients import TypeScriptClient
from tests.mcp_server.test_transport import modern_headers, modern_params
from tests.pdf_files import make_text_pdf
from tests.scanned_pages import write_scan
from websockets.asyncio.client import connect

from kb.client import EngineClient, Json
from kb.client import engine as engine_client
from kb.mcp.file_roots import FileRoots
from kb.mcp.tools import Call
from kb.mcp.toolsets import jobs
from kb.mcp.toolsets.jobs import follow_job
from kb.mcp.uploads import Uploads

pytestmark = pytest.mark.anyio

WITHIN_SECONDS = 60
PAGES = 12
BOTH = "application/json, text/event-stream"
JSON_ALONE = "application/json"

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
    pages = [" ".join(f"Page {page} tells {word} {line} times." for line in range(40)) for page in range(1, PAGES + 1)]
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


async def post(
    program: McpProgram,
    tool: str,
    arguments: Json,
    *,
    token: str | int | None,
    modern: bool = False,
    accept: str = BOTH,
) -> httpx.Response:
    params = {"name": tool, "arguments": arguments, **(modern_params() if modern else {"_meta": {}})}
    if token is not None:
        params["_meta"]["progressToken"] = token
    headers = modern_headers("tools/call", tool) if modern else {"MCP-Protocol-Version": "2025-06-18"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    async with httpx.AsyncClient(base_url=program.url, trust_env=False, timeout=WITHIN_SECONDS) as http:
        return await http.post("/mcp", json=body, headers={**headers, "Accept": accept})


async def by_http(program: McpProgram, tool: str, arguments: Json) -> tuple[Told, Json]:
    return split_answer(parse_events(await post(program, tool, arguments, token="a token")), "a token")


async def by_newest_http(program: McpProgram, tool: str, arguments: Json) -> tuple[Told, Json]:
    return split_answer(parse_events(await post(program, tool, arguments, token="a token", modern=True)), "a token")


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
    assert 0 <= done[0]
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
    queued = (await post(program, "knowledge-add", {"file_path": pdf}, token=None)).json()["result"]
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


@pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
@pytest.mark.parametrize("token", ["a token", "", "0", 0, 7, -1, 2**53])
async def test_the_token_comes_back_as_it_was(program: McpProgram, token: str | int, modern: bool) -> None:
    """M8, M23: of whatever tool waits."""
    note = {"text": f"A note of {uuid.uuid4().hex}.", "wait": True}

    response = await post(program, "kb_addnote", note, token=token, modern=modern)

    told, result = split_answer(parse_events(response), token)
    assert result["structuredContent"]["status"] == "completed"
    assert told[-1]["progress"] == told[-1]["total"] == 1.0


@pytest.mark.parametrize("modern", [False, True], ids=["2025", "2026"])
@pytest.mark.parametrize(
    ("token", "accept"),
    [(None, BOTH), (None, JSON_ALONE), (7, JSON_ALONE), (None, "*/*")],
    ids=["no token", "json without token", "json with token", "anything"],
)
async def test_who_does_not_ask_or_cannot_listen_gets_plain_json(
    program: McpProgram, pdf: str, token: int | None, accept: str, modern: bool
) -> None:
    """M4, M23"""
    arguments = {"file_path": pdf, "async": False}

    response = await post(program, "knowledge-add", arguments, token=token, accept=accept, modern=modern)

    assert response.headers["content-type"] == "application/json"
    assert response.json()["result"]["structuredContent"]["success"] is True


async def test_who_does_not_ask_over_a_websocket_hears_nothing_but_the_answer(program: McpProgram, pdf: str) -> None:
    """M23"""
    params = {"name": "knowledge-add", "arguments": {"file_path": pdf, "async": False}}
    async with connect(program.url.replace("http", "ws") + "/mcp", proxy=None) as websocket:
        await websocket.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}))

        answer = json.loads(await websocket.recv())

    assert answer["result"]["structuredContent"]["success"] is True


@pytest.mark.parametrize("token", [True, 1.5, None, [], {}], ids=str)
async def test_what_is_no_token_is_not_sent_back(program: McpProgram, token: Any) -> None:
    """M23: hostile or mistaken, it does no harm."""
    response = await post(program, "kb_status", {}, token=token)

    assert "notifications/progress" not in response.text


class EngineThatTells(PretendedEngine):
    """Of one job, as it stands next each time that it is asked."""

    told: Iterator[Json]

    @property  # type: ignore[override]  # what it answers changes by itself
    def answer(self) -> httpx.Response:
        return httpx.Response(200, json=next(self.told))


@pytest.fixture(scope="module")
def telling_engine() -> Iterator[EngineThatTells]:
    engine = EngineThatTells()
    with engine.running(), pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine_client, "FIRST_POLL_SECONDS", 0.0)
        yield engine


def job(status: str, progress: float, message: str) -> Json:
    return {"uuid": str(uuid.UUID(int=7)), "status": status, "progress": progress, "message": message}


def follow(engine: EngineThatTells, told: Sequence[Json]) -> list[tuple[float, str]]:
    """What is reported of a job that the engine tells of in this way."""
    reported: list[tuple[float, str]] = []

    async def report(done: float, message: str) -> None:
        reported.append((done, message))

    async def run() -> Json:
        async with EngineClient(engine.url) as client:
            call = Call(
                client,
                Uploads(Path("nowhere"), timedelta()),
                FileRoots(()),
                "agent",
                lambda later: later.close(),
                report,
            )
            return await follow_job(call, told[0])

    engine.told = iter(told)
    assert asyncio.run(run()) == told[-1]
    return reported


def test_what_is_reported_rises_even_where_the_jobs_own_number_falls(telling_engine: EngineThatTells) -> None:
    """M23: pages that turn out to be scans are more work than was thought."""
    told = [
        job("queued", 0.0, ""),
        job("running", 0.5, "Processing page 5 of 10"),
        job("running", 0.2, "Processing page 6 of 10"),
        job("running", 0.2, "Processing page 6 of 10"),
        job("running", 0.8, "Processing page 9 of 10"),
        job("completed", 1.0, "Processing page 10 of 10"),
    ]

    reported = follow(telling_engine, told)

    done, messages = zip(*reported, strict=True)
    assert done == (0.0, 0.5, pytest.approx(0.5, abs=0.01), 0.8, 1.0)
    assert done[2] > 0.5
    assert messages == ("Waiting for its turn", *(f"Processing page {page} of 10" for page in (5, 6, 9, 10)))


def test_a_job_that_goes_on_at_its_last_percent_is_told_of_time_and_again(
    telling_engine: EngineThatTells, monkeypatch: pytest.MonkeyPatch
) -> None:
    """M23: a client that hears nothing for a minute gives up."""
    monkeypatch.setattr(jobs, "REPEAT_AFTER_SECONDS", 0.0)
    told = [*[job("running", 1.0, "Processing page 9 of 9")] * 50, job("completed", 1.0, "Processing page 9 of 9")]

    done = [done for done, _ in follow(telling_engine, told)]

    assert len(done) == 51
    assert done == sorted(set(done))
    assert done[-1] == 1.0


running_jobs = st.builds(
    job, st.sampled_from(["queued", "running"]), st.floats(0, 1), st.sampled_from(["", "Reading", "Page 1", "Page 2"])
)
ends = st.builds(job, st.sampled_from(["failed", "cancelled"]), st.floats(0, 1), st.sampled_from(["", "Page 2"]))


@given(st.lists(running_jobs, max_size=8), ends | st.just(job("completed", 1.0, "Page 2")))
def test_whatever_a_job_tells_what_is_reported_rises_and_leaves_no_message_out(
    telling_engine: EngineThatTells, course: list[Json], end: Json
) -> None:
    """M23"""
    told = [*course, end]

    reported = follow(telling_engine, told)

    done = [done for done, _ in reported]
    assert done == sorted(set(done))
    assert all(0 <= number <= 1 for number in done)
    assert (done[-1] == 1.0) == (end["status"] == "completed")
    messages = [each["message"] or "Waiting for its turn" for each in told]
    assert [first for first, _ in groupby(message for _, message in reported)] == [
        first for first, _ in groupby(messages)
    ]
