"""The list of tools follows what the engine's key allows, and whoever listens is told when it changes."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

import anyio
import httpx
import pytest
from anyio.to_thread import run_sync
from tests.engine_program import EngineAlone
from tests.mcp_clients import READING_TOOLS, RawClient, sdk_client
from tests.mcp_server.recording import PretendedEngine, RecordingProxy
from tests.waiting import until, wait_until
from websockets.asyncio.client import connect

from kb.access import Access
from kb.client import EngineClient, Json
from kb.listening import listen, url_of
from kb.mcp.app import McpOptions
from kb.mcp.errors import ToolError
from kb.mcp.mcp_process import start_mcp
from kb.mcp.toolsets.kb import KB_TOOLS
from kb.mcp.toolsets.knowledge.tools import KNOWLEDGE_TOOLS
from kb.mcp.watched_engine import WatchedEngine
from kb.settings import LOOPBACK_NAMES

CHANGED = "notifications/tools/list_changed"
SERVERS_KEY, OTHER_KEY = "the-key-of-the-mcp-server", "the-key-of-somebody-else"
EVERYTHING = {tool.name for tool in (*KB_TOOLS, *KNOWLEDGE_TOOLS)}
WITHIN_SECONDS = 30
SOON, NEVER = 0.05, 3600.0

Hear = Callable[[], Awaitable[None]]
"""Waits until the server announces that its list has changed."""


class Keyring:
    """An engine that is restarted when the two keys it knows are exchanged."""

    def __init__(self, folder: Path) -> None:
        self._files = {"write": folder / "full.key", "read": folder / "reading.key"}
        settings = {"KB_API_KEY_FILE": self._files["write"], "KB_API_KEY_READONLY_FILE": self._files["read"]}
        self.program = EngineAlone(folder, {name: str(file) for name, file in settings.items()})
        self._access = ""

    def let_server(self, access: str) -> None:
        """From now on the engine lets the MCP server, whose key stays the same, do no more than that."""
        if access == self._access:
            return
        for kind, file in self._files.items():
            file.write_text(SERVERS_KEY if kind == access else OTHER_KEY)
        if self._access:
            self.program.stop()
        self.program.start()
        self._access = access


@pytest.fixture(scope="module")
def engine(model_folder: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keyring]:
    keyring = Keyring(tmp_path_factory.mktemp("keyring"))
    keyring.let_server("write")
    yield keyring
    keyring.program.stop()


@pytest.fixture(scope="module")
def url(engine: Keyring) -> Iterator[str]:
    """Of an MCP server that looks at the engine more often than people would want."""
    access = Access((), (), LOOPBACK_NAMES, LOOPBACK_NAMES)
    toolsets = ("kb", "knowledge")
    with listen("127.0.0.1", 0, "KB_MCP_PORT") as listener:
        options = McpOptions(
            engine.program.url, SERVERS_KEY, toolsets, ("documents",), 600, (), access, look_every_seconds=SOON
        )
        child = start_mcp(options, listener)
        yield url_of(listener)
        child.stop()


@pytest.fixture
def client(url: str) -> Iterator[RawClient]:
    with RawClient(url) as client:
        yield client


def names_listed(client: RawClient) -> set[str]:
    return {tool["name"] for tool in client.request("tools/list")["result"]["tools"]}


@asynccontextmanager
async def by_get(url: str) -> AsyncIterator[Hear]:
    async with (
        httpx.AsyncClient(trust_env=False, timeout=WITHIN_SECONDS) as http,
        http.stream("GET", f"{url}/mcp", headers={"Accept": "text/event-stream"}) as stream,
    ):
        lines = stream.aiter_lines()
        await anext(lines)

        async def hear() -> None:
            while not (line := await anext(lines)).startswith("data: "):
                pass
            assert json.loads(line.removeprefix("data: ")) == {"jsonrpc": "2.0", "method": CHANGED}

        yield hear


@asynccontextmanager
async def by_websocket(url: str) -> AsyncIterator[Hear]:
    async with connect(url.replace("http", "ws") + "/mcp", proxy=None) as websocket:
        await websocket.send('{"jsonrpc":"2.0","id":1,"method":"ping"}')
        await websocket.recv()

        async def hear() -> None:
            assert json.loads(await websocket.recv()) == {"jsonrpc": "2.0", "method": CHANGED}

        yield hear


@asynccontextmanager
async def by_listening(url: str) -> AsyncIterator[Hear]:
    """The official client, which keeps a list that it was told stays fresh; what it hears ends that."""
    async with sdk_client(url, "auto") as client, client.listen(tools_list_changed=True) as subscription:
        listed = {tool.name for tool in (await client.list_tools()).tools}

        async def hear() -> None:
            nonlocal listed
            await anext(aiter(subscription))
            before, listed = listed, {tool.name for tool in (await client.list_tools()).tools}
            assert {frozenset(before), frozenset(listed)} == {READING_TOOLS, frozenset(EVERYTHING)}

        yield hear


WAYS: list[Callable[[str], AbstractAsyncContextManager[Hear]]] = [by_get, by_websocket, by_listening]


@pytest.mark.anyio
async def test_whoever_listens_hears_that_the_list_has_changed(engine: Keyring, url: str, client: RawClient) -> None:
    """M1: on every transport, each time the engine begins or ceases to let the server write."""
    await run_sync(engine.let_server, "write")
    await run_sync(wait_until, lambda: names_listed(client) == EVERYTHING)

    async with AsyncExitStack() as opened:
        ears = [await opened.enter_async_context(way(url)) for way in WAYS]
        for access, expected in (("read", READING_TOOLS), ("write", EVERYTHING)):
            await run_sync(engine.let_server, access)

            for hear in ears:
                with anyio.fail_after(WITHIN_SECONDS):
                    await hear()
            assert names_listed(client) == expected


@pytest.mark.anyio
async def test_a_refused_call_is_reason_enough_to_look_at_once(engine: Keyring) -> None:
    """M1: and one that is refused for what is known already is none."""
    engine.let_server("write")
    told = anyio.Event()

    async def tell() -> None:
        told.set()

    proxy = RecordingProxy(engine.program.url)
    with proxy.running():
        async with EngineClient(proxy.url, SERVERS_KEY) as client, anyio.create_task_group() as group:
            watched = WatchedEngine(client, proxy.url)
            group.start_soon(watched.watch, tell, NEVER)
            await until_looked(proxy, 1)
            await run_sync(engine.let_server, "read")
            assert not told.is_set()

            for _ in range(2):
                with pytest.raises(ToolError, match="KB_API_KEY_READONLY"):
                    async with watched.asked():
                        await client.submit_note("x")
                with anyio.fail_after(WITHIN_SECONDS):
                    await told.wait()
            # Whatever was asked before this has reached the engine by now.
            await client.check_live()

            assert not watched.can_write
            group.cancel_scope.cancel()
    assert len(proxy.find("GET", "/api/v1/status")) == 2


async def until_looked(proxy: RecordingProxy, times: int) -> None:
    async def has_looked() -> bool:
        return len(proxy.sent) >= times

    await until(has_looked)


def test_a_server_that_may_only_read_lists_what_reads_and_does_it(engine: Keyring, client: RawClient) -> None:
    """M1, M5: also while the engine is away."""
    engine.let_server("read")
    wait_until(lambda: names_listed(client) == READING_TOOLS)

    assert client.call("kb_status")["access"] == "read"
    assert client.call("kb_search", query="anything")["results"] == []
    engine.program.stop()
    try:
        assert client.fail("kb_status")["error"] == "engine_unreachable"
        assert names_listed(client) == READING_TOOLS
    finally:
        engine.program.start()


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [("kb_addnote", {"text": "x"}), ("kb_delete", {"document_id": 1}), ("kb_tag", {"document_id": 1, "add": ["x"]})],
)
def test_a_tool_that_is_no_longer_listed_tells_what_is_wrong(
    engine: Keyring, client: RawClient, tool: str, arguments: Json
) -> None:
    """M3, M6: a client may have ignored the announcement."""
    engine.let_server("read")

    result = client.call_for_result(tool, **arguments)

    refused = result["structuredContent"]
    assert (result["isError"], refused["error"], refused["access"]) == (True, "engine_refused", "read")
    assert "only read" in refused["message"]
    assert "the engine's KB_API_KEY." in refused["message"]
    assert SERVERS_KEY not in repr(refused)


@pytest.mark.anyio
@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(401, json={"code": "unauthorized", "access": "write"}),
        httpx.Response(503, json={"access": "write"}),
        httpx.Response(200, html="<h1>It works!</h1>"),
        httpx.Response(200, json=["write"]),
        httpx.Response(200, text="[" * 200_000),
        httpx.Response(200, content=b"\xff\xfe\x00"),
    ],
    ids=["refused", "busy", "page", "list", "deep", "bytes"],
)
async def test_an_answer_that_is_none_changes_nothing(answer: httpx.Response, caplog: pytest.LogCaptureFixture) -> None:
    """M3: nothing is raised nor logged, and the next real one counts; an older engine, which tells none, lets write."""
    pretended = PretendedEngine()
    pretended.answer = httpx.Response(200, json={"access": "read"})
    heard: list[bool] = []

    with pretended.running():
        proxy = RecordingProxy(pretended.url)
        with proxy.running():
            async with EngineClient(proxy.url) as client, anyio.create_task_group() as group:
                watched = WatchedEngine(client, proxy.url)

                async def tell() -> None:
                    heard.append(watched.can_write)

                async def has_told() -> bool:
                    return heard[-1:] == [True]

                group.start_soon(watched.watch, tell, 0.01)
                await until_looked(proxy, 2)
                pretended.answer = answer
                # The first one of these may have been under way, and the last one may still be.
                await until_looked(proxy, len(proxy.sent) + 3)
                assert heard == [False]
                pretended.answer = httpx.Response(200, json={"version": "3.0.0"})
                await until(has_told)
                group.cancel_scope.cancel()

    assert heard == [False, True]
    assert [record for record in caplog.records if record.name.startswith("kb")] == []
