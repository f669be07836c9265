"""What the MCP server adds to a search: many agents at once, through it and straight on the engine.

    python -m bench.agents [CHUNKS]

The ways are interleaved, so that whatever else the machine does falls on all of them alike. CPU is counted in the
servers alone; the agents are as light as they can be, but share the machine, so latencies at 64 are those of a
machine that is full.
"""

import asyncio
import random
import statistics
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from bench.agents_at_work.connection import Connection, Json
from bench.agents_at_work.programs import Programs, start_on_filled_base
from bench.figures import p95
from bench.filled_base import plain_words

AGENTS = (1, 8, 64)
CALLS_A_ROUND = 192
ROUNDS = 5

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


Opening: TypeAlias = Callable[[Programs], Connection]
WAYS: dict[str, tuple[Opening, Way]] = {
    "engine": (Programs.open_engine, straight),
    "MCP, 2025": (Programs.open_mcp, by_tool),
    "MCP, 2026-07-28": (Programs.open_mcp, by_tool_2026),
}


@dataclass
class Measured:
    milliseconds: list[float] = field(default_factory=list)
    cpu_seconds: dict[str, float] = field(default_factory=lambda: {"engine": 0.0, "mcp": 0.0})
    errors: int = 0


def main() -> None:
    chunk_count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with start_on_filled_base(chunk_count) as programs:
        for agents in AGENTS:
            report(agents, asyncio.run(measure(programs, agents)))


async def measure(programs: Programs, agents: int) -> dict[str, Measured]:
    measured = {name: Measured() for name in WAYS}
    words = plain_words()
    for round_number in range(ROUNDS + 1):
        for name, (opening, way) in WAYS.items():
            before = programs.weigh()
            # The first round only warms up.
            into = measured[name] if round_number else Measured()
            calls = CALLS_A_ROUND // agents
            await asyncio.gather(*(run_agent(opening(programs), way, calls, words, into) for _ in range(agents)))
            after = programs.weigh()
            for server in into.cpu_seconds:
                into.cpu_seconds[server] += after[server].cpu_seconds - before[server].cpu_seconds
    return measured


async def run_agent(connection: Connection, way: Way, calls: int, words: list[str], measured: Measured) -> None:
    for _ in range(calls):
        start = random.randrange(len(words) - 8)  # noqa: S311 - no secret
        path, body, headers = way(" ".join(words[start : start + 6]))
        answer = await connection.ask("POST", path, body, headers)
        measured.milliseconds.append(answer.milliseconds)
        told = answer.json()
        found = told.get("results") or told.get("result", {}).get("structuredContent", {}).get("results")
        measured.errors += not found
    connection.close()


def report(agents: int, measured: dict[str, Measured]) -> None:
    straight_p50 = statistics.median(measured["engine"].milliseconds)
    head = f"{f'{agents} agents':16} {'p50 ms':>7} {'p95 ms':>7} {'x p50':>6} {'engine':>7} {'MCP':>6}"
    print(f"{head}  CPU ms a call; errors")
    for name, one in measured.items():
        p50, calls = statistics.median(one.milliseconds), len(one.milliseconds)
        engine, mcp = (one.cpu_seconds[server] * 1000 / calls for server in ("engine", "mcp"))
        latencies = f"{p50:7.1f} {p95(one.milliseconds):7.1f} {p50 / straight_p50:6.2f}"
        print(f"{name:16} {latencies} {engine:7.1f} {mcp:6.1f}  {one.errors}")


if __name__ == "__main__":
    main()
