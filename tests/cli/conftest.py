import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.engine_program import EngineProgram
from typer.testing import CliRunner, Result

from kb.cli.calling import warn_once
from kb.cli.main import app

Kb = Callable[..., Result]
Pretend = Callable[[int, bytes], str]


@pytest.fixture
def kb(running_engine: EngineProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kb:
    """Runs a command in this process, against the engine in its own: `kb("get", "7")`."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.delenv("KB_API_KEY", raising=False)

    def run(*arguments: str, stdin: str | bytes | None = None, **settings: str) -> Result:
        environment = {"KB_ENGINE_URL": running_engine.url, **settings}
        # As in a process of its own.
        warn_once.cache_clear()
        return CliRunner().invoke(app, arguments, input=stdin, env=environment, catch_exceptions=False)

    return run


@pytest.fixture(scope="session")
def locked_engine(model_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """An engine that wants a key."""
    keys = {"KB_API_KEY": "secret", "KB_API_KEY_READONLY": "reader"}
    program = EngineProgram(tmp_path_factory.mktemp("locked"), keys)
    program.start()
    yield program
    program.stop()


@pytest.fixture
def pretend() -> Iterator[Pretend]:
    """Starts a server that gives the same answer to everything, and answers its URL."""
    servers: list[ThreadingHTTPServer] = []

    def start(status: int, body: bytes) -> str:
        class Answer(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *arguments: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        servers.append(server)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{server.server_address[1]}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def busy_engine() -> Iterator[str]:
    """A server that says twice that its queue is full before it takes each of two jobs: its URL."""
    full = (429, b'{"code": "too_many_requests", "detail": "Full."}')
    taken = [(202, b'{"id": %d, "status": "queued", "document_id": null}' % job_id) for job_id in (7, 8)]
    answers = [full, full, taken[0], full, full, taken[1]]

    class Answer(BaseHTTPRequestHandler):
        server_version, sys_version = "kb/3.0.0", ""

        def do_GET(self) -> None:
            self.answer(200, b"{}")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.answer(*answers.pop(0))

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Retry-After", "0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
