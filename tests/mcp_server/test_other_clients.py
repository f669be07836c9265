"""Clients that others have written: the TypeScript SDK's, line 1, and the command line of the Inspector."""

import json
import os
import subprocess
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest
from tests.engine_program import COMMAND_WITHIN_SECONDS, EngineProgram
from tests.mcp_program import McpProgram
from tests.mcp_server.shared_programs import AGENT_KEY
from tests.mcp_server.typescript_client import TypeScriptClient
from tests.node_tools import INSPECTOR, node_command

NO_DOCUMENT = 999_999_999

Inspect: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(params=["http", "ws"])
def typescript(request: pytest.FixtureRequest, running_engine: EngineProgram) -> Iterator[TypeScriptClient]:
    """A client that is connected and has seen the tools, whose schemas it holds every answer against."""
    address = running_engine.mcp_url.replace("http", request.param, 1) + "/mcp"
    with TypeScriptClient(address) as client:
        client.answer("connect")
        client.answer("listTools")
        yield client


def test_the_typescript_client_adds_a_note_and_finds_it(typescript: TypeScriptClient) -> None:
    """M1, M7, M8"""
    word = uuid.uuid4().hex

    added = typescript.call("kb_addnote", text=f"The quokka is called {word}.", tags=["animals"], wait=True)
    found = typescript.call("kb_search", query=word)

    document_id = added["structuredContent"]["document"]["id"]
    assert [hit["document_id"] for hit in found["structuredContent"]["results"]][:1] == [document_id]
    assert json.loads(found["content"][0]["text"]) == found["structuredContent"]


def test_the_typescript_client_is_given_a_tools_error_to_read(typescript: TypeScriptClient) -> None:
    """M6: it holds errors against the schema of answers too, and would throw away one that does not fit."""
    result = typescript.call("kb_get", document_id=NO_DOCUMENT)

    assert result["isError"]
    assert result["structuredContent"]["success"] is False
    assert result["structuredContent"]["error"] == "document_not_found"


def test_the_typescript_client_is_told_of_what_kind_an_error_of_the_protocol_is(typescript: TypeScriptClient) -> None:
    """M6"""
    thrown = typescript.thrown("callTool", {"name": "kb_fly", "arguments": {}})

    assert thrown["code"] == -32602
    assert thrown["data"]["error_type"] == "unknown_tool"


def test_the_typescript_client_may_ask_for_progress(typescript: TypeScriptClient) -> None:
    """M4: over HTTP its answer then comes as events."""
    outcome = typescript.answer("callToolForProgress", {"name": "kb_status", "arguments": {}})

    assert not outcome["result"]["isError"]


def test_the_typescript_client_comes_in_only_with_the_key(kb_program: McpProgram) -> None:
    """M2"""
    address = f"{kb_program.url}/mcp"

    with TypeScriptClient(address, AGENT_KEY) as client, TypeScriptClient(address, "another") as stranger:
        client.answer("connect")
        assert not client.call("kb_status")["isError"]
        assert "KB_MCP_API_KEY" in stranger.thrown("connect")["message"]


def test_the_typescript_client_goes_on_after_a_restart_with_the_session_it_had(
    running_engine: EngineProgram, tmp_path: Path
) -> None:
    """M4"""
    with McpProgram(tmp_path, running_engine.url) as program, TypeScriptClient(f"{program.url}/mcp") as client:
        client.answer("connect")
        session = client.answer("sessionId")

        program.stop()
        program.start()

        assert not client.call("kb_status")["isError"]
        assert client.answer("sessionId") == session


@pytest.fixture
def inspect(running_engine: EngineProgram, tmp_path: Path) -> Inspect:
    """Runs the Inspector with the options of one method."""

    def run(*options: str) -> subprocess.CompletedProcess[str]:
        address = f"{running_engine.mcp_url}/mcp"
        return subprocess.run(
            node_command(INSPECTOR, "--cli", address, "--transport", "http", "--method", *options),
            capture_output=True,
            text=True,
            check=False,
            timeout=COMMAND_WITHIN_SECONDS,
            env={**os.environ, "HOME": str(tmp_path)},
        )

    return run


def test_the_inspector_lists_the_tools(inspect: Inspect) -> None:
    """M1, M5"""
    listed = inspect("tools/list")

    assert listed.returncode == 0, listed.stderr
    assert {"kb_search", "kb_get", "kb_addnote"} <= {tool["name"] for tool in json.loads(listed.stdout)["tools"]}
    assert "0 errors" in listed.stderr


def test_the_inspector_calls_a_tool(inspect: Inspect) -> None:
    """M1, M7"""
    found = inspect("tools/call", "--tool-name", "kb_search", "--tool-arg", "query=otter", "--tool-arg", "top=3")

    assert found.returncode == 0, found.stderr
    assert "results" in json.loads(found.stdout)["structuredContent"]


def test_the_inspector_shows_a_tools_error(inspect: Inspect) -> None:
    """M6"""
    failed = inspect("tools/call", "--tool-name", "kb_get", "--tool-arg", f"document_id={NO_DOCUMENT}")

    assert failed.returncode != 0
    assert json.loads(failed.stdout)["structuredContent"]["error"] == "document_not_found"
    assert "tool_is_error" in failed.stderr
