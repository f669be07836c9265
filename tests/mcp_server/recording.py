"""Small real HTTP servers to stand where the engine is expected: one that passes on and records, one that pretends."""

import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

import httpx

# Of the connection on which they came, not of the message; httpx and the server set their own.
HOP_HEADERS = frozenset({"connection", "content-encoding", "content-length", "host", "transfer-encoding"})


@dataclass(frozen=True)
class Sent:
    """A request as it went to the engine."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    """By their names in lower case."""
    body: bytes

    def json(self) -> Any:  # Any: whatever was sent
        return json.loads(self.body)

    def form(self) -> list[tuple[str, bytes]]:
        """The parts of a form, by name and in order."""
        boundary = b"--" + self.headers["content-type"].partition("boundary=")[2].encode()
        parts = []
        for part in self.body.split(boundary)[1:-1]:
            head, _, content = part.partition(b"\r\n\r\n")
            named = re.search(rb'name="([^"]+)"', head)
            assert named, head
            parts.append((named[1].decode(), content.removesuffix(b"\r\n")))
        return parts

    def file_digest(self) -> str:
        return hashlib.sha256(dict(self.form())["file"]).hexdigest()


class RecordingProxy:
    """Passes every request on to the engine and keeps it in `sent`."""

    url: str

    def __init__(self, engine_url: str) -> None:
        self._engine_url = engine_url
        self.sent: list[Sent] = []

    def find(self, method: str, path: str) -> list[Sent]:
        return [sent for sent in self.sent if (sent.method, sent.path) == (method, path)]

    @property
    def sent_for_agents(self) -> list[Sent]:
        """Without looks at the engine's state: the server takes some by itself, and they look like an agent's own."""
        return [sent for sent in self.sent if sent.path not in ("/api/v1/status", "/health/live")]

    @contextmanager
    def running(self) -> Iterator[Self]:
        with httpx.Client(base_url=self._engine_url, trust_env=False, timeout=60) as engine:

            def record(connection: BaseHTTPRequestHandler, body: bytes) -> httpx.Response:
                sent = _read(connection, body)
                self.sent.append(sent)
                passed_on = {name: value for name, value in sent.headers.items() if name not in HOP_HEADERS}
                return engine.request(connection.command, connection.path, headers=passed_on, content=body)

            with _serving(record) as self.url:
                yield self


class PretendedEngine:
    """Gives every request the same answer, which may be changed at any time, and keeps the request in `sent`."""

    url: str
    answer: httpx.Response

    def __init__(self) -> None:
        self.sent: list[Sent] = []

    @contextmanager
    def running(self) -> Iterator[None]:
        def answer(connection: BaseHTTPRequestHandler, body: bytes) -> httpx.Response:
            self.sent.append(_read(connection, body))
            return self.answer

        with _serving(answer) as self.url:
            yield


def _read(connection: BaseHTTPRequestHandler, body: bytes) -> Sent:
    headers = {name.lower(): value for name, value in connection.headers.items()}
    url = urlsplit(connection.path)
    return Sent(connection.command, url.path, parse_qs(url.query), headers, body)


@contextmanager
def _serving(answer_to: Callable[[BaseHTTPRequestHandler, bytes], httpx.Response]) -> Iterator[str]:
    class Connection(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1
        disable_nagle_algorithm = True

        def _serve(self) -> None:
            answer = answer_to(self, self.rfile.read(int(self.headers.get("Content-Length", 0))))
            self.send_response_only(answer.status_code)
            for name, value in answer.headers.items():
                if name not in HOP_HEADERS:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _serve

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Connection) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
