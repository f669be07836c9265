"""The world beyond the engine, as the browser sees it: a proxy that writes down who was asked for and refuses.

A page's requests could be stopped inside the browser as well, but then the browser keeps no cache, and some are not
shown there at all: what a policy reports, what is sent while a page closes, and what it fetches on a guess.
"""

import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Outside(socketserver.ThreadingTCPServer):
    def __init__(self, asked_for: list[str]) -> None:
        super().__init__(("127.0.0.1", 0), _Refusal)
        self.asked_for = asked_for

    @property
    def url(self) -> str:
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}"


class _Refusal(socketserver.StreamRequestHandler):
    server: Outside

    def handle(self) -> None:
        line = self.rfile.readline(65536).decode("latin-1").strip()
        # Browsers open connections that they never use.
        if line:
            self.server.asked_for.append(line)
            self.wfile.write(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@contextmanager
def open_outside(asked_for: list[str]) -> Iterator[Outside]:
    """Adds the first line of each request: `GET http://host/path HTTP/1.1`, or `CONNECT host:443 HTTP/1.1`.

    When it ends, every request that was on its way has been added: it waits for the browser to hang up.
    """
    with Outside(asked_for) as outside:
        thread = threading.Thread(target=outside.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield outside
        finally:
            outside.shutdown()
            thread.join()
