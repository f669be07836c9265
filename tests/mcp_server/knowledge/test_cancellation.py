"""A document that is given up while it is read: whichever way that is said, nothing of it is left."""

import asyncio
import json
import time
import uuid
from pathlib import Path

import anyio
import pytest
from mcp.types import JSONRPCNotification, JSONRPCRequest
from starlette.requests import HTTPConnection
from tests.amounts import IS_FULL
from tests.engine_program import EngineProgram
from tests.mcp_clients import RawClient
from tests.mcp_server.knowledge.cancelled import Base
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
    cancellation_of,
)
from tests.newest_protocol import newest_params

from kb.client import EngineClient, Json
from kb.mcp.announcements import Announcements
from kb.mcp.caller import Caller, note_caller
from kb.mcp.exchange import Exchange
from kb.mcp.server import build_server
from kb.mcp.tools import ReportProgress, Tool
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.watched_engine import WatchedEngine

pytestmark = pytest.mark.anyio

GONE_WITHIN_SECONDS = 2.0
# Machines on which tests run do not always keep pace; what is slow by itself is so each time.
TRIES = 2


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
        await base.client.cancel_job(task_id, forget=True)


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
            (await post(http, CANCEL, newest_params(**params))).json(),
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
    caller = HTTPConnection({"type": "http", "headers": []})
    note_caller(caller.scope, Caller("writer", can_write=True))
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
