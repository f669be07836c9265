"""The server put together: its addresses, and what stands behind them."""

import logging
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, Router, WebSocketRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from kb.access import Access
from kb.client import EngineClient
from kb.logs import LogFormat
from kb.mcp.announcements import Announcements
from kb.mcp.calling import ToolCalls
from kb.mcp.exchange import Exchange
from kb.mcp.file_roots import FileRoots
from kb.mcp.guard import HEALTH_PATH, Guard
from kb.mcp.http import HttpEndpoint
from kb.mcp.refusals import refuse
from kb.mcp.server import NAME, build_server
from kb.mcp.tools import Tool
from kb.mcp.toolsets.collections import collection_tools
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.toolsets.knowledge.tools import KNOWLEDGE_TOOLS
from kb.mcp.upload_folder import default_parent
from kb.mcp.uploads import open_uploads
from kb.mcp.watched_engine import LOOK_EVERY_SECONDS, WatchedEngine
from kb.mcp.websocket import WebSocketEndpoint
from kb.serving.held_bodies import Bodies
from kb.version import VERSION

log = logging.getLogger(__name__)

PATH = "/mcp"
# Most clients give up after a minute; what takes longer than this would be told to nobody.
ENGINE_ANSWERS_WITHIN_SECONDS = 55.0
FINISH_WITHIN_SECONDS = 3.0


@dataclass(frozen=True)
class McpOptions:
    engine_url: str
    engine_key: str
    toolsets: tuple[str, ...]
    collections: tuple[str, ...]
    upload_ttl_seconds: int
    file_roots: tuple[Path, ...]
    access: Access
    private_paths: tuple[Path, ...] = ()
    """Files and folders of kb itself. Agents cannot read them, even below a root."""
    log_format: LogFormat = "text"
    look_every_seconds: float = LOOK_EVERY_SECONDS


@dataclass(frozen=True)
class App:
    asgi: ASGIApp
    announcements: Announcements
    calls: ToolCalls


@asynccontextmanager
async def open_app(options: McpOptions) -> AsyncIterator[App]:
    """The server's ASGI application and all that it needs; nothing of it is left when the block ends.

    The engine need not be there: it is looked for at each call, and now and then for what it lets us do.
    """
    announcements = Announcements()
    bodies = Bodies()
    toolsets = choose_toolsets(options.toolsets, options.collections)
    everything = tuple(tool for tools in toolsets.values() for tool in tools)
    async with AsyncExitStack() as opened:
        client = await opened.enter_async_context(
            EngineClient(options.engine_url, options.engine_key, timeout=ENGINE_ANSWERS_WITHIN_SECONDS)
        )
        engine = WatchedEngine(client, options.engine_url)
        calls = await opened.enter_async_context(_open_calls(options, engine))
        routes: list[Route | WebSocketRoute] = [Route(HEALTH_PATH, _tell_health)]
        for path, tools in {PATH: everything, **{f"{PATH}/{name}": tools for name, tools in toolsets.items()}}.items():
            server = build_server(tools, engine, calls.call, announcements.listen)
            exchange = Exchange(server)
            http = HttpEndpoint(server, exchange, announcements, bodies)
            await opened.enter_async_context(http.running())
            websocket = WebSocketEndpoint(exchange, announcements, bodies)
            routes += [Route(path, http), WebSocketRoute(path, websocket.serve)]
        router = Router(routes, default=_refuse_path, redirect_slashes=False)
        async with anyio.create_task_group() as watching:
            watching.start_soon(engine.watch, announcements.tools_changed, options.look_every_seconds)
            yield App(Guard(router, options.access), announcements, calls)
            watching.cancel_scope.cancel()


def choose_toolsets(names: tuple[str, ...], collections: tuple[str, ...]) -> Mapping[str, tuple[Tool, ...]]:
    known = {"kb": KB_TOOLS, "kb-collections": collection_tools(collections), "knowledge": KNOWLEDGE_TOOLS}
    return {name: known[name] for name in names}


@asynccontextmanager
async def _open_calls(options: McpOptions, engine: WatchedEngine) -> AsyncIterator[ToolCalls]:
    ttl = timedelta(seconds=options.upload_ttl_seconds)
    async with open_uploads(default_parent(), ttl) as uploads, anyio.create_task_group() as group:

        def later(coroutine: Coroutine[Any, Any, None]) -> None:
            async def run() -> None:
                try:
                    await coroutine
                except Exception:
                    # One that escaped would end the group, and with it the server.
                    log.exception("What was left for later failed.")

            group.start_soon(run)

        yield ToolCalls(engine, uploads, FileRoots(options.file_roots, options.private_paths), later)
        # What was promised is done, unless that takes longer than anybody waits for a server to stop.
        group.cancel_scope.deadline = anyio.current_time() + FINISH_WITHIN_SECONDS


async def _tell_health(request: Request) -> Response:
    return JSONResponse({"status": "ok", "name": NAME, "version": VERSION})


async def _refuse_path(scope: Scope, receive: Receive, send: Send) -> None:
    told = f"There is nothing at this address. All tools are at {PATH}, those of one toolset at {PATH}/<toolset>."
    await refuse(404, "not_found", told)(scope, receive, send)
