"""One call of a tool, from what the agent sent to what the model reads."""

import logging
import time
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import httpx
from pydantic_core import to_json

from kb.client import EngineClient, Json
from kb.mcp.arguments import find_fault
from kb.mcp.errors import EngineTrouble, ToolError, explain_engine_trouble
from kb.mcp.tools import Call, Caller, Effect, Tool
from kb.mcp.uploads import Uploads

log = logging.getLogger(__name__)

# An engine may be replaced by an older one while we run; asking it each time would double its requests.
TRUST_ENGINE_SECONDS = 5.0


class ToolCalls:
    """Calls tools with what they need, and sees to it that no call reaches an engine that is too old for it."""

    def __init__(
        self,
        engine: EngineClient,
        engine_url: str,
        uploads: Uploads,
        later: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._engine = engine
        self._engine_url = engine_url
        self._uploads = uploads
        self._later = later
        self._trust_engine_until = 0.0
        self._looking_at_engine = anyio.Lock()
        self._trouble: Exception | None = None
        self._trouble_at = 0.0
        self._under_way: set[anyio.CancelScope] = set()

    async def call(self, tool: Tool, arguments: Json, caller: Caller) -> Json:
        """The result of `tools/call`. It never raises: whatever goes wrong is an answer that says what to do."""
        refusal = _find_refusal(tool, arguments, caller)
        if refusal is not None:
            return _failure(refusal)
        with anyio.CancelScope() as scope:
            self._under_way.add(scope)
            try:
                return await self._run(tool, _with_whole_numbers(tool, arguments), caller)
            finally:
                self._under_way.discard(scope)
        told = "The MCP server is being stopped. If the call was to change something, look whether it did."
        return _failure(ToolError("server_stopped", told))

    def end(self) -> None:
        """End what is under way, so that the server can stop."""
        for scope in self._under_way:
            scope.cancel()

    async def _run(self, tool: Tool, arguments: Json, caller: Caller) -> Json:
        try:
            await self._require_supported_engine()
            return _result(await tool.run(Call(self._engine, self._uploads, caller.name, self._later), arguments))
        except ToolError as error:
            return _failure(error)
        except EngineTrouble as error:
            if not isinstance(error, httpx.HTTPStatusError):
                self._trust_engine_until = 0.0
            return _failure(explain_engine_trouble(error, self._engine_url))
        except Exception:
            error_id = uuid.uuid4().hex
            log.exception("Call %s of %s failed.", error_id, tool.name)
            told = "Something went wrong inside the MCP server; its log tells more under this error_id."
            return _failure(ToolError("internal_error", told, error_id=error_id))

    async def _require_supported_engine(self) -> None:
        if time.monotonic() < self._trust_engine_until:
            return
        # A thousand calls at once need one look, and if it fails it has failed for all that waited for it.
        came_at = time.monotonic()
        async with self._looking_at_engine:
            if self._trouble is not None and self._trouble_at > came_at:
                raise self._trouble
            if time.monotonic() >= self._trust_engine_until:
                await self._look_at_engine()

    async def _look_at_engine(self) -> None:
        try:
            await self._engine.require_supported_engine()
        except EngineTrouble as error:
            self._trouble, self._trouble_at = error, time.monotonic()
            raise
        self._trust_engine_until = time.monotonic() + TRUST_ENGINE_SECONDS


def _find_refusal(tool: Tool, arguments: Json, caller: Caller) -> ToolError | None:
    if not caller.can_write and tool.effect is not Effect.READS:
        return ToolError("forbidden", f"This key can only read, and {tool.name} changes the knowledge base.")
    return find_fault(tool, arguments)


def _with_whole_numbers(tool: Tool, arguments: Json) -> Json:
    """JSON Schema counts 42.0 as an integer, and some clients send nothing else."""
    return {
        name: int(value) if isinstance(value, float) and tool.parameters[name].get("type") == "integer" else value
        for name, value in arguments.items()
    }


def _failure(error: ToolError) -> Json:
    return {**_result(error.as_answer()), "isError": True}


def _result(answer: Json) -> Json:
    text = to_json(answer).decode()
    return {"content": [{"type": "text", "text": text}], "structuredContent": answer, "isError": False}
