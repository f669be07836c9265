"""A server in the engine's place, for what the real one does only in an unlucky moment."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

Answer: TypeAlias = tuple[int, object] | None
"""A status and what is sent as JSON; None hangs up."""


@contextmanager
def scripted_engine(answer: Callable[[str, str, Mapping[str, str]], Answer]) -> Iterator[str]:
    """Give the URL of a server whose answers depend on the method, the path and the headers of a request."""

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "kb/3.0.0", ""

        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", "0")))
            given = answer(self.command, self.path, {**self.headers})
            self.close_connection = given is None
            if given is not None:
                status, body = given
                content = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        do_PATCH = do_POST = do_GET

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
