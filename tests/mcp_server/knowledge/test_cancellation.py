"""A document that is given up while it is read: whichever way that is said, nothing of it is left."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from mcp.types import JSONRPCNotification, JSONRPCRequest
from starlette.requests import HTTPConnection
from tests.engine_program import EngineProgram
from tests.faults.amounts import IS_FULL
from tests.following import find_page, find_readers
from tests.mcp_server.conftest import until
from tests.mcp_server.fixtures_processes import bearer, open_adding_program
from tests.mcp_server.knowledge.conftest import READING_KEY
from tests.mcp_server.knowledge.ways_to_cancel import (
    CALL,
    CANCEL,
    RARER_WAYS,
    WAYS,
    WAYS_OF_TASKS,
    WITHIN_SECONDS,
    Begin,
    by_notification,
    call_of,
    cancellation_of,
    message,
    open_http,
    open_websocket,
    post,
)
from tests.mcp_server.programs import McpProgram, RawClient
from tests.mcp_server.test_transport import modern_params
from tests.scanned_pages import write_scan
from websockets.asyncio.client import connect

from kb.client import EngineClient, Json
from kb.mcp.announcements import Announcements
from kb.mcp.exchange import Exchange
from kb.mcp.server import build_server
from kb.mcp.tools import Caller, ReportProgress, Tool
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.watching import WatchedEngine

pytestmark = pytest.mark.anyio

GONE_WITHIN_SECONDS = 2.0
# Machines on which tests run do not always keep pace; what is slow by itself is so each time.
TRIES = 2


@dataclass(frozen=True)
class Base:
    """Where the documents would be."""

    engine: EngineProgram
    client: EngineClient

    async def wait_for_reading(self) -> Json:
        """The job that is under way, once its pages are being read."""
        running: list[Json] = []

        async def is_read() -> bool:
            running[:] = filter(find_page, (await self.client.list_jobs(status="running"))["jobs"])
            return bool(running)

        await until(is_read)
        (job,) = running
        return job

    async def wait_until_nothing_is_left(self, job: Json) -> None:
        """Of a job that was cancelled. Only its original stays, for it may be retried."""

        async def is_gone() -> bool:
            return not await self._tell_what_is_left(job)

        await until(is_gone)

    async def _tell_what_is_left(self, job: Json) -> Json:
        status = await self.client.get_status()
        hits = (await self.client.search("godwit"))["results"]
        found = {
            "job": (await self.client.get_job(job["uuid"]))["status"] != "cancelled",
            "queue": status["queue"]["queued"] + status["queue"]["running"],
            "readers": find_readers(self.engine),
            "documents": (await self.client.list_documents(q=job["filename"]))["total"],
            "hits": [hit for hit in hits if hit["filename"] == job["filename"]],
            "incoming": [*(self.engine.data_dir / "originals" / "incoming").glob("*")],
        }
        return {name: value for name, value in found.items() if value}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def program(running_engine: EngineProgram, folder: Path) -> Iterator[McpProgram]:
    with open_adding_program(folder, running_engine.url) as program:
        yield program


@pytest.fixture
def base(running_engine: EngineProgram, engine: EngineClient) -> Base:
    return Base(running_engine, engine)


@pytest.fixture(scope="module")
def scan(folder: Path) -> str:
    """Its 30 pages take many seconds to read."""
    pages = [[f"Line {line} of page {page} tells of a godwit." for line in range(12)] for page in range(30)]
    return str(write_scan(folder / "godwits.pdf", pages))


@pytest.fixture
def short_scan(folder: Path) -> str:
    """A file that the base does not have yet."""
    word = uuid.uuid4().hex
    return str(write_scan(folder / f"{word}.pdf", [[f"Page {page} tells of {word}."] for page in range(2)]))


async def cancel_and_see(base: Base, begin: Begin, url: str, arguments: Json) -> None:
    took = [await cancel_and_wait(base, begin, url, arguments)]
    while took[-1] > GONE_WITHIN_SECONDS:
        assert len(took) < TRIES, took
        took.append(await cancel_and_wait(base, begin, url, arguments))


async def cancel_and_wait(base: Base, begin: Begin, url: str, arguments: Json) -> float:
    """How many seconds it took until nothing was left."""
    async with asyncio.timeout(WITHIN_SECONDS), begin(url, arguments) as cancel:
        job = await base.wait_for_reading()
        cancelled_at = time.monotonic()
        await cancel(job)
        await base.wait_until_nothing_is_left(job)
        return time.monotonic() - cancelled_at


@pytest.mark.parametrize("way", [*WAYS, *(RARER_WAYS if IS_FULL else ())])
async def test_a_scan_is_cancelled_within_two_seconds_and_leaves_nothing(
    base: Base, program: McpProgram, scan: str, way: str
) -> None:
    """M23, I4"""
    begin = {**WAYS, **RARER_WAYS}[way]

    await cancel_and_see(base, begin, program.url, {"file_path": scan, "async": False})


@pytest.mark.parametrize("way", WAYS_OF_TASKS if IS_FULL else WAYS_OF_TASKS[:1])
async def test_a_task_that_nobody_waits_for_is_cancelled_as_well(
    base: Base, program: McpProgram, scan: str, way: str
) -> None:
    """M23"""
    await cancel_and_see(base, WAYS[way], program.url, {"file_path": scan, "async": True})


async def test_who_waits_no_longer_for_a_task_has_not_cancelled_it(base: Base, program: McpProgram, scan: str) -> None:
    """M22, M23: only the add is taken back with its call."""
    async with asyncio.timeout(WITHIN_SECONDS), open_http(program.url) as http:
        added = await post(http, CALL, call_of({"file_path": scan}))
        task_id = added.json()["result"]["structuredContent"]["task_id"]
        waiting = {"name": "knowledge-task-status", "arguments": {"task_id": task_id, "wait": True}}
        async with open_websocket(program.url, waiting) as websocket:
            await base.wait_for_reading()
            await websocket.send(json.dumps(cancellation_of(5)))
            await websocket.send(json.dumps(message("ping", {}, 6)))
            assert json.loads(await websocket.recv())["id"] == 6

        assert (await base.client.get_job(task_id))["status"] == "running"
        await base.client.cancel_job(task_id)


@pytest.mark.parametrize("meta", [{}, {"progressToken": 0}], ids=["json", "events"])
async def test_a_client_of_2025_that_hangs_up_has_not_cancelled(
    base: Base, program: McpProgram, short_scan: str, meta: Json
) -> None:
    """M23: its connection may be lost through no wish of its own."""
    async with asyncio.timeout(WITHIN_SECONDS):
        async with open_http(program.url) as http:
            answer = asyncio.create_task(post(http, CALL, call_of({"file_path": short_scan, "async": False}, **meta)))
            job = await base.wait_for_reading()
            answer.cancel()

        ended = await base.client.wait_for_job(job["uuid"])

    assert ended["status"] == "completed"
    assert (await base.client.list_documents(q=Path(short_scan).name))["total"] == 1


@pytest.mark.parametrize("scheme", ["http", "ws"])
async def test_a_server_that_is_stopped_does_not_take_back_what_it_was_asked(
    base: Base, running_engine: EngineProgram, folder: Path, scan: str, scheme: str
) -> None:
    """M23"""
    params = call_of({"file_path": scan, "async": False})
    with open_adding_program(folder, running_engine.url) as program:
        async with asyncio.timeout(WITHIN_SECONDS), AsyncExitStack() as opened:
            if scheme == "ws":
                await opened.enter_async_context(open_websocket(program.url, params))
            else:
                http = await opened.enter_async_context(open_http(program.url))
                answer = asyncio.create_task(post(http, CALL, params))
            job = await base.wait_for_reading()

            assert await asyncio.to_thread(program.stop) == 0

            if scheme == "http":
                assert (await answer).json()["result"]["structuredContent"]["error"] == "server_stopped"

    # The server is gone, and nobody else will do it.
    assert (await base.client.get_job(job["uuid"]))["status"] == "running"
    await base.client.cancel_job(job["uuid"])


class SlowWay:
    """The way to an engine, on which no file arrives until it is let through."""

    url: str

    def __init__(self, engine_url: str) -> None:
        self._engine_url = httpx.URL(engine_url)
        self.has_begun = asyncio.Event()
        self.is_open = asyncio.Event()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with await asyncio.start_server(self._connect, "127.0.0.1", 0) as server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            yield

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert self._engine_url.port is not None
        from_engine, to_engine = await asyncio.open_connection(self._engine_url.host, self._engine_url.port)
        answers = asyncio.create_task(self._pass_on(from_engine, writer))
        await self._pass_on(reader, to_engine)
        await answers

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while some := await reader.read(65_536):
            if some.startswith(b"POST /api/v1/jobs HTTP"):
                self.has_begun.set()
                await self.is_open.wait()
            writer.write(some)
            await writer.drain()
        writer.close()


async def test_what_is_cancelled_while_it_is_still_sent_leaves_nothing(
    base: Base, running_engine: EngineProgram, folder: Path, scan: str
) -> None:
    """M23"""
    newest = (await base.client.list_jobs(limit=1))["jobs"]
    way = SlowWay(running_engine.url)
    async with asyncio.timeout(WITHIN_SECONDS), way.running(), AsyncExitStack() as opened:
        program = await asyncio.to_thread(opened.enter_context, open_adding_program(folder, way.url))
        async with by_notification()(program.url, {"file_path": scan, "async": False}) as cancel:
            await way.has_begun.wait()
            await cancel({})
        way.is_open.set()

        async def has_arrived() -> bool:
            return bool((await base.client.list_jobs(limit=1))["jobs"] != newest)

        await until(has_arrived)
        (job,) = (await base.client.list_jobs(limit=1))["jobs"]
        await base.wait_until_nothing_is_left(job)


def test_a_task_can_be_cancelled_twice_and_tells_that_it_is(program: McpProgram, scan: str) -> None:
    """M22, M23"""
    with RawClient(program.url) as client:
        task_id = client.call("knowledge-add", file_path=scan)["task_id"]

        answers = [client.request(CANCEL, {"taskId": name})["result"] for name in (task_id, task_id.upper())]
        told = client.call("knowledge-task-status", task_id=task_id)

    assert answers == [{"taskId": task_id, "status": "cancelled"}] * 2
    assert (told["success"], told["status"]) == (True, "cancelled")


def test_a_task_that_is_finished_stays_as_it_is(program: McpProgram, folder: Path) -> None:
    """M23"""
    path = folder / "note.txt"
    path.write_text(f"A note of {uuid.uuid4().hex}.")
    with RawClient(program.url) as client:
        task_id = client.call("knowledge-add", file_path=str(path))["task_id"]
        client.call("knowledge-task-status", task_id=task_id, wait=True)

        answer = client.request(CANCEL, {"taskId": task_id})

    assert answer["result"] == {"taskId": task_id, "status": "completed"}


@pytest.mark.parametrize(
    ("params", "error_type"),
    [
        ({"taskId": str(uuid.UUID(int=0))}, "task_not_found"),
        ({"taskId": "1"}, "task_not_found"),
        ({"taskId": ""}, "task_not_found"),
        ({"taskId": "../documents"}, "task_not_found"),
        ({"taskId": "x" * 100_000}, "task_not_found"),
        ({"taskId": 1}, "invalid_params"),
        ({"taskId": None}, "invalid_params"),
        ({"taskId": ["a"]}, "invalid_params"),
        ({"task_id": str(uuid.UUID(int=0))}, "invalid_params"),
        ({}, "invalid_params"),
    ],
    ids=lambda given: str(given)[:40],
)
async def test_what_names_no_task_cancels_nothing(program: McpProgram, params: Json, error_type: str) -> None:
    """M23"""
    async with (
        open_http(program.url) as http,
        connect(program.url.replace("http", "ws") + "/mcp", proxy=None) as socket,
    ):
        await socket.send(json.dumps(message(CANCEL, params, 5)))
        answers = [
            (await post(http, CANCEL, {**params, "_meta": {}})).json(),
            (await post(http, CANCEL, modern_params(**params))).json(),
            json.loads(await socket.recv()),
        ]

    assert [answer["error"]["code"] for answer in answers] == [-32602] * 3
    assert [answer["error"]["data"]["error_type"] for answer in answers] == [error_type] * 3
    assert max(len(json.dumps(answer)) for answer in answers) < 1_000


def test_who_may_only_read_cancels_nothing(knowledge_program: McpProgram) -> None:
    """M2, M23"""
    with RawClient(knowledge_program.url, headers=bearer(READING_KEY)) as client:
        answer = client.request(CANCEL, {"taskId": str(uuid.UUID(int=0))})

    assert answer["error"]["code"] == -32000
    assert answer["error"]["data"]["error_type"] == "forbidden"


@pytest.mark.parametrize("named", [True, 1.0, "1", [1], None], ids=repr)
async def test_only_the_request_of_that_very_name_is_cancelled(named: object) -> None:
    """M23"""
    was_called = asyncio.Event()

    async def wait_for_ever(tool: Tool, arguments: Json, caller: Caller, report: ReportProgress | None) -> Json:
        was_called.set()
        await asyncio.Event().wait()
        raise AssertionError

    engine = WatchedEngine(EngineClient("http://localhost"), "http://localhost")
    exchange = Exchange(build_server(KB_TOOLS, engine, wait_for_ever, Announcements().listen))
    caller = HTTPConnection({"type": "http", "headers": [], "kb.caller": Caller("writer", can_write=True)})
    call = JSONRPCRequest(jsonrpc="2.0", id=1, method=CALL, params={"name": "kb_status"})
    async with asyncio.timeout(WITHIN_SECONDS):
        answer = asyncio.create_task(exchange.answer(call, caller, session="ours"))
        await was_called.wait()
        for session, request_id in (("ours", named), ("theirs", 1)):
            exchange.cancel(session, JSONRPCNotification.model_validate(cancellation_of(request_id)))
            await asyncio.wait([answer], timeout=0.05)
            assert not answer.done()

        exchange.cancel("ours", JSONRPCNotification.model_validate(cancellation_of(1)))

        assert await answer is None
