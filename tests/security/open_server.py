"""An application behind our connections, in this process, with limits of a test's choice."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import uvicorn

from kb.engine.api.unread import render_unread
from kb.listening import listen
from kb.serving import Limits, configure_server
from kb.serving.websockets import WebSocketConnection

WITHIN_SECONDS = 20.0


@dataclass(frozen=True)
class Server:
    address: tuple[str, int]
    connections: set[Any]

    def connect(self, *, receive_buffer: int | None = None) -> socket.socket:
        connection = socket.socket()
        if receive_buffer is not None:
            # Before it connects; later it would have no effect on what the server may send.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(WITHIN_SECONDS)
        connection.connect(self.address)
        return connection


@contextmanager
def open_server(
    app: Any, limits: Limits, *, websockets: type[WebSocketConnection] | None = WebSocketConnection
) -> Iterator[Server]:
    with listen("127.0.0.1", 0, "KB_PORT") as listener:
        config = configure_server(
            app, render=render_unread, limits=limits, shutdown_within_seconds=1, websockets=websockets
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        try:
            yield Server(listener.getsockname(), server.server_state.connections)
        finally:
            server.should_exit = True
            thread.join()


def read_to_end(connection: socket.socket) -> bytes:
    """All that the server says before it hangs up. Raises `TimeoutError` if it does not."""
    said = b""
    try:
        while part := connection.recv(65_536):
            said += part
    except ConnectionResetError:
        # It hung up before it had read all.
        pass
    return said
