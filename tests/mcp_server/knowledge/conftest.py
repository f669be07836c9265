import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest
from tests.engine_program import EngineProgram
from tests.mcp_server.fixtures_processes import (
    AGENT_KEY,
    Agent,
    Agents,
    Speech,
    bearer,
    open_agents,
    staging_program,
)
from tests.mcp_server.knowledge.asking import Knowledge
from tests.mcp_server.knowledge.contract import CONFIRMATION
from tests.mcp_server.programs import McpProgram

READING_KEY = "the-key-of-readers"
Write = Callable[[str, str | bytes], Path]


@pytest.fixture(scope="session")
def knowledge_program(
    keyed_engine: EngineProgram, files: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[McpProgram]:
    """`kb mcp` with the toolset knowledge alone, before an engine that other tests use too."""
    settings = {
        "KB_MCP_TOOLSETS": "knowledge",
        "KB_MCP_FILE_ROOTS": str(files),
        "KB_MCP_API_KEY_READONLY": READING_KEY,
    }
    with staging_program(tmp_path_factory.mktemp("mcp-knowledge"), keyed_engine.url, settings) as program:
        yield program
    assert "Traceback" not in program.log.read_text()


@pytest.fixture(scope="session")
def knowledge(knowledge_program: McpProgram) -> Iterator[Knowledge]:
    with Knowledge(knowledge_program.url, headers=bearer(AGENT_KEY)) as client:
        yield client


@pytest.fixture(scope="session")
def knowledge_agents(knowledge_program: McpProgram) -> Iterator[Agents]:
    with open_agents(knowledge_program.url) as agents:
        yield agents


@pytest.fixture(params=get_args(Speech))
def knowledge_agent(request: pytest.FixtureRequest, knowledge_agents: Agents) -> Agent:
    return knowledge_agents[request.param]


@pytest.fixture
def own(own_engine: EngineProgram) -> Iterator[Knowledge]:
    """A client of the engine whose base no other test needs; there is nothing in it."""
    with Knowledge(own_engine.mcp_url) as client:
        assert client.ask("knowledge-clear", CONFIRMATION)["success"]
        yield client


@pytest.fixture(scope="session")
def write(files: Path) -> Write:
    """Writes a file where agents may have it read, each into a folder of its own: `write("a.txt", "Words.")`."""
    numbers = itertools.count()

    def write(name: str, content: str | bytes) -> Path:
        folder = files / str(next(numbers))
        folder.mkdir()
        path = folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
