"""The MCP server as a process: alone, or as the child of `kb up`."""

import asyncio
import logging
import signal
import socket
from dataclasses import asdict

import uvicorn
from pydantic import TypeAdapter

from kb.child import Child, listen_to_parent, read_options
from kb.listening import url_of
from kb.logs import log_to_stderr
from kb.mcp.announcements import Announcements
from kb.mcp.app import PATH, McpOptions, open_app
from kb.mcp.http import MAX_BODY_BYTES
from kb.version import VERSION

log = logging.getLogger(__name__)

SHUTDOWN_WITHIN_SECONDS = 5


def serve_mcp(options: McpOptions, listener: socket.socket) -> None:
    """Serve until told to stop (SIGINT, SIGTERM), then finish what is under way."""
    asyncio.run(_serve(options, listener, has_parent=False))


def start_mcp(options: McpOptions, listener: socket.socket) -> Child:
    """Serve in a process of its own. The socket stays ours: who calls while the child is restarted just waits."""
    told = {**asdict(options), "socket": listener.fileno()}
    return Child("MCP server", "kb.mcp.process", told, pass_fds=(listener.fileno(),))


def main() -> None:
    log_to_stderr("mcp")
    # Ctrl-C goes to every process of the terminal; `kb up` decides when its child stops.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    told = read_options()
    listener = socket.socket(fileno=told.pop("socket"))
    options = TypeAdapter(McpOptions).validate_python(told)
    asyncio.run(_serve(options, listener, has_parent=True))


async def _serve(options: McpOptions, listener: socket.socket, *, has_parent: bool) -> None:
    async with open_app(options) as app:
        config = uvicorn.Config(
            app.asgi,
            log_config=None,
            access_log=False,
            log_level="warning",
            server_header=False,
            lifespan="off",
            ws_max_size=MAX_BODY_BYTES,
            timeout_graceful_shutdown=SHUTDOWN_WITHIN_SECONDS,
        )
        server = _Server(config, app.announcements)
        if has_parent:
            listen_to_parent(on_nudge=lambda: None, on_end=server.stop)
        log.info("kb mcp %s on %s%s, engine at %s", VERSION, url_of(listener), PATH, options.engine_url)
        await server.serve(sockets=[listener])


class _Server(uvicorn.Server):
    """Ends the streams that have no end before it waits for the others."""

    def __init__(self, config: uvicorn.Config, announcements: Announcements) -> None:
        super().__init__(config)
        self._announcements = announcements

    def stop(self) -> None:
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._announcements.close()
        await super().shutdown(sockets)


if __name__ == "__main__":
    main()
