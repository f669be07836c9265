"""Processes that the tests of the MCP server share, and agents that call it in each way there is.

There are two MCP servers, one with the toolsets that are on by default and one with kb-collections, that demand a key
of agents. Each knows nothing but a proxy, which records what it asks of the engine; and the engine demands a key of its
own. Besides there is a whole `kb up` without keys, whose base is nobody's, and an MCP server without an engine.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args

import httpx
import mcp
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from pydantic import BaseModel
from tests.engine_program import EngineProgram
from tests.keys import bearer
from tests.mcp_clients import Agent, RawClient, sdk_client
from tests.mcp_program import McpProgram
from tests.mcp_server.recording import RecordingProxy
from tests.mcp_server.staging import staged_files
from tests.waiting import wait_for_document

from kb.client import Json
from kb.mcp.upload_folder import default_parent

ENGINE_KEY = "the-key-of-the-engine"
AGENT_KEY = "the-key-of-the-agents"

Speech = Literal["raw", "legacy", "auto"]
"""Plain JSON-RPC, or the official client in one of its eras."""


class SdkAgent(Agent):
    """By the official client, which has a thread of its own."""

    def __init__(self, portal: BlockingPortal, client: mcp.Client) -> None:
        self._portal = portal
        self._client = client

    def call_for_result(self, tool: str, **arguments: Any) -> Json:
        return _wire(self._portal.call(self._client.call_tool, tool, arguments))

    def list_tools(self) -> list[Json]:
        return [_wire(tool) for tool in self._portal.call(self._client.list_tools).tools]


def _wire(model: BaseModel) -> Json:
    return model.model_dump(mode="json", by_alias=True)


Agents = dict[Speech, Agent]


@contextmanager
def open_agents(url: str) -> Iterator[Agents]:
    """One agent of each kind, with the right key. The official clients keep their connection all the while."""
    with (
        RawClient(url, headers=bearer(AGENT_KEY)) as raw,
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(sdk_client(url, "legacy", key=AGENT_KEY)) as legacy,
        portal.wrap_async_context_manager(sdk_client(url, "auto", key=AGENT_KEY)) as auto,
    ):
        yield {"raw": raw, "legacy": SdkAgent(portal, legacy), "auto": SdkAgent(portal, auto)}


def staging_program(folder: Path, engine_url: str, settings: Mapping[str, str] = {}) -> McpProgram:
    """`kb mcp` with both keys, which stages uploads in its own folder."""
    keys = {"KB_API_KEY": ENGINE_KEY, "KB_MCP_API_KEY": AGENT_KEY}
    return McpProgram(folder, engine_url, {**keys, "TMPDIR": str(folder), **settings})


def staged_by(program: McpProgram) -> list[Path]:
    """The chunks on disk, whatever upload they belong to."""
    return staged_files(program.log.parent / default_parent().name)


@contextmanager
def open_adding_program(folder: Path, engine_url: str) -> Iterator[McpProgram]:
    """`kb mcp` that may read what lies in that folder, for an engine that demands no key."""
    with McpProgram(folder / "mcp", engine_url, {"KB_MCP_FILE_ROOTS": str(folder)}) as program:
        yield program
    assert "Traceback" not in program.log.read_text()


@pytest.fixture(scope="session")
def keyed_engine(model_folder: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """`kb up` that demands a key of the engine's clients, and none of agents; whoever stops it starts it again."""
    with EngineProgram(tmp_path_factory.mktemp("keyed-engine"), {"KB_API_KEY": ENGINE_KEY}).running() as program:
        yield program


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder whose files agents may have read."""
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="session")
def own_engine(model_folder: object, files: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineProgram]:
    """`kb up` without keys, whose base no other test needs: it may be cleared at any time. Its files are small."""
    settings = {"KB_MCP_FILE_ROOTS": str(files), "KB_MAX_FILE_MB": "1"}
    with EngineProgram(tmp_path_factory.mktemp("own-engine"), settings).running() as program:
        yield program
    assert "Traceback" not in program.log.read_text()


@pytest.fixture(scope="session")
def program_alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpProgram]:
    """`kb mcp` without an engine: there is nothing at port 9."""
    with McpProgram(tmp_path_factory.mktemp("alone"), "http://127.0.0.1:9") as program:
        yield program
    assert "Traceback" not in program.log.read_text()


@pytest.fixture(scope="session")
def engine_http(keyed_engine: EngineProgram) -> Iterator[httpx.Client]:
    """Straight to the engine, past the MCP server and the proxy."""
    url = f"{keyed_engine.url}/api/v1"
    with httpx.Client(base_url=url, headers=bearer(ENGINE_KEY), trust_env=False, timeout=60) as http:
        yield http


@pytest.fixture(scope="session")
def running_proxy(keyed_engine: EngineProgram) -> Iterator[RecordingProxy]:
    with RecordingProxy(keyed_engine.url).running() as proxy:
        yield proxy


@pytest.fixture
def proxy(running_proxy: RecordingProxy) -> RecordingProxy:
    """With what the server of the toolset kb sends from now on."""
    running_proxy.sent.clear()
    return running_proxy


@pytest.fixture(scope="session")
def running_collections_proxy(keyed_engine: EngineProgram) -> Iterator[RecordingProxy]:
    with RecordingProxy(keyed_engine.url).running() as proxy:
        yield proxy


@pytest.fixture
def collections_proxy(running_collections_proxy: RecordingProxy) -> RecordingProxy:
    """With what the server of the toolset kb-collections sends from now on."""
    running_collections_proxy.sent.clear()
    return running_collections_proxy


@pytest.fixture(scope="session")
def kb_program(running_proxy: RecordingProxy, tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpProgram]:
    """`kb mcp` with the toolsets that are on by default."""
    with staging_program(tmp_path_factory.mktemp("mcp-kb"), running_proxy.url) as program:
        yield program
    assert "Traceback" not in program.log.read_text()


@pytest.fixture(scope="session")
def collections_program(
    running_collections_proxy: RecordingProxy, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[McpProgram]:
    """`kb mcp` with the toolset kb-collections."""
    settings = {"KB_MCP_TOOLSETS": "kb-collections"}
    with staging_program(
        tmp_path_factory.mktemp("mcp-collections"), running_collections_proxy.url, settings
    ) as program:
        yield program
    assert "Traceback" not in program.log.read_text()


@pytest.fixture(scope="session")
def agents(kb_program: McpProgram) -> Iterator[Agents]:
    with open_agents(kb_program.url) as agents:
        yield agents


@pytest.fixture(params=get_args(Speech))
def agent(request: pytest.FixtureRequest, agents: Agents) -> Agent:
    return agents[request.param]


@pytest.fixture(scope="session")
def agents_with_collections(collections_program: McpProgram) -> Iterator[Agents]:
    with open_agents(collections_program.url) as agents:
        yield agents


@pytest.fixture(params=get_args(Speech))
def collections_agent(request: pytest.FixtureRequest, agents_with_collections: Agents) -> Agent:
    return agents_with_collections[request.param]


def completed_document(engine_http: httpx.Client, job_id: int) -> Json:
    """The document that a job has become, as the engine shows it."""
    return get_document(engine_http, wait_for_document(engine_http, job_id))


def get_document(engine_http: httpx.Client, document_id: int) -> Json:
    document: Json = engine_http.get(f"/documents/{document_id}").raise_for_status().json()
    return document


def add_note(engine_http: httpx.Client, text: str, *tags: str, source_path: str | None = None) -> Json:
    """A note that an agent has nothing to do with."""
    note = {"type": "note", "text": text, "tags": tags, "source_path": source_path}
    return completed_document(engine_http, engine_http.post("/jobs", json=note).raise_for_status().json()["id"])


def add_file(engine_http: httpx.Client, name: str, content: bytes, *tags: str) -> Json:
    job = engine_http.post("/jobs", files={"file": (name, content)}, data={"tags": tags}).raise_for_status().json()
    return completed_document(engine_http, job["id"])
