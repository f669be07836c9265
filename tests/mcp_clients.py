"""Agents, and the two plainest ways to speak with the MCP server."""

import itertools
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cached_property
from typing import Any, Literal, Self

import httpx
import httpx2
import mcp
from jsonschema import validate
from mcp.client.streamable_http import streamable_http_client
from tests.keys import bearer

from kb.client import Json

Era = Literal["legacy", "auto"]
"""How the SDK's client begins: with the handshake of 2025, or without one as from 2026-07-28 on."""
ERAS: tuple[Era, ...] = ("legacy", "auto")
READING_TOOLS = frozenset(
    {"kb_search", "kb_get", "kb_jobs", "kb_status"}
    | {f"knowledge-{name}" for name in ("search", "show", "status", "task-status")}
)
"""What is left to an agent, or a server, that may only read."""


class Agent(ABC):
    """Calls tools; how it speaks is its own affair."""

    @abstractmethod
    def call_for_result(self, tool: str, **arguments: Any) -> Json:
        """All that comes back, whether the tool succeeds or fails."""

    @abstractmethod
    def list_tools(self) -> list[Json]: ...

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
        validate(answer, self.output_schemas[tool])
        return answer

    @cached_property
    def output_schemas(self) -> dict[str, Json]:
        return {tool["name"]: tool["outputSchema"] for tool in self.list_tools()}


class RawClient(Agent):
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

    def call_for_result(self, tool: str, **arguments: Any) -> Json:
        result: Json = self.request("tools/call", {"name": tool, "arguments": arguments})["result"]
        return result

    def list_tools(self) -> list[Json]:
        tools: list[Json] = self.request("tools/list")["result"]["tools"]
        return tools


@asynccontextmanager
async def sdk_client(url: str, era: Era, *, path: str = "/mcp", key: str | None = None) -> AsyncIterator[mcp.Client]:
    """The official client."""
    headers = bearer(key) if key else {}
    async with httpx2.AsyncClient(headers=headers, trust_env=False, timeout=60) as http:
        transport = streamable_http_client(f"{url}{path}", http_client=http)
        async with mcp.Client(transport, mode=era) as client:
            yield client
