"""How long a search takes over HTTP, the query's embedding included, and what the engine weighs meanwhile.

    python -m bench.search [CHUNKS]

Modes are interleaved, so that whatever else the machine does falls on all of them alike.
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

import httpx
import psutil

from bench.engine_process import start_engine
from bench.figures import p95
from bench.filled_base import fill_base, make_queries

ROUNDS = 200
MODES: dict[str, dict[str, object]] = {
    "hybrid": {},
    "hybrid, tag of 1 %": {"tags": ["group-7"]},
    "keyword": {"mode": "fts"},
    "vector": {"mode": "vector"},
}


def main() -> None:
    chunk_count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        fill_base(Path(folder), chunk_count)
        print(f"{chunk_count} chunks written in {time.perf_counter() - started:.1f} s")
        started = time.perf_counter()
        with start_engine(Path(folder)) as (client, process):
            print(f"ready {time.perf_counter() - started:.2f} s after its start")
            report(measure(client), process)


def measure(client: httpx.Client) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {mode: [] for mode in MODES}
    for round_number, query in zip(range(ROUNDS + 20), make_queries(), strict=False):
        for mode, options in MODES.items():
            begun = time.perf_counter()
            client.post("/api/v1/search", json={"query": query, **options}).raise_for_status()
            if round_number >= 20:  # the first ones only warm up
                times[mode].append((time.perf_counter() - begun) * 1000)
    return times


def report(times: dict[str, list[float]], engine: psutil.Process) -> None:
    print(f"{'search over HTTP, ms':24} {'p50':>7} {'p95':>7}  x hybrid")
    for mode, taken in times.items():
        ratio = statistics.median(taken) / statistics.median(times["hybrid"])
        print(f"{mode:24} {statistics.median(taken):7.1f} {p95(taken):7.1f}  {ratio:.2f}")
    print(f"memory: engine {engine.memory_info().rss / 2**20:.0f} MB", end="")
    for child in engine.children():
        print(f", worker {child.memory_info().rss / 2**20:.0f} MB", end="")
    print()


if __name__ == "__main__":
    main()
