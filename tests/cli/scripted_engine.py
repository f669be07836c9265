"""A server in the engine's place, for what the real one does only in an unlucky moment."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

Answer: TypeAlias = tuple[int, object] | tuple[int, object, Mapping[str, str]] | None
"""A status, what is sent (bytes as they are, all else as JSON), and headers if need be; None hangs up."""


@contextmanager
def scripted_engine(answer: Callable[[str, str, Mapping[str, str]], Answer]) -> Iterator[str]:
    """Give the URL of a server whose answers depend on the method, the path and the headers of a request.

    It calls itself an engine of this version, unless the headers of an answer say otherwise.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            given = answer(self.command, self.path, {**self.headers})
            self.close_connection = True
            if given is not None:
                status, body, *headers = given
                self.send(status, body if isinstance(body, bytes) else json.dumps(body).encode(), *headers)

        do_PATCH = do_POST = do_GET

        def send(self, status: int, content: bytes, headers: Mapping[str, str] = {}) -> None:
            self.send_response_only(status)
            for name, value in {"Server": "kb/3.0.0", "Content-Length": str(len(content)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
