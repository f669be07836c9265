"""What was added and given up, while files are on their way, the engine is away or a server is being stopped."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest
from tests.mcp_server.knowledge.cancelled import Base
from tests.mcp_server.knowledge.speaking import (
    CALL,
    WITHIN_SECONDS,
    call_of,
    message,
    open_http,
    open_websocket,
    post,
)
from tests.mcp_server.knowledge.ways_to_cancel import ADD, CANCEL, by_notification, cancellation_of
from tests.mcp_server.shared_programs import open_adding_program
from tests.newest_protocol import newest_headers
from tests.waiting import until

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("way", ["http", "newest http", "websocket"])
async def test_a_task_is_cancelled_by_a_message_without_an_id_too(base: Base, scan: str, way: str) -> None:
    """M23: it is done, and not answered."""
    async with asyncio.timeout(WITHIN_SECONDS), open_http(base.engine.mcp_url) as http:
        added = await post(http, CALL, call_of(ADD, {"file_path": scan}))
        job = await base.wait_for_reading()
        assert added.json()["result"]["structuredContent"]["task_id"] == job["uuid"]
        silent = message(CANCEL, {"taskId": job["uuid"]})

        if way == "websocket":
            async with open_websocket(base.engine.mcp_url, "ping", {}) as websocket:
                await websocket.send(json.dumps(silent))
                await base.wait_until_nothing_is_left(job)
                await websocket.send(json.dumps(message("ping", {}, 6)))
                assert [json.loads(await websocket.recv())["id"] for _ in range(2)] == [5, 6]
        else:
            headers = newest_headers(CANCEL) if way == "newest http" else {}
            response = await http.post("/mcp", json=silent, headers=headers)
            assert (response.status_code, response.content) == (202, b"")
            await base.wait_until_nothing_is_left(job)


async def test_a_server_that_is_stopped_does_not_take_back_what_it_was_asked(
    base: Base, files: Path, scan: str, short_scan: str
) -> None:
    """M23: neither by POST nor over a WebSocket."""
    by_post, by_websocket = (call_of(ADD, {"file_path": path, "async": False}) for path in (scan, short_scan))
    with open_adding_program(files, base.engine.url) as program:
        async with asyncio.timeout(WITHIN_SECONDS), open_http(program.url) as http:
            answer = asyncio.create_task(post(http, CALL, by_post))
            first = await base.wait_for_reading()
            with base.reading_halted():
                async with open_websocket(program.url, CALL, by_websocket):
                    second = await base.wait_for_queued()

                    assert await asyncio.to_thread(program.stop) == 0

                assert (await answer).json()["result"]["structuredContent"]["error"] == "server_stopped"
                # The server is gone, and nobody else will do it.
                found = [await base.client.get_job(job["uuid"]) for job in (first, second)]

    assert [job["status"] for job in found] == ["running", "queued"]
    for job in reversed(found):
        await base.client.cancel_job(job["uuid"], forget=True)


class SlowWay:
    """The way to an engine, on which requests that begin so wait until they are let through."""

    url: str

    def __init__(self, engine_url: str, held: bytes) -> None:
        self._engine_url = httpx.URL(engine_url)
        self._held = held
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
            if some.startswith(self._held):
                self.has_begun.set()
                await self.is_open.wait()
                if reader.at_eof():
                    # Who sent it has given it up.
                    break
            writer.write(some)
            await writer.drain()
        writer.close()


async def test_what_is_cancelled_while_it_is_still_sent_leaves_nothing(base: Base, files: Path, scan: str) -> None:
    """M23"""
    newest = (await base.client.list_jobs(limit=1))["jobs"]
    way = SlowWay(base.engine.url, b"POST /api/v1/jobs HTTP")
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


async def test_a_call_outlasts_the_engines_restart_and_what_is_cancelled_meanwhile_is_not_taken_up_again(
    base: Base, files: Path, scan: str, short_scan: str
) -> None:
    """M23, E24"""
    session = {"Mcp-Session-Id": uuid.uuid4().hex}
    waited_for, given_up = (call_of(ADD, {"file_path": path, "async": False}) for path in (short_scan, scan))
    with open_adding_program(files, base.engine.url) as program:
        async with asyncio.timeout(WITHIN_SECONDS), open_http(program.url, **session) as http:
            kept = asyncio.create_task(http.post("/mcp", json=message(CALL, waited_for, 1)))
            await base.wait_for_reading()
            with base.reading_halted():
                cancelled = asyncio.create_task(http.post("/mcp", json=message(CALL, given_up, 2)))
                job = await base.wait_for_queued()

            await asyncio.to_thread(base.engine.stop)
            await http.post("/mcp", json=cancellation_of(2))
            assert '"error_type":"request_cancelled"' in (await cancelled).text
            await asyncio.to_thread(base.engine.start)

            assert (await kept).json()["result"]["structuredContent"]["success"] is True
            await base.wait_until_nothing_is_left(job)


async def test_a_cancellation_that_was_accepted_is_carried_out_before_the_server_stops(
    base: Base, files: Path, scan: str
) -> None:
    """M23"""
    way = SlowWay(base.engine.url, b"POST /api/v1/jobs/")
    async with asyncio.timeout(WITHIN_SECONDS), way.running(), AsyncExitStack() as opened:
        program = await asyncio.to_thread(opened.enter_context, open_adding_program(files, way.url))
        async with by_notification()(program.url, {"file_path": scan, "async": False}) as cancel:
            job = await base.wait_for_reading()
            await cancel({})
        await way.has_begun.wait()

        stopping = asyncio.create_task(asyncio.to_thread(program.stop))
        # It keeps its word first.
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.shield(stopping), 1.0)
        way.is_open.set()

        assert await stopping == 0
        await base.wait_until_nothing_is_left(job)
