"""The MCP server as users run it, `kb mcp` in a process of its own, and the two plainest ways to speak with it."""

import itertools
import re
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Self

import httpx
import httpx2
import mcp
from jsonschema import validate
from mcp.client.streamable_http import streamable_http_client
from tests.engine_program import STOP_WITHIN_SECONDS, kb_command, own_environment

Json = dict[str, Any]
Era = Literal["legacy", "auto"]
"""How the SDK's client begins: with the handshake of 2025, or without one as from 2026-07-28 on."""
ERAS: tuple[Era, ...] = ("legacy", "auto")
READING_TOOLS = frozenset(
    {"kb_search", "kb_get", "kb_jobs", "kb_status"}
    | {f"knowledge-{name}" for name in ("search", "show", "status", "task-status")}
)
"""What is left to an agent, or a server, that may only read."""


class McpProgram:
    """Keeps its port over restarts. Its log is in the file `log`."""

    process: subprocess.Popen[str]
    url: str

    def __init__(self, folder: Path, engine_url: str, settings: Mapping[str, str] = {}) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.log = folder / "mcp.log"
        self._environment = {**own_environment(folder, settings), "KB_ENGINE_URL": engine_url}
        self._port = "0"

    def start(self) -> None:
        with self.log.open("w") as log:
            command = kb_command("mcp", "--port", self._port)
            self.process = subprocess.Popen(command, env=self._environment, stderr=log, text=True)
        self.url = self._read_url()
        self._port = self.url.rpartition(":")[2]

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(STOP_WITHIN_SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(STOP_WITHIN_SECONDS)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.process.poll() is None:
            self.stop()

    def _read_url(self) -> str:
        # Its first line; from then on clients are let in.
        with self.log.open() as log:
            while self.process.poll() is None:
                if found := re.search(r"on (http://\S+)/mcp,", log.readline()):
                    return found[1]
        raise AssertionError(f"The MCP server did not start:\n{self.log.read_text()}")


class RawClient:
    """Nothing but JSON-RPC by POST, as in an example with curl: no handshake, no session."""

    def __init__(self, url: str, *, path: str = "/mcp", headers: Mapping[str, str] = {}) -> None:
        self.http = httpx.Client(base_url=url, headers=headers, trust_env=False, timeout=60)
        self.path = path
        self._ids = itertools.count(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.http.close()

    def post(self, method: str, params: Json | None = None, headers: Mapping[str, str] = {}) -> httpx.Response:
        body = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params or {}}
        return self.http.post(self.path, json=body, headers=headers)

    def request(self, method: str, params: Json | None = None) -> Json:
        """The whole JSON-RPC answer."""
        answer: Json = self.post(method, params).json()
        return answer

    def call(self, tool: str, **arguments: Any) -> Json:
        """What a tool answers if it succeeds."""
        result = self.call_for_result(tool, **arguments)
        assert not result["isError"], result["structuredContent"]
        answer: Json = result["structuredContent"]
        return answer

    def fail(self, tool: str, **arguments: Any) -> Json:
        """What a tool answers if it fails."""
        result = self.call_for_result(tool, **arguments)
        assert result["isError"], result["structuredContent"]
        answer: Json = result["structuredContent"]
        # Some clients show the model nothing of an answer that does not fit its tool's schema, not even of an error.
        validate(answer, self._output_schemas[tool])
        return answer

    @cached_property
    def _output_schemas(self) -> dict[str, Json]:
        return {tool["name"]: tool["outputSchema"] for tool in self.request("tools/list")["result"]["tools"]}

    def call_for_result(self, tool: str, **arguments: Any) -> Json:
        result: Json = self.request("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result


@asynccontextmanager
async def sdk_client(url: str, era: Era, *, path: str = "/mcp", key: str | None = None) -> AsyncIterator[mcp.Client]:
    """The official client."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
        transport = streamable_http_client(f"{url}{path}", http_client=http)
        async with mcp.Client(transport, mode=era) as client:
            yield client
