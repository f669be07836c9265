"""The sockets on which engine and MCP server listen."""

import errno
import socket
import time
from collections.abc import Callable

BACKLOG = 2048
LOOK_EVERY_SECONDS = 0.1


class CannotStart(Exception):
    """What a program needs is not to be had, such as its port. The message says what to do."""


def listen(
    host: str,
    port: int,
    port_setting: str,
    *,
    patience_seconds: float = 0.0,
    on_wait: Callable[[], None] | None = None,
) -> socket.socket:
    """A socket to which clients can connect from now on. Raises `CannotStart` if the address stays taken so long.

    `port_setting` is where the user says which port. `on_wait` is called once if it is taken at first.
    """
    give_up_at = time.monotonic() + patience_seconds
    while True:
        try:
            return _listen(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() >= give_up_at:
                way_out = _explain(error, port_setting)
                raise CannotStart(f"Cannot listen on {host} port {port}: {error.strerror}. {way_out}") from error
            if on_wait is not None:
                on_wait()
                on_wait = None
            time.sleep(LOOK_EVERY_SECONDS)


def _explain(error: OSError, port_setting: str) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"Stop what uses it, or choose another {port_setting}."
    if error.errno == errno.EACCES:
        return f"Ports below 1024 are for root. Choose another {port_setting}."
    return "Choose an address of this machine."


def _listen(host: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    return listener


def url_of(listener: socket.socket) -> str:
    return url_at(*listener.getsockname()[:2])


def url_at(host: str, port: int) -> str:
    """Without a path."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
