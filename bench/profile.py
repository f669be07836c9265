"""Where the processor time of one search goes, step by step, over HTTP and through the MCP server.

    python -m bench.profile [CHUNKS]

The steps are timed in this process, on the one thread that does them; the programs as a whole by what they used over
many calls. Time is that of the processors, so that whatever else the machine does falls on nobody. No two queries are
alike, so that none is answered by what an earlier one has left behind.
"""

import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias
from unittest import mock

from starlette.types import ASGIApp, Message

from bench.agents import Way, by_tool, straight
from bench.agents_at_work.connection import Connection
from bench.agents_at_work.programs import Programs, start_programs
from bench.filled_base import fill_base, make_queries
from kb.access import Access
from kb.engine.api import search as route
from kb.engine.api.app import create_app
from kb.engine.api.search import render_search
from kb.engine.models_on_disk import model_locations
from kb.engine.search import hybrid
from kb.engine.wiring import Engine, EngineOptions, open_engine
from kb.settings import cache_dir

WARM_UP = 30
ROUNDS = 300

# What of the search is timed: functions by the module that calls them, the rest by whom they belong to.
FUNCTIONS = ("parse_query", "join", "fuse", "add_peers", "add_neighbours", "estimate_relevance", "cut_snippet")
OF_EMBEDDER = ("embed_query", "token_spans")
OF_STORE = ("has_whole_vectors", "find_by_text", "find_by_vector", "load_vectors", "load_chunks", "suggest_words")

SEARCH, ANSWER = "search", "answer"
OPEN = Access(writing_keys=(), reading_keys=(), hosts=("localhost",), origins=())

Timings: TypeAlias = dict[str, list[float]]


class Stopwatch:
    """Adds up what each step takes on this thread, in microseconds, until the next search begins."""

    def __init__(self) -> None:
        self.searches: Timings = defaultdict(list)
        self._running: dict[str, float] = defaultdict(float)

    def time(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*args: object, **named: object) -> object:
            begun = time.thread_time_ns()
            try:
                return function(*args, **named)
            finally:
                self._running[name] += (time.thread_time_ns() - begun) / 1000

        return timed

    def end_search(self, *, is_counted: bool) -> None:
        for name in self._running:
            if is_counted:
                self.searches[name].append(self._running[name])
            self._running[name] = 0.0


class Timed:
    """Someone else, some of whose methods are timed."""

    def __init__(self, whom: object, names: tuple[str, ...], stopwatch: Stopwatch) -> None:
        self._whom = whom
        for name in names:
            setattr(self, name, stopwatch.time(name, getattr(whom, name)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whom, name)


def main() -> None:
    chunk_count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    folder, graph_dir = model_locations(cache_dir(), None)
    with tempfile.TemporaryDirectory() as temporary:
        data_dir = Path(temporary) / "data"
        data_dir.mkdir()
        fill_base(data_dir, chunk_count)
        with open_engine(EngineOptions(data_dir, folder, graph_dir, max_file_bytes=1, threads=1)) as engine:
            while not engine.embedder.is_ready:
                time.sleep(0.02)
            queries = make_queries()
            steps = profile_steps(engine, queries)
            outcome = hybrid.search(engine.store, engine.embedder, hybrid.SearchRequest(next(queries)))
            with mock.patch.object(route, "search", return_value=outcome):
                in_app = asyncio.run(profile_app(create_app(engine, OPEN), queries))
        with start_programs(data_dir) as programs:
            whole = asyncio.run(profile_programs(programs, queries))
    print(f"{chunk_count} chunks, CPU of one search in microseconds")
    report(steps, in_app, whole)


def profile_steps(engine: Engine, queries: Iterator[str]) -> Timings:
    stopwatch = Stopwatch()
    store, embedder = Timed(engine.store, OF_STORE, stopwatch), Timed(engine.embedder, OF_EMBEDDER, stopwatch)
    search, render = stopwatch.time(SEARCH, hybrid.search), stopwatch.time(ANSWER, render_search)
    with ExitStack() as replaced:
        for name in FUNCTIONS:
            replaced.enter_context(mock.patch.object(hybrid, name, stopwatch.time(name, getattr(hybrid, name))))
        for round_number in range(WARM_UP + ROUNDS):
            render(search(store, embedder, hybrid.SearchRequest(next(queries))), took_ms=1.0)
            stopwatch.end_search(is_counted=round_number >= WARM_UP)
    return stopwatch.searches


async def profile_app(app: ASGIApp, queries: Iterator[str]) -> list[float]:
    """The engine's application without a socket and without the search: what all its threads use."""
    taken: list[float] = []
    for _ in range(WARM_UP + ROUNDS):
        content = json.dumps({"query": next(queries)}).encode()
        begun = time.process_time_ns()
        await call(app, content)
        taken.append((time.process_time_ns() - begun) / 1000)
    return taken[WARM_UP:]


async def call(app: ASGIApp, content: bytes) -> None:
    async def receive() -> Message:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: Message) -> None:
        assert message.get("status", 200) == 200

    headers = {"host": "localhost", "content-type": "application/json", "content-length": str(len(content))}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/v1/search",
        "raw_path": b"/api/v1/search",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
        "state": {},
    }
    await app(scope, receive, send)


async def profile_programs(programs: Programs, queries: Iterator[str]) -> dict[str, float]:
    """What engine and MCP server use for a call that goes straight to the engine, and for one through both."""
    used: dict[str, float] = {}
    for name, connection, way in (
        ("straight", programs.open_engine(), straight),
        ("by tool", programs.open_mcp(), by_tool),
    ):
        await ask(connection, way, queries, WARM_UP)
        before = programs.weigh()
        await ask(connection, way, queries, ROUNDS)
        after = programs.weigh()
        for server in ("engine", "mcp"):
            spent = after[server].cpu_seconds - before[server].cpu_seconds
            used[f"{name}, {server}"] = spent * 1e6 / ROUNDS
        connection.close()
    return used


async def ask(connection: Connection, way: Way, queries: Iterator[str], times: int) -> None:
    for _ in range(times):
        path, body, headers = way(next(queries))
        answer = await connection.ask("POST", path, body, headers)
        assert answer.status == 200, answer.content


def report(steps: Timings, in_app: list[float], programs: dict[str, float]) -> None:
    medians = {name: statistics.median(taken) for name, taken in steps.items()}
    search, answer = medians.pop(SEARCH), medians.pop(ANSWER)
    parts = zip(*(steps[name] for name in medians), strict=True)
    rest = statistics.median(whole - sum(part) for whole, part in zip(steps[SEARCH], parts, strict=True))
    for name, taken in medians.items():
        print(f"  {name:34} {taken:8.0f}")
    print(f"  {'all else in the search':34} {rest:8.0f}")
    print(f"{'the search':36} {search:8.0f}")
    print(f"{'  of it without the model':36} {search - medians['embed_query'] - medians['token_spans']:8.0f}")
    print(f"{'its answer as JSON':36} {answer:8.0f}")
    print(f"{'the application around it':36} {statistics.median(in_app) - answer:8.0f}")
    print(f"{'the engine, over HTTP':36} {programs['straight, engine']:8.0f}   mean; the model on all cores")
    print(f"{'the MCP server in front of it':36} {programs['by tool, mcp']:8.0f}   mean")


if __name__ == "__main__":
    main()
