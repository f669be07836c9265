"""One call of a tool, from what the agent sent to what the model reads."""

import logging
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
from pydantic_core import to_json

from kb.client import Json
from kb.mcp.arguments import find_fault
from kb.mcp.caller import Caller
from kb.mcp.errors import ToolError
from kb.mcp.file_roots import FileRoots
from kb.mcp.tools import Call, Effect, ReportProgress, Tool
from kb.mcp.uploads import Uploads
from kb.mcp.watched_engine import WatchedEngine

log = logging.getLogger(__name__)


class ToolCalls:
    """Calls tools with what they need, and takes back what a call has begun if its caller cancels it."""

    def __init__(
        self,
        engine: WatchedEngine,
        uploads: Uploads,
        files: FileRoots,
        later: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._engine = engine
        self._uploads = uploads
        self._files = files
        self._later = later
        self._under_way: set[anyio.CancelScope] = set()
        self._is_stopping = False

    async def call(
        self, tool: Tool, arguments: Json, caller: Caller, report_progress: ReportProgress | None = None
    ) -> Json:
        """The result of `tools/call`. It never raises: whatever goes wrong is an answer that says what to do."""
        refusal = _find_refusal(tool, arguments, caller)
        if refusal is not None:
            return _failure(refusal)
        call = Call(self._engine.client, self._uploads, self._files, caller.name, self._later, report_progress)
        with anyio.CancelScope() as scope:
            self._under_way.add(scope)
            try:
                return await self._run(tool, call, _with_whole_numbers(tool, arguments))
            except anyio.get_cancelled_exc_class():
                # Whoever stops the server does not take back what was asked of it.
                if not self._is_stopping:
                    for undo in call.undoings:
                        self._later(undo())
                raise
            finally:
                self._under_way.discard(scope)
        told = "The MCP server is being stopped. If the call was to change something, look whether it did."
        return _failure(ToolError("server_stopped", told))

    def stop(self) -> None:
        """From now on a call that ends early was not cancelled by its caller."""
        self._is_stopping = True

    def end(self) -> None:
        """End what is under way, so that the server can stop."""
        for scope in self._under_way:
            scope.cancel()

    async def _run(self, tool: Tool, call: Call, arguments: Json) -> Json:
        try:
            async with self._engine.asked():
                return _result(await tool.run(call, arguments))
        except ToolError as error:
            return _failure(error)
        except Exception:
            error_id = uuid.uuid4().hex
            log.exception("Call %s of %s failed.", error_id, tool.name)
            told = "Something went wrong inside the MCP server; its log tells more under this error_id."
            return _failure(ToolError("internal_error", told, error_id=error_id))


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
