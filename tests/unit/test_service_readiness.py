"""systemd is told that `kb up` has started: not when the process is there, but when its programs answer."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from kb.cli.service.readiness import tell_when_ready
from kb.listening import listen, url_of

TOLD_WITHIN_SECONDS = 20


@contextmanager
def serving(listener: socket.socket, asked: list[str]) -> Iterator[None]:
    """Answers on a socket that accepts already."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("", 0), Handler, bind_and_activate=False) as server:
        server.socket.close()
        server.socket = listener
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("name", ["a file", f"@kb-test-{os.getpid()}"], ids=["a file", "no file"])
def test_systemd_is_told_once_engine_and_mcp_server_answer(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NOTIFY_SOCKET", name)
    asked: list[str] = []
    with closing(socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)) as systemd:
        systemd.bind(name.replace("@", "\0"))
        systemd.settimeout(TOLD_WITHIN_SECONDS)
        engine, mcp = listen("127.0.0.1", 0, "KB_PORT"), listen("127.0.0.1", 0, "KB_MCP_PORT")

        # Who listens and does not answer yet makes others wait.
        tell_when_ready(f"{url_of(engine)}/health/live", f"{url_of(mcp)}/health")
        with serving(engine, asked), serving(mcp, asked):
            told = systemd.recv(100)

    assert told == b"READY=1"
    assert set(asked) == {"/health/live", "/health"}


def test_nobody_is_told_where_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    before = threading.enumerate()

    tell_when_ready("http://127.0.0.1:9/health")

    assert [thread for thread in threading.enumerate() if thread not in before] == []
