"""How uvicorn serves the applications of engine and MCP server: no client can keep others from being answered."""

import resource
from typing import Any

from kb.serving.connections import IS_ADMITTED, Attended, HttpConnection, RawHeaders, Render, ServerConfig
from kb.serving.patience import Limits

__all__ = ["IS_ADMITTED", "Limits", "RawHeaders", "allow_connections", "configure_server"]

# Longer than any client keeps a connection that it does not use (httpx: 5 seconds, browsers: a minute). Closed by us
# in the moment in which the client sends its next request, it would look as if the server were gone.
KEEP_ALIVE_SECONDS = 75
# A request may have a file open beside its connection.
FILES_OF_A_CONNECTION = 2
# The base, logs, pipes to children, libraries.
OWN_FILES = 256


def allow_connections(wanted: int = Limits.connections) -> Limits:
    """Raise the number of files that this process may open, as far as it can be, to what so many connections need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = OWN_FILES + wanted * FILES_OF_A_CONNECTION
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return Limits(connections=connections_within(soft, wanted))


def connections_within(files: int, wanted: int) -> int:
    if files == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, (files - OWN_FILES) // FILES_OF_A_CONNECTION))


def configure_server(
    app: Any,
    *,
    render: Render,
    limits: Limits,
    shutdown_within_seconds: int,
    websockets: type[Attended] | None = None,
    **own: Any,
) -> ServerConfig:
    """How uvicorn serves an ASGI application of ours; its log is our own."""
    return ServerConfig(
        app,
        limits=limits,
        render=render,
        # h11, which unlike httptools bounds the size of headers, and answers clients that offer to speak HTTP/2.
        http=HttpConnection,
        # Left to itself uvicorn would take one of its own, which waits for ever. Without one, a request for a WebSocket
        # is a request like any other.
        ws=websockets or "none",
        # 16 kB would become 16 MB before anybody could count them.
        ws_per_message_deflate=False,
        log_config=None,
        access_log=False,
        log_level="warning",
        server_header=False,
        lifespan="off",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=shutdown_within_seconds,
        **own,
    )
