"""The engine is down, slow, restarted, too old, or somebody else: agents are told which, and how it is mended."""

import socket
from collections.abc import Coroutine, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
from tests.engine_program import EngineProgram
from tests.keys import bearer
from tests.mcp_clients import RawClient
from tests.mcp_server.recording import PretendedEngine
from tests.mcp_server.shared_programs import AGENT_KEY, ENGINE_KEY, Agents, Speech, open_agents, staging_program
from tests.waiting import wait_until

from kb.client import EngineClient, Json
from kb.mcp.caller import Caller
from kb.mcp.calling import ToolCalls
from kb.mcp.file_roots import FileRoots
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.uploads import open_uploads
from kb.mcp.watched_engine import WatchedEngine

CALLS: dict[str, Json] = {
    "kb_search": {"query": "x"},
    "kb_get": {"document_id": 1},
    "kb_addnote": {"text": "x"},
    "kb_update_note": {"document_id": 1, "text": "x"},
    "kb_tag": {"document_id": 1, "add": ["x"]},
    "kb_delete": {"document_id": 1},
    "kb_upload_start": {"filename": "a.txt", "total_size": 1},
    "kb_jobs": {},
    "kb_status": {},
}


def assert_told(refused: Json, code: str, engine_url: str) -> None:
    assert (refused["success"], refused["error"], refused["engine_url"]) == (False, code, engine_url)
    assert engine_url in refused["message"]


def test_engine_unreachable_at_startup(keyed_engine: EngineProgram, tmp_path: Path) -> None:
    """M3: the server starts all the same, its calls tell the URL, and the next one works once the engine is there.

    So it is with a server that loses the engine while it runs.
    """
    url = keyed_engine.url
    with staging_program(tmp_path / "earlier", url) as earlier, open_agents(earlier.url) as agents_of_earlier:
        assert agents_of_earlier["raw"].call("kb_status")["version"] == "3.0.0"
        keyed_engine.stop()

        try:
            with staging_program(tmp_path / "later", url) as later, open_agents(later.url) as agents_of_later:
                agents = [*agents_of_earlier.values(), *agents_of_later.values()]
                for agent in agents:
                    assert_told(agent.fail("kb_search", query="x"), "engine_unreachable", url)
                for tool, arguments in CALLS.items():
                    assert_told(agents_of_later["raw"].fail(tool, **arguments), "engine_unreachable", url)
                keyed_engine.start()

                for agent in agents:
                    assert agent.call("kb_status")["version"] == "3.0.0"
        finally:
            if keyed_engine.process.poll() is not None:
                keyed_engine.start()


@pytest.fixture(scope="module")
def pretended() -> Iterator[PretendedEngine]:
    engine = PretendedEngine()
    with engine.running():
        yield engine


@pytest.fixture(scope="module")
def deceived(pretended: PretendedEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agents]:
    """Agents of an MCP server that finds something else in place of the engine."""
    folder = tmp_path_factory.mktemp("deceived")
    with staging_program(folder, pretended.url) as program, open_agents(program.url) as agents:
        yield agents


@pytest.mark.parametrize("speech", get_args(Speech))
def test_an_engine_that_is_too_old_is_not_called(deceived: Agents, pretended: PretendedEngine, speech: Speech) -> None:
    """M3, E26: the message tells both versions."""
    pretended.answer = httpx.Response(200, headers={"Server": "kb/2.9.0"}, json={})

    refused = deceived[speech].fail("kb_addnote", text="x")

    assert_told(refused, "engine_too_old", pretended.url)
    assert "2.9.0" in refused["message"]
    assert "3.0.0" in refused["message"]


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(200, html="<h1>It works!</h1>"),
        httpx.Response(200, json=["something", "else"]),
        httpx.Response(404, html="<h1>Not found</h1>"),
    ],
    ids=["page", "json", "404"],
)
def test_something_else_in_place_of_the_engine_is_told(
    deceived: Agents, pretended: PretendedEngine, answer: httpx.Response
) -> None:
    """M3."""
    pretended.answer = answer

    refused = deceived["raw"].fail("kb_search", query="x")

    assert_told(refused, "not_an_engine", pretended.url)


@pytest.mark.parametrize("status", [200, 401, 404])
def test_another_program_in_place_of_the_engine_gets_no_key(tmp_path: Path, status: int) -> None:
    """C6: the MCP server calls the address in its settings even when no agent calls."""
    stranger = PretendedEngine()
    stranger.answer = httpx.Response(status, json={"detail": "Who is there?"})
    with stranger.running():
        settings = {"KB_PORT": stranger.url.rpartition(":")[2]}
        with staging_program(tmp_path, "", settings) as program, RawClient(program.url, headers=bearer(AGENT_KEY)) as c:
            refused = c.fail("kb_search", query="x")
            # The server also calls the engine when no agent calls.
            wait_until(lambda: len(stranger.sent) > 2)

    assert_told(refused, "not_an_engine", stranger.url)
    assert [sent for sent in stranger.sent if ENGINE_KEY in str(sent)] == []


@pytest.mark.parametrize("text", ["<h1>Welcome</h1>", "[]", ""])
def test_an_answer_that_is_not_the_engines_json_is_told_as_such(
    deceived: Agents, pretended: PretendedEngine, text: str
) -> None:
    """M3."""
    pretended.answer = httpx.Response(200, headers={"Server": "kb/3.0.0"}, text=text)

    assert_told(deceived["raw"].fail("kb_status"), "not_an_engine", pretended.url)


def test_an_answer_that_makes_no_sense_is_told_without_its_text(deceived: Agents, pretended: PretendedEngine) -> None:
    """M3, M6: as a proxy in between would give it."""
    pretended.answer = httpx.Response(502, headers={"Server": "kb/3.0.0"}, html="<h1>Bad gateway</h1>")

    refused = deceived["raw"].fail("kb_search", query="x")

    assert_told(refused, "engine_error", pretended.url)
    assert "502" in refused["message"]
    assert "<h1>" not in refused["message"]


def test_an_engine_with_another_key_refuses(keyed_engine: EngineProgram, tmp_path: Path) -> None:
    """M3: whoever runs the server is to mend the key; neither key is told."""
    settings = {"KB_API_KEY": "another-key"}
    with (
        staging_program(tmp_path, keyed_engine.url, settings) as program,
        RawClient(program.url, headers=bearer(AGENT_KEY)) as client,
    ):
        refused = client.fail("kb_search", query="x")

    assert_told(refused, "engine_refused", keyed_engine.url)
    assert "KB_API_KEY" in refused["message"]
    for key in (ENGINE_KEY, AGENT_KEY, "another-key"):
        assert key not in repr(refused) + program.log.read_text()


@pytest.mark.anyio
async def test_an_engine_that_hangs_is_given_up(tmp_path: Path) -> None:
    """M3: it takes the connection and never answers."""
    [search] = [tool for tool in KB_TOOLS if tool.name == "kb_search"]
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        async with EngineClient(url, timeout=0.5) as engine, open_uploads(tmp_path, timedelta(minutes=1)) as uploads:
            calls = ToolCalls(WatchedEngine(engine, url), uploads, FileRoots(()), _leave_nothing_for_later)
            result = await calls.call(search, {"query": "x"}, Caller("agent", can_write=True))

    assert result["isError"]
    assert_told(result["structuredContent"], "engine_timeout", url)


def _leave_nothing_for_later(coroutine: Coroutine[Any, Any, None]) -> None:
    raise AssertionError(coroutine)
