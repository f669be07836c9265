"""The ways in which a client gives up a document that it has added: each begins the call and offers to cancel it."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TypeAlias

import anyio
import httpx
from tests.mcp_clients import Era, sdk_client
from tests.mcp_server.knowledge.speaking import (
    BOTH,
    CALL,
    CallOf,
    call_of,
    message,
    newest_call_of,
    open_http,
    open_websocket,
    post,
)
from tests.mcp_server.typescript_client import TypeScriptClient

from kb.client import Json

ADD, CANCEL = "knowledge-add", "tools/cancel"

Cancel: TypeAlias = Callable[[Json], Awaitable[None]]
"""Gives up the job of the call that was begun."""
Begin: TypeAlias = Callable[[str, Json], AbstractAsyncContextManager[Cancel]]
"""Calls `knowledge-add` at an address with these arguments, and offers a way to cancel it."""


def cancellation_of(request_id: object) -> Json:
    return message("notifications/cancelled", {"requestId": request_id, "reason": "Enough."})


def by_notification(**meta: object) -> Begin:
    async def cancel(http: httpx.AsyncClient) -> None:
        await http.post("/mcp", json=cancellation_of(5))

    return _within_session(cancel, meta)


def by_the_end_of_the_session() -> Begin:
    async def cancel(http: httpx.AsyncClient) -> None:
        await http.delete("/mcp")

    return _within_session(cancel, {})


def _within_session(cancel_by: Callable[[httpx.AsyncClient], Awaitable[None]], meta: Json) -> Begin:
    """Of 2025."""

    @asynccontextmanager
    async def begin(url: str, arguments: Json) -> AsyncIterator[Cancel]:
        async with open_http(url, **{"Mcp-Session-Id": uuid.uuid4().hex}) as http, asyncio.TaskGroup() as group:
            answer = group.create_task(post(http, CALL, call_of(ADD, arguments, **meta)))

            async def cancel(job: Json) -> None:
                await cancel_by(http)

            yield cancel
            assert '"error_type":"request_cancelled"' in (await answer).text

    return begin


def by_hanging_up(accept: str = BOTH, **meta: object) -> Begin:
    """Closes the connection of a request of 2026-07-28."""

    @asynccontextmanager
    async def begin(url: str, arguments: Json) -> AsyncIterator[Cancel]:
        async with open_http(url, Accept=accept) as http:
            answer = asyncio.create_task(post(http, CALL, newest_call_of(ADD, arguments, **meta)))

            async def cancel(job: Json) -> None:
                answer.cancel()
                with suppress(asyncio.CancelledError):
                    await answer

            yield cancel

    return begin


def by_notification_over_websocket(of: CallOf) -> Begin:
    @asynccontextmanager
    async def begin(url: str, arguments: Json) -> AsyncIterator[Cancel]:
        async with open_websocket(url, CALL, of(ADD, arguments)) as websocket:

            async def cancel(job: Json) -> None:
                await websocket.send(json.dumps(cancellation_of(5)))

            yield cancel
            # What was cancelled is not answered, and the connection is as good as before.
            await websocket.send(json.dumps(message("ping", {}, 6)))
            assert json.loads(await websocket.recv())["id"] == 6

    return begin


@asynccontextmanager
async def by_closing_the_websocket(url: str, arguments: Json) -> AsyncIterator[Cancel]:
    async with open_websocket(url, CALL, call_of(ADD, arguments)) as websocket:

        async def cancel(job: Json) -> None:
            await websocket.close()

        yield cancel


def by_sdk(era: Era) -> Begin:
    @asynccontextmanager
    async def begin(url: str, arguments: Json) -> AsyncIterator[Cancel]:
        async with sdk_client(url, era) as client, anyio.create_task_group() as group:
            scope = anyio.CancelScope()

            async def add() -> None:
                with scope:
                    await client.call_tool(ADD, arguments)

            async def cancel(job: Json) -> None:
                scope.cancel()

            group.start_soon(add)
            yield cancel

    return begin


def by_typescript(scheme: str) -> Begin:
    """Its abort signal."""

    @asynccontextmanager
    async def begin(url: str, arguments: Json) -> AsyncIterator[Cancel]:
        with TypeScriptClient(url.replace("http", scheme) + "/mcp") as client:
            client.answer("connect")
            client.answer("beginCall", call_of(ADD, arguments))

            async def cancel(job: Json) -> None:
                assert "abort" in client.thrown("abortCall")["message"].lower()

            yield cancel

    return begin


def by_task_over_http(of: CallOf) -> Begin:
    @asynccontextmanager
    async def begin(url: str, arguments: Json) -> AsyncIterator[Cancel]:
        async with open_http(url) as http, asyncio.TaskGroup() as group:
            params = of(ADD, arguments)
            answer = group.create_task(post(http, CALL, params))

            async def cancel(job: Json) -> None:
                told = await post(http, CANCEL, {"taskId": job["uuid"], "_meta": params["_meta"]})
                result = told.json()["result"]
                assert (result["taskId"], result["status"]) == (job["uuid"], "cancelled")

            yield cancel
            assert_ends_as_begun((await answer).json()["result"], arguments)

    return begin


def assert_ends_as_begun(result: Json, arguments: Json) -> None:
    """Who waits for a task that is cancelled is told so; who does not has had an answer before."""
    if arguments["async"]:
        assert result["structuredContent"]["success"] is True
    else:
        assert result["structuredContent"]["error"] == "task_cancelled"


@asynccontextmanager
async def by_task_over_websocket(url: str, arguments: Json) -> AsyncIterator[Cancel]:
    async with open_websocket(url, CALL, call_of(ADD, arguments)) as websocket:
        told: dict[int, Json] = {}

        async def hear(request_id: int) -> Json:
            while request_id not in told:
                answer = json.loads(await websocket.recv())
                told[answer["id"]] = answer["result"]
            return told[request_id]

        async def cancel(job: Json) -> None:
            await websocket.send(json.dumps(message(CANCEL, {"taskId": job["uuid"]}, 6)))
            assert (await hear(6))["status"] == "cancelled"

        yield cancel
        assert_ends_as_begun(await hear(5), arguments)


@asynccontextmanager
async def by_task_from_typescript(url: str, arguments: Json) -> AsyncIterator[Cancel]:
    with TypeScriptClient(f"{url}/mcp") as client:
        client.answer("connect")
        client.answer("beginCall", call_of(ADD, arguments))

        async def cancel(job: Json) -> None:
            told = client.answer("request", CANCEL, {"taskId": job["uuid"]})
            assert (told["taskId"], told["status"]) == (job["uuid"], "cancelled")

        yield cancel
        assert_ends_as_begun(client.answer("endCall"), arguments)


WAYS: dict[str, Begin] = {
    "notification": by_notification(),
    "notification of a stream": by_notification(progressToken=0),
    "end of the session": by_the_end_of_the_session(),
    "hanging up": by_hanging_up(),
    "hanging up a stream": by_hanging_up(progressToken=0),
    "hanging up without events": by_hanging_up("application/json", progressToken=0),
    "notification over WebSocket": by_notification_over_websocket(call_of),
    "notification over WebSocket, newest": by_notification_over_websocket(newest_call_of),
    "closing the WebSocket": by_closing_the_websocket,
    "SDK": by_sdk("legacy"),
    "SDK, newest": by_sdk("auto"),
    "TypeScript": by_typescript("http"),
    "task": by_task_over_http(call_of),
    "task, newest": by_task_over_http(newest_call_of),
    "task over WebSocket": by_task_over_websocket,
    "task from TypeScript": by_task_from_typescript,
}
RARER_WAYS: dict[str, Begin] = {"TypeScript over WebSocket": by_typescript("ws")}
WAYS_OF_TASKS = [name for name in WAYS if name.startswith("task")]
