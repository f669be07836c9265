"""Both programs inside this process, for tests that call them thousands of times."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from anyio.from_thread import start_blocking_portal
from starlette.testclient import TestClient
from tests.api_calls import OPEN, V1, Answer
from tests.engine_in_process import open_engine_with, serving
from tests.handmade_documents import work_off, work_once

from kb.access import Access
from kb.engine.api.app import create_app
from kb.engine.ports import Embedder
from kb.engine.wiring import Engine
from kb.mcp.app import McpOptions, open_app

Json = dict[str, Any]
CallMcp = Callable[[str, Json], Json]
"""Takes a method and its parameters, and returns the whole JSON-RPC answer."""

TOOLSETS = (("kb", "knowledge"), ("kb-collections",))
LOCAL = Access(writing_keys=(), reading_keys=(), hosts=("127.0.0.1",), origins=())


@dataclass(frozen=True)
class Base:
    engine: Engine
    api: TestClient
    """At the root of the HTTP API."""

    @property
    def folder(self) -> Path:
        return self.engine.options.data_dir

    def add_note(self, text: str = "The walrus rests.", **fields: object) -> int:
        return self._finish(self.api.post("/jobs", json={"type": "note", "text": text, **fields}))

    def add_file(self, name: str, content: bytes, **fields: object) -> int:
        return self._finish(self.api.post("/jobs", files={"file": (name, content)}, data=fields))

    def work_off(self) -> None:
        work_off(self.engine.pipeline)

    def _finish(self, submitted: Answer) -> int:
        assert submitted.status_code == 202, submitted.text
        self.work_off()
        job = self.api.get(f"/jobs/{submitted.json()['id']}").json()
        assert job["status"] == "completed", job
        document_id: int = job["document_id"]
        return document_id


@contextmanager
def open_base(embedder: Embedder) -> Iterator[Base]:
    with open_engine_with(embedder) as engine:
        app = create_app(engine, OPEN)
        with TestClient(app, base_url=f"http://testserver{V1}", raise_server_exceptions=False) as api:
            yield Base(engine, api)


@contextmanager
def open_mcp(base: Base, toolsets: tuple[str, ...], files: Path) -> Iterator[CallMcp]:
    """The MCP server before this base, whose jobs are done meanwhile; agents may have `files` read."""
    with serving(base.engine) as (engine_http, _), _working(base), start_blocking_portal() as portal:
        engine_url = f"{engine_http.base_url.scheme}://{engine_http.base_url.netloc.decode()}"
        options = McpOptions(engine_url, "", toolsets, ("documents", "memory"), 600, (files,), LOCAL)
        with portal.wrap_async_context_manager(open_app(options)) as app:
            transport = httpx.ASGITransport(app.asgi)
            http = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", trust_env=False)

            async def post(method: str, params: Json) -> httpx.Response:
                # With escapes, by which JSON can say what UTF-8 cannot.
                body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
                return await http.post("/mcp", content=body, headers={"Content-Type": "application/json"})

            def call(method: str, params: Json) -> Json:
                answer: Json = portal.call(post, method, params).json()
                return answer

            yield call
            portal.call(http.aclose)


@contextmanager
def _working(base: Base) -> Iterator[None]:
    stopping = threading.Event()

    def work() -> None:
        while not stopping.wait(0.01):
            work_once(base.engine.pipeline)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        thread.join()
