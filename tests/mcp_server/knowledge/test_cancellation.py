"""A document that is given up while it is read: whichever way that is said, nothing of it is left."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import anyio
import httpx
import pytest
from mcp.types import JSONRPCNotification, JSONRPCRequest
from starlette.requests import HTTPConnection
from tests.engine_program import EngineProgram
from tests.faults.amounts import IS_FULL
from tests.following import find_page, find_readers
from tests.mcp_server.conftest import until
from tests.mcp_server.fixtures_processes import open_adding_program
from tests.mcp_server.knowledge.conftest import Write
from tests.mcp_server.knowledge.shapes import assert_shape
from tests.mcp_server.knowledge.speaking import (
    CALL,
    WITHIN_SECONDS,
    call_of,
    message,
    open_http,
    open_websocket,
    post,
)
from tests.mcp_server.knowledge.ways_to_cancel import (
    ADD,
    CANCEL,
    RARER_WAYS,
    WAYS,
    WAYS_OF_TASKS,
    Begin,
    by_notification,
    cancellation_of,
)
from tests.mcp_server.programs import RawClient
from tests.mcp_server.test_transport import modern_params
from tests.scanned_pages import write_scan

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
        return await self._wait_for_job("running", lambda job: find_page(job) > 0)

    async def wait_for_queued(self) -> Json:
        return await self._wait_for_job("queued", lambda job: True)

    async def _wait_for_job(self, status: str, is_meant: Callable[[Json], bool]) -> Json:
        found: list[Json] = []

        async def is_there() -> bool:
            found[:] = filter(is_meant, (await self.client.list_jobs(status=status))["jobs"])
            return bool(found)

        await until(is_there)
        (job,) = found
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


@pytest.fixture
async def base(own_engine: EngineProgram) -> AsyncIterator[Base]:
    async with EngineClient(own_engine.url) as client:
        yield Base(own_engine, client)


@pytest.fixture(scope="module")
def scan(files: Path) -> str:
    """Its 30 pages take many seconds to read."""
    pages = [[f"Line {line} of page {page} tells of a godwit." for line in range(5)] for page in range(30)]
    return str(write_scan(files / "godwits.pdf", pages))


@pytest.fixture
def short_scan(files: Path) -> str:
    """A file that the base does not have yet."""
    word = uuid.uuid4().hex[:8]
    return str(write_scan(files / f"{word}.pdf", [[f"{word} {page}"] for page in range(2)]))


async def cancel_and_see(base: Base, begin: Begin, arguments: Json) -> None:
    took = [await cancel_and_wait(base, begin, arguments)]
    while took[-1] > GONE_WITHIN_SECONDS:
        assert len(took) < TRIES, took
        took.append(await cancel_and_wait(base, begin, arguments))


async def cancel_and_wait(base: Base, begin: Begin, arguments: Json) -> float:
    """How many seconds it took until nothing was left."""
    async with asyncio.timeout(WITHIN_SECONDS), begin(base.engine.mcp_url, arguments) as cancel:
        job = await base.wait_for_reading()
        cancelled_at = time.monotonic()
        await cancel(job)
        await base.wait_until_nothing_is_left(job)
        return time.monotonic() - cancelled_at


@pytest.mark.parametrize("way", [*WAYS, *(RARER_WAYS if IS_FULL else ())])
async def test_a_scan_is_cancelled_within_two_seconds_and_leaves_nothing(base: Base, scan: str, way: str) -> None:
    """M23, I4"""
    begin = {**WAYS, **RARER_WAYS}[way]

    await cancel_and_see(base, begin, {"file_path": scan, "async": False})


@pytest.mark.parametrize("way", WAYS_OF_TASKS if IS_FULL else WAYS_OF_TASKS[:1])
async def test_a_task_that_nobody_waits_for_is_cancelled_as_well(base: Base, scan: str, way: str) -> None:
    """M23"""
    await cancel_and_see(base, WAYS[way], {"file_path": scan, "async": True})


async def test_who_waits_no_longer_for_a_task_has_not_cancelled_it(base: Base, scan: str) -> None:
    """M22, M23: only the add is taken back with its call."""
    async with asyncio.timeout(WITHIN_SECONDS), open_http(base.engine.mcp_url) as http:
        added = await post(http, CALL, call_of(ADD, {"file_path": scan}))
        task_id = added.json()["result"]["structuredContent"]["task_id"]
        waiting = call_of("knowledge-task-status", {"task_id": task_id, "wait": True})
        async with open_websocket(base.engine.mcp_url, CALL, waiting) as websocket:
            await base.wait_for_reading()
            await websocket.send(json.dumps(cancellation_of(5)))
            await websocket.send(json.dumps(message("ping", {}, 6)))
            assert json.loads(await websocket.recv())["id"] == 6

        assert (await base.client.get_job(task_id))["status"] == "running"
        await base.client.cancel_job(task_id)


@pytest.mark.parametrize("meta", [{}, {"progressToken": 0}], ids=["json", "events"])
async def test_a_client_of_2025_that_hangs_up_has_not_cancelled(base: Base, short_scan: str, meta: Json) -> None:
    """M23: its connection may be lost through no wish of its own."""
    call = call_of(ADD, {"file_path": short_scan, "async": False}, **meta)
    async with asyncio.timeout(WITHIN_SECONDS):
        async with open_http(base.engine.mcp_url) as http:
            answer = asyncio.create_task(post(http, CALL, call))
            job = await base.wait_for_reading()
            answer.cancel()

        ended = await base.client.wait_for_job(job["uuid"])

    assert ended["status"] == "completed"
    assert (await base.client.list_documents(q=Path(short_scan).name))["total"] == 1


async def test_a_server_that_is_stopped_does_not_take_back_what_it_was_asked(
    base: Base, files: Path, scan: str, short_scan: str
) -> None:
    """M23: neither by POST nor over a WebSocket."""
    by_post, by_websocket = (call_of(ADD, {"file_path": path, "async": False}) for path in (scan, short_scan))
    with open_adding_program(files, base.engine.url) as program:
        async with asyncio.timeout(WITHIN_SECONDS), open_http(program.url) as http:
            answer = asyncio.create_task(post(http, CALL, by_post))
            first = await base.wait_for_reading()
            async with open_websocket(program.url, CALL, by_websocket):
                second = await base.wait_for_queued()

                assert await asyncio.to_thread(program.stop) == 0

            assert (await answer).json()["result"]["structuredContent"]["error"] == "server_stopped"

    # The server is gone, and nobody else will do it.
    for job, status in ((second, "queued"), (first, "running")):
        assert (await base.client.get_job(job["uuid"]))["status"] == status
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


async def test_what_is_cancelled_while_it_is_still_sent_leaves_nothing(base: Base, files: Path, scan: str) -> None:
    """M23"""
    newest = (await base.client.list_jobs(limit=1))["jobs"]
    way = SlowWay(base.engine.url)
    async with asyncio.timeout(WITHIN_SECONDS), way.running(), AsyncExitStack() as opened:
        program = await asyncio.to_thread(opened.enter_context, open_adding_program(files, way.url))
        async with by_notification()(program.url, {"file_path": scan, "async": False}) as cancel:
            await way.has_begun.wait()
            await cancel({})
            way.is_open.set()

        async def has_arrived() -> bool:
            return bool((await base.client.list_jobs(limit=1))["jobs"] != newest)

        await until(has_arrived)
        (job,) = (await base.client.list_jobs(limit=1))["jobs"]
        await base.wait_until_nothing_is_left(job)


def test_a_task_can_be_cancelled_twice_and_tells_that_it_is(own_engine: EngineProgram, scan: str) -> None:
    """M22, M23"""
    with RawClient(own_engine.mcp_url) as client:
        task_id = client.call("knowledge-add", file_path=scan)["task_id"]

        answers = [client.request(CANCEL, {"taskId": name})["result"] for name in (task_id, task_id.upper())]
        told = client.call("knowledge-task-status", task_id=task_id)

    assert answers == [{"taskId": task_id, "status": "cancelled"}] * 2
    assert (told["success"], told["status"]) == (True, "cancelled")


def test_a_task_that_is_finished_stays_as_it_is(own_engine: EngineProgram, write: Write) -> None:
    """M23"""
    path = write("note.txt", f"A note of {uuid.uuid4().hex}.")
    with RawClient(own_engine.mcp_url) as client:
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
async def test_what_names_no_task_cancels_nothing(own_engine: EngineProgram, params: Json, error_type: str) -> None:
    """M23"""
    url = own_engine.mcp_url
    async with open_http(url) as http, open_websocket(url, CANCEL, params) as websocket:
        answers = [
            (await post(http, CANCEL, {**params, "_meta": {}})).json(),
            (await post(http, CANCEL, modern_params(**params))).json(),
            json.loads(await websocket.recv()),
        ]

    for answer in answers:
        assert_shape(answer, "protocol error")
    assert [answer["error"]["code"] for answer in answers] == [-32602] * 3
    assert [answer["error"]["data"]["error_type"] for answer in answers] == [error_type] * 3
    assert max(len(json.dumps(answer)) for answer in answers) < 1_000


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
            await anyio.wait_all_tasks_blocked()
            assert not answer.done()

        exchange.cancel("ours", JSONRPCNotification.model_validate(cancellation_of(1)))

        assert await answer is None
