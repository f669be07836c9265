"""One call of a tool, from what the agent sent to what the model reads."""

import logging
import time
import uuid

from pydantic_core import to_json

from kb.client import EngineClient, Json
from kb.mcp.errors import EngineTrouble, ToolError, explain_engine_trouble, find_fault
from kb.mcp.tools import Call, Effect, Tool

log = logging.getLogger(__name__)

# An engine may be replaced by an older one while we run; asking it each time would double its requests.
TRUST_ENGINE_SECONDS = 5.0


class SupportedEngine:
    """Sees to it that no call reaches an engine that is too old for it."""

    def __init__(self, engine: EngineClient) -> None:
        self._engine = engine
        self._trusted_until = 0.0

    async def require(self) -> None:
        """Raise what `EngineClient.require_supported_engine` raises."""
        if time.monotonic() < self._trusted_until:
            return
        await self._engine.require_supported_engine()
        self._trusted_until = time.monotonic() + TRUST_ENGINE_SECONDS

    def forget(self) -> None:
        self._trusted_until = 0.0


async def call_tool(
    tool: Tool, arguments: Json, call: Call, supported: SupportedEngine, *, engine_url: str, can_write: bool
) -> Json:
    """The result of `tools/call`. It never raises: whatever goes wrong is an answer that says what to do."""
    try:
        refusal = _find_refusal(tool, arguments, can_write=can_write)
        if refusal is not None:
            return _failure(refusal)
        await supported.require()
        return _result(await tool.run(call, _with_whole_numbers(tool, arguments)))
    except ToolError as error:
        return _failure(error)
    except EngineTrouble as error:
        supported.forget()
        return _failure(explain_engine_trouble(error, engine_url))
    except UnicodeEncodeError:
        return _failure(ToolError("invalid_parameter", "A parameter holds half a surrogate pair, which is no text."))
    except Exception:
        error_id = uuid.uuid4().hex
        log.exception("Call %s of %s failed.", error_id, tool.name)
        return _failure(
            ToolError(
                "internal_error",
                "Something went wrong inside the MCP server; its log tells more under this error_id.",
                error_id=error_id,
            )
        )


def _find_refusal(tool: Tool, arguments: Json, *, can_write: bool) -> ToolError | None:
    if not can_write and tool.effect is not Effect.READS:
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
