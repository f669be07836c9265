import itertools
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import get_args

import pytest
from tests.engine_program import EngineProgram
from tests.keys import bearer
from tests.mcp_clients import Agent
from tests.mcp_program import McpProgram
from tests.mcp_server.knowledge.asking import Knowledge
from tests.mcp_server.knowledge.cancelled import Base
from tests.mcp_server.knowledge.contract import CONFIRMATION
from tests.mcp_server.shared_programs import AGENT_KEY, Agents, Speech, open_agents, staging_program
from tests.scanned_pages import write_scan

from kb.client import EngineClient

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


@pytest.fixture
async def base(own_engine: EngineProgram, files: Path) -> AsyncIterator[Base]:
    async with EngineClient(own_engine.url) as client:
        yield Base(own_engine, client, files)


@pytest.fixture(scope="session")
def scan(files: Path) -> str:
    """Its 30 pages take many seconds to read."""
    pages = [[f"Line {line} of page {page} tells of a godwit." for line in range(5)] for page in range(30)]
    return str(write_scan(files / "godwits.pdf", pages))


@pytest.fixture
def short_scan(files: Path) -> str:
    """A file that the base does not have yet. It takes long enough to be seen while it is read."""
    word = uuid.uuid4().hex[:8]
    pages = [[f"Line {line} of page {page} tells of {word}." for line in range(10)] for page in range(4)]
    return str(write_scan(files / f"{word}.pdf", pages))
