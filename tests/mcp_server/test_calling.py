import json
from collections.abc import Coroutine
from typing import Any

import pytest
from tests.engine_program import EngineProgram

from kb.access import Access
from kb.client import Json
from kb.mcp.app import McpOptions, open_app
from kb.mcp.caller import Caller
from kb.mcp.tools import Call, Effect, Tool

pytestmark = pytest.mark.anyio
WRITER = Caller("writer", can_write=True)
OPEN_TO_ALL = Access((), (), ("localhost",), ())


def options(engine_url: str) -> McpOptions:
    return McpOptions(engine_url, "", ("kb",), ("documents",), 600, (), OPEN_TO_ALL)


def tool_that(run: Any) -> Tool:
    return Tool("kb_test", "Test", "Does what a test needs.", Effect.READS, run)


async def test_an_unexpected_exception_is_an_answer_that_tells_nothing_but_its_number(
    running_engine: EngineProgram, caplog: pytest.LogCaptureFixture
) -> None:
    """M6."""

    async def fail(call: Call, arguments: Json) -> Json:
        raise RuntimeError("/secret/path")

    async with open_app(options(running_engine.url)) as app:
        result = await app.calls.call(tool_that(fail), {}, WRITER)

    assert result["isError"]
    assert result["structuredContent"]["error"] == "internal_error"
    assert "secret" not in json.dumps(result)
    assert result["structuredContent"]["error_id"] in caplog.text


async def test_work_left_for_later_that_fails_is_logged_and_the_server_goes_on(
    running_engine: EngineProgram, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail_later() -> None:
        raise ValueError("what the engine said was no JSON")

    async def leave_for_later(call: Call, arguments: Json) -> Json:
        later: Coroutine[Any, Any, None] = fail_later()
        call.later(later)
        return {}

    async with open_app(options(running_engine.url)) as app:
        await app.calls.call(tool_that(leave_for_later), {}, WRITER)
        result = await app.calls.call(tool_that(tell_status), {}, WRITER)

    assert result["structuredContent"]["version"] == "3.0.0"
    assert "What was left for later failed." in caplog.text


async def tell_status(call: Call, arguments: Json) -> Json:
    return await call.engine.get_status()
