"""Calls of tools as they go over the wire: of either era, by POST or over a WebSocket."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

import httpx
from tests.newest_protocol import NEWEST_VERSION, newest_headers, newest_params
from websockets.asyncio.client import ClientConnection, connect

from kb.client import Json

# A scan may be read meanwhile, or twice.
WITHIN_SECONDS = 300
CALL = "tools/call"
BOTH = "application/json, text/event-stream"

CallOf: TypeAlias = Callable[..., Json]
"""The parameters of a call, in the manner of an era: `of(tool, arguments, progressToken=0)`."""


def call_of(tool: str, arguments: Json, **meta: object) -> Json:
    return {"name": tool, "arguments": arguments, "_meta": meta}


def newest_call_of(tool: str, arguments: Json, **meta: object) -> Json:
    params = newest_params(name=tool, arguments=arguments)
    return {**params, "_meta": {**params["_meta"], **meta}}


def message(method: str, params: Json, request_id: int | None = None) -> Json:
    named = {} if request_id is None else {"id": request_id}
    return {"jsonrpc": "2.0", "method": method, "params": params, **named}


@asynccontextmanager
async def open_http(url: str, **headers: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(
        base_url=url, headers={"Accept": BOTH, **headers}, trust_env=False, timeout=WITHIN_SECONDS
    ) as http:
        yield http


async def post(http: httpx.AsyncClient, method: str, params: Json) -> httpx.Response:
    """As request 5, in the manner of the era that its parameters are of."""
    is_newest = NEWEST_VERSION in params["_meta"].values()
    headers = newest_headers(method, params.get("name")) if is_newest else {"MCP-Protocol-Version": "2025-06-18"}
    return await http.post("/mcp", json=message(method, params, 5), headers=headers)


@asynccontextmanager
async def open_websocket(url: str, method: str, params: Json) -> AsyncIterator[ClientConnection]:
    """On which that has been asked, as request 5. Raises `TimeoutError` where no answer comes."""
    address = url.replace("http", "ws") + "/mcp"
    async with asyncio.timeout(WITHIN_SECONDS), connect(address, proxy=None) as websocket:
        await websocket.send(json.dumps(message(method, params, 5)))
        yield websocket
