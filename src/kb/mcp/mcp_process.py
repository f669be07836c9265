"""The MCP server as a process: alone, or as the child of `kb up`."""

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

import uvicorn
from pydantic import TypeAdapter

from kb.child import Child, listen_to_parent, read_options
from kb.listening import CannotStart, url_of
from kb.logs import log_to_stderr
from kb.mcp.app import PATH, App, McpOptions, open_app
from kb.mcp.guard import ANSWER_HEADERS
from kb.mcp.http import MAX_BODY_BYTES
from kb.mcp.refusals import TYPE_OF_STATUS, refuse
from kb.mcp.upload_folder import claim_folder, default_parent, release_folder
from kb.serving import RawHeaders, allow_connections, configure_server
from kb.serving.websockets import WebSocketConnection
from kb.version import VERSION

log = logging.getLogger(__name__)

CALLS_END_WITHIN_SECONDS = 3
SHUTDOWN_WITHIN_SECONDS = 5


def serve_mcp(options: McpOptions, listener: socket.socket) -> None:
    """Serve until told to stop (SIGINT, SIGTERM), then finish what is under way."""
    _run(_serve(options, listener, stopped_by=(signal.SIGINT, signal.SIGTERM)))


def start_mcp(options: McpOptions, listener: socket.socket) -> Child:
    """Serve in a process of its own. The socket stays ours: who calls while the child is restarted just waits.

    Raises `CannotStart` for what would keep the child from starting, too.
    """
    release_folder(*claim_folder(default_parent()))
    told = {**asdict(options), "socket": listener.fileno()}
    return Child("MCP server", "kb.mcp.mcp_process", told, pass_fds=(listener.fileno(),))


def main() -> None:
    # Ctrl-C goes to every process of the terminal, and systemd's SIGTERM to every one of the service; `kb up` decides
    # when its child stops.
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.SIG_IGN)
    told = read_options()
    listener = socket.socket(fileno=told.pop("socket"))
    options = TypeAdapter(McpOptions).validate_python(told)
    log_to_stderr("mcp", options.log_format)
    try:
        _run(_serve(options, listener, stopped_by=(), has_parent=True))
    except CannotStart as error:
        sys.exit(str(error))


def _run(coroutine: Coroutine[Any, Any, None]) -> None:
    # The loop that uvicorn would choose if it ran by itself: uvloop where there is one.
    with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as runner:
        runner.run(coroutine)


async def _serve(
    options: McpOptions, listener: socket.socket, *, stopped_by: tuple[signal.Signals, ...], has_parent: bool = False
) -> None:
    async with open_app(options) as app:
        config = configure_server(
            app.asgi,
            render=render_unread,
            limits=allow_connections(),
            shutdown_within_seconds=SHUTDOWN_WITHIN_SECONDS,
            websockets=WebSocketConnection,
            ws_max_size=MAX_BODY_BYTES,
        )
        greeting = f"kb mcp {VERSION} on {url_of(listener)}{PATH}, engine at {options.engine_url}"
        server = _Server(config, app, stopped_by, greeting)
        if has_parent:
            listen_to_parent(on_nudge=lambda: None, on_end=server.stop)
        await server.serve(sockets=[listener])


def render_unread(status: HTTPStatus, told: str) -> tuple[RawHeaders, bytes]:
    """An answer to what never became a request that the application could have answered."""
    retry = {"Retry-After": "1"} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    answer = refuse(status, TYPE_OF_STATUS.get(status, "invalid_request"), told, headers={**ANSWER_HEADERS, **retry})
    return answer.raw_headers, bytes(answer.body)


class _Server(uvicorn.Server):
    """Stops in order: streams without an end first, then calls that take longer than anybody waits."""

    def __init__(self, config: uvicorn.Config, app: App, stopped_by: tuple[signal.Signals, ...], greeting: str) -> None:
        super().__init__(config)
        self._app = app
        self._stopped_by = stopped_by
        self._greeting = greeting

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # In place of uvicorn's own, which raises the signal once more when all is over.
        loop = asyncio.get_running_loop()
        for name in self._stopped_by:
            loop.add_signal_handler(name, self.stop)
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # Only now: who has read it may stop the server at once.
        log.info("%s", self._greeting)

    def stop(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.announcements.close()
        self._app.calls.stop()
        asyncio.get_running_loop().call_later(CALLS_END_WITHIN_SECONDS, self._app.calls.end)
        await super().shutdown(sockets)


if __name__ == "__main__":
    main()
