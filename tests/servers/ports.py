import socket
from contextlib import ExitStack


def find_free_ports(count: int) -> list[int]:
    """All found before any is given back, so that each is another."""
    with ExitStack() as opened:
        listeners = [opened.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(listener.getsockname()[1]) for listener in listeners]
