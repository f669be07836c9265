"""Restarts of the engine while agents are at work: each call is answered, with an error if need be that says to try
again, and whoever tries again goes on at once and creates nothing twice."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Protocol

import httpx
import pytest
from bench.agents_at_work.programs import AGENT_KEY, ENGINE_KEY
from tests.amounts import Tell, amount
from tests.engine_program import EngineProgram
from tests.load.conftest import SETTINGS
from tests.mcp_program import McpProgram
from tests.waiting import wait_until
from websockets.exceptions import WebSocketException
from websockets.sync.client import ClientConnection, connect

from kb.client import Json

RESTARTS = amount(selection=1, full=20)
GO_ON_WITHIN_SECONDS = 5.0
NOTES_BETWEEN_RESTARTS = 8
ANSWER_WITHIN_SECONDS = 30
STORED_WITHIN_SECONDS = 60
# Each says that it may be tried again, and what to look at first.
RETRYABLE = {"engine_unreachable", "engine_timeout", "unavailable", "server_stopped"}
HEADERS = {"Authorization": f"Bearer {AGENT_KEY}"}
PAUSE_SECONDS = 0.05


class Line(Protocol):
    """How an agent speaks with an MCP server."""

    def ask(self, message: Json) -> Json:
        """Raises `ConnectionError` where the server is gone."""

    def close(self) -> None: ...


class HttpLine:
    def __init__(self, url: str) -> None:
        self._http = httpx.Client(base_url=url, headers=HEADERS, trust_env=False, timeout=ANSWER_WITHIN_SECONDS)

    def ask(self, message: Json) -> Json:
        try:
            answer: Json = self._http.post("/mcp", json=message).raise_for_status().json()
        except httpx.TransportError as error:
            raise ConnectionError from error
        return answer

    def close(self) -> None:
        self._http.close()


class WebSocketLine:
    def __init__(self, url: str) -> None:
        self._url = url.replace("http", "ws") + "/mcp"
        self._opened = ExitStack()
        self._websocket: ClientConnection | None = None

    def ask(self, message: Json) -> Json:
        try:
            if self._websocket is None:
                self._websocket = self._opened.enter_context(connect(self._url, additional_headers=HEADERS, proxy=None))
            self._websocket.send(json.dumps(message))
            answer: Json = json.loads(self._websocket.recv(ANSWER_WITHIN_SECONDS))
        except (WebSocketException, OSError, EOFError) as error:
            self.close()
            raise ConnectionError from error
        return answer

    def close(self) -> None:
        self._websocket = None
        self._opened.close()


class Agent:
    """Adds notes and searches for them, each until it is answered."""

    def __init__(self, name: str, line: Line) -> None:
        self.name = name
        self.notes: list[str] = []
        self.refusals: Counter[str] = Counter()
        self.answered_at = 0.0
        self._line = line

    def work_until(self, stopping: threading.Event) -> None:
        while not stopping.is_set():
            text = f"The note {len(self.notes)} of {self.name}."
            # By the source path a call that is repeated although it was heard replaces what the first has added.
            self._insist("kb_addnote", text=text, tags=["restarted"], source_path=f"/{self.name}/{len(self.notes)}")
            self.notes.append(text)
            self._insist("kb_search", query=text, mode="fts")
            time.sleep(PAUSE_SECONDS)
        self._line.close()

    def _insist(self, tool: str, **arguments: object) -> None:
        deadline = time.monotonic() + ANSWER_WITHIN_SECONDS
        params = {"name": tool, "arguments": arguments}
        while True:
            with suppress(ConnectionError):
                result = self._line.ask({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})["result"]
                if not result["isError"]:
                    self.answered_at = time.monotonic()
                    return
                self.refusals[result["structuredContent"]["error"]] += 1
            assert time.monotonic() < deadline, f"{self.name} is not answered: {self.refusals}"
            time.sleep(PAUSE_SECONDS)


@pytest.fixture
def own_mcp(loaded_engine: EngineProgram, tmp_path: Path) -> Iterator[McpProgram]:
    """`kb mcp`, which stays while the engine goes."""
    settings = {**SETTINGS, "TMPDIR": str(tmp_path)}
    with McpProgram(tmp_path, loaded_engine.url, settings) as program:
        yield program
    assert "Traceback" not in program.log.read_text()


def test_agents_go_on_within_five_seconds_of_a_restart_and_create_nothing_twice(
    loaded_engine: EngineProgram, own_mcp: McpProgram, tell: Tell
) -> None:
    """E4, M3, M4: by HTTP and by WebSocket, with an MCP server that stays and with one that is restarted too."""
    agents = [
        Agent(f"agent {kind} {number}", line(url))
        for number, url in enumerate((own_mcp.url, loaded_engine.mcp_url))
        for kind, line in (("http", HttpLine), ("websocket", WebSocketLine))
    ]
    stopping = threading.Event()
    slowest = 0.0

    with ThreadPoolExecutor(len(agents)) as threads:
        working = [threads.submit(agent.work_until, stopping) for agent in agents]
        try:
            for _ in range(RESTARTS):
                wait_for_notes(agents, NOTES_BETWEEN_RESTARTS)
                loaded_engine.restart()
                # Where even the engine took longer than that, the machine has much else to do.
                within = max(GO_ON_WITHIN_SECONDS, loaded_engine.ready_after_seconds)
                slowest = max(slowest, wait_for_answers(agents, time.monotonic(), within))
        finally:
            stopping.set()
            for one in working:
                one.result()

    notes = [text for agent in agents for text in agent.notes]
    assert sorted(wait_for_stored(loaded_engine, len(notes))) == sorted(notes)
    refusals = sum((agent.refusals for agent in agents), Counter[str]())
    assert set(refusals) <= RETRYABLE
    assert any(agent.refusals for agent in agents[:2]), "No agent of the MCP server that stayed has noticed anything."
    told = f"{RESTARTS} restarts under {len(agents)} agents of two MCP servers: {len(notes)} notes, none twice"
    tell(f"{told}; {refusals.total()} calls told to try again; all went on within {slowest:.1f} s")


def wait_for_notes(agents: list[Agent], more: int) -> None:
    def count() -> int:
        return sum(len(agent.notes) for agent in agents)

    enough = count() + more
    wait_until(lambda: count() >= enough, f"{more} more notes", within_seconds=ANSWER_WITHIN_SECONDS)


def wait_for_answers(agents: list[Agent], ready_at: float, within_seconds: float) -> float:
    """How long after the engine was ready the last agent was answered."""
    while (slowest := min(agent.answered_at for agent in agents)) < ready_at:
        waiting = [agent.name for agent in agents if agent.answered_at < ready_at]
        assert time.monotonic() < ready_at + within_seconds, f"Not answered: {waiting}"
        time.sleep(PAUSE_SECONDS)
    return slowest - ready_at


def wait_for_stored(engine: EngineProgram, count: int) -> list[str]:
    deadline = time.monotonic() + STORED_WITHIN_SECONDS
    headers = {"Authorization": f"Bearer {ENGINE_KEY}"}
    with httpx.Client(base_url=f"{engine.url}/api/v1", headers=headers, trust_env=False, timeout=60) as http:
        while any(http.get("/status").json()["queue"][kind] for kind in ("queued", "running")):
            assert time.monotonic() < deadline, "The queue is not drained."
            time.sleep(PAUSE_SECONDS)
        stored = http.get("/documents", params={"tag": "restarted", "limit": 1000}).json()
        assert stored["total"] <= count
        return [http.get(f"/documents/{document['id']}").json()["text"] for document in stored["documents"]]
