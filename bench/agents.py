"""What the MCP server adds to a search: many agents at once, through it and straight on the engine.

    python -m bench.agents [CHUNKS]

The ways are interleaved, so that whatever else the machine does falls on all of them alike. CPU is counted in the
servers alone; the agents are as light as they can be, but share the machine, so latencies at 64 are those of a
machine that is full.
"""

import asyncio
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import httpx
import psutil

from bench.base import fill_base, read_english
from bench.search import is_ready
from kb.engine.embedding import read_model
from kb.engine.wiring import model_locations
from kb.settings import cache_dir

AGENTS = (1, 8, 64)
CALLS_A_ROUND = 192
ROUNDS = 5

Json: TypeAlias = dict[str, Any]  # Any: JSON
Way: TypeAlias = Callable[[str], tuple[str, Json, dict[str, str]]]
"""From a query to a path, a body and headers."""


def straight(query: str) -> tuple[str, Json, dict[str, str]]:
    return "/api/v1/search", {"query": query}, {}


def by_tool(query: str) -> tuple[str, Json, dict[str, str]]:
    params = {"name": "kb_search", "arguments": {"query": query}}
    return "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}, {}


def by_tool_2026(query: str) -> tuple[str, Json, dict[str, str]]:
    path, body, _ = by_tool(query)
    body["params"]["_meta"] = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    return path, body, {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "kb_search"}


WAYS: dict[str, tuple[str, Way]] = {
    "engine": ("engine", straight),
    "MCP, 2025": ("mcp", by_tool),
    "MCP, 2026-07-28": ("mcp", by_tool_2026),
}


@dataclass
class Programs:
    ports: dict[str, int]
    processes: dict[str, psutil.Process]

    def cpu_seconds(self) -> dict[str, float]:
        return {name: sum(process.cpu_times()[:2]) for name, process in self.processes.items()}


@dataclass
class Measured:
    milliseconds: list[float] = field(default_factory=list)
    cpu_seconds: dict[str, float] = field(default_factory=lambda: {"engine": 0.0, "mcp": 0.0})
    errors: int = 0


def main() -> None:
    chunk_count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    model = read_model(model_locations(cache_dir(), None)[0])
    with tempfile.TemporaryDirectory() as folder:
        fill_base(Path(folder), chunk_count, model_fingerprint=model.fingerprint, dimension=model.dimension)
        with start_programs(Path(folder)) as programs:
            for agents in AGENTS:
                report(agents, asyncio.run(measure(programs, agents)))


@contextmanager
def start_programs(data_dir: Path) -> Iterator[Programs]:
    ports = ["--port", "0", "--mcp-port", "0"]
    command = [sys.executable, "-m", "kb.cli.main", "up", *ports, "--data-dir", str(data_dir)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            told = iter(process.stdout)
            engine, mcp = (next(found[1] for line in told if (found := re.search(rf":(\d+)/{path}", line)))
                           for path in ("api", "mcp"))  # fmt: skip
            with httpx.Client(base_url=f"http://127.0.0.1:{engine}", trust_env=False) as client:
                while not is_ready(client):
                    time.sleep(0.02)
            root = psutil.Process(process.pid)
            mcp_process = next(child for child in root.children() if "kb.mcp.process" in child.cmdline())
            yield Programs({"engine": int(engine), "mcp": int(mcp)}, {"engine": root, "mcp": mcp_process})
        finally:
            process.terminate()


async def measure(programs: Programs, agents: int) -> dict[str, Measured]:
    measured = {name: Measured() for name in WAYS}
    words = [word for word in read_english() if word.isalpha()]
    for round_number in range(ROUNDS + 1):
        for name, (program, way) in WAYS.items():
            before = programs.cpu_seconds()
            # The first round only warms up.
            into = measured[name] if round_number else Measured()
            port, calls = programs.ports[program], CALLS_A_ROUND // agents
            await asyncio.gather(*(run_agent(port, way, calls, words, into) for _ in range(agents)))
            for server, after in programs.cpu_seconds().items():
                into.cpu_seconds[server] += after - before[server]
    return measured


async def run_agent(port: int, way: Way, calls: int, words: list[str], measured: Measured) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(calls):
        start = random.randrange(len(words) - 8)  # noqa: S311 - no secret
        path, body, headers = way(" ".join(words[start : start + 6]))
        begun = time.perf_counter()
        answer = await post(reader, writer, path, body, headers)
        measured.milliseconds.append((time.perf_counter() - begun) * 1000)
        found = answer.get("results") or answer.get("result", {}).get("structuredContent", {}).get("results")
        measured.errors += not found
    writer.close()


async def post(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str, body: Json, headers: dict[str, str]
) -> Json:
    content = json.dumps(body).encode()
    given = {"Host": "localhost", "Content-Type": "application/json", "Content-Length": str(len(content)), **headers}
    head = f"POST {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in given.items()) + "\r\n"
    writer.write(head.encode() + content)
    received = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
    length = re.search(r"content-length: (\d+)", received)
    assert length, received
    answer: Json = json.loads(await reader.readexactly(int(length[1])))
    return answer


def report(agents: int, measured: dict[str, Measured]) -> None:
    straight_p50 = statistics.median(measured["engine"].milliseconds)
    head = f"{f'{agents} agents':16} {'p50 ms':>7} {'p95 ms':>7} {'x p50':>6} {'engine':>7} {'MCP':>6}"
    print(f"{head}  CPU ms a call; errors")
    for name, one in measured.items():
        p50, calls = statistics.median(one.milliseconds), len(one.milliseconds)
        p95 = statistics.quantiles(one.milliseconds, n=20)[18]
        engine, mcp = (one.cpu_seconds[server] * 1000 / calls for server in ("engine", "mcp"))
        print(f"{name:16} {p50:7.1f} {p95:7.1f} {p50 / straight_p50:6.2f} {engine:7.1f} {mcp:6.1f}  {one.errors}")


if __name__ == "__main__":
    main()
