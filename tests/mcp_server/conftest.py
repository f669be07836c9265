import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.engine_program import EngineProgram
from tests.mcp_server.shared_programs import agent as agent
from tests.mcp_server.shared_programs import agents as agents
from tests.mcp_server.shared_programs import agents_with_collections as agents_with_collections
from tests.mcp_server.shared_programs import collections_agent as collections_agent
from tests.mcp_server.shared_programs import collections_program as collections_program
from tests.mcp_server.shared_programs import collections_proxy as collections_proxy
from tests.mcp_server.shared_programs import engine_http as engine_http
from tests.mcp_server.shared_programs import files as files
from tests.mcp_server.shared_programs import kb_program as kb_program
from tests.mcp_server.shared_programs import keyed_engine as keyed_engine
from tests.mcp_server.shared_programs import own_engine as own_engine
from tests.mcp_server.shared_programs import program_alone as program_alone
from tests.mcp_server.shared_programs import proxy as proxy
from tests.mcp_server.shared_programs import running_collections_proxy as running_collections_proxy
from tests.mcp_server.shared_programs import running_proxy as running_proxy
from tests.mcp_server.staging import encoded

from kb.client import EngineClient, Json
from kb.mcp.file_roots import FileRoots
from kb.mcp.tools import Call, Tool
from kb.mcp.toolsets.collections import collection_tools
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.uploads import open_uploads

Use = Callable[..., Awaitable[Json]]

COLLECTIONS = ("documents", "memory", "workspace")
MISTYPED: list[tuple[str, Json]] = [
    ("kb_search", {"query": "x", "collection": "memeory"}),
    ("kb_addnote", {"text": "x", "collection": "memeory"}),
    ("kb_addnote", {"text": "x", "tags": ["collection:memeory"]}),
    ("kb_upload_start", {"filename": "a.txt", "total_size": 1, "collection": "memeory"}),
    ("kb_tag", {"document_id": 1, "add": ["collection:memeory"]}),
    ("kb_set_collection", {"document_id": 1, "collection": "memeory"}),
]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
async def engine(running_engine: EngineProgram) -> AsyncIterator[EngineClient]:
    async with EngineClient(running_engine.url) as client:
        yield client


@pytest.fixture
async def call(engine: EngineClient, tmp_path: Path) -> AsyncIterator[Call]:
    """What tools have at hand. What they leave for later is done before the engine's connections close."""
    async with open_uploads(tmp_path / "uploads", timedelta(minutes=10)) as uploads, asyncio.TaskGroup() as tasks:

        def do_later(work: Coroutine[Any, Any, None]) -> None:
            tasks.create_task(work)

        yield Call(engine, uploads, FileRoots((tmp_path,)), "agent", do_later)


@pytest.fixture
def kb(call: Call) -> Use:
    """Uses a tool of the toolset `kb`: `await kb("kb_get", document_id=7)`."""
    return _user_of(KB_TOOLS, call)


@pytest.fixture
def collections(call: Call) -> Use:
    """Uses a tool of the toolset `kb-collections`."""
    return _user_of(collection_tools(COLLECTIONS), call)


def _user_of(tools: Sequence[Tool], call: Call) -> Use:
    by_name = {tool.name: tool for tool in tools}

    async def use(name: str, **arguments: object) -> Json:
        tool = by_name[name]
        tool.validator.validate(arguments)
        answer = await tool.run(call, arguments)
        Draft202012Validator(tool.output_schema).validate(answer)
        return answer

    return use


def unique(prefix: str = "tag") -> str:
    return f"{prefix}-{uuid.uuid4().hex}"


async def add_note(use: Use, text: str, **fields: object) -> Json:
    """The document that the note has become, as its toolset shows it."""
    document: Json = (await use("kb_addnote", text=text, wait=True, **fields))["document"]
    return document


async def upload(use: Use, content: bytes, *, filename: str = "a.txt", **fields: object) -> Json:
    started = await use("kb_upload_start", filename=filename, total_size=len(content), **fields)
    upload_id = started["upload_id"]
    await use("kb_upload_chunk", upload_id=upload_id, chunk_index=0, data=encoded(content))
    return await use("kb_upload_finish", upload_id=upload_id)
