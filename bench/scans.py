"""How long searches take while scans are read, against how long they take when the engine is idle.

    python -m bench.scans [CHUNKS]

Both are measured in turn, over HTTP on a kept connection, the query's embedding included; and how much the processes
that read pictures weigh meanwhile.
"""

import random
import statistics
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

import httpx
import psutil
from tests.extraction.ocr.printed_pages import print_pages
from tests.reading import find_readers_of

from bench.engine_process import start_engine
from bench.figures import p95
from bench.filled_base import fill_base, make_queries

ROUNDS = 5
SEARCHES_A_ROUND = 150
PAUSE_SECONDS = 0.05
PAGES_A_SCAN = 24


@dataclass
class Measured:
    idle: list[float] = field(default_factory=list)
    busy: list[float] = field(default_factory=list)
    pages_a_second: list[float] = field(default_factory=list)
    largest_reader_bytes: int = 0


def main() -> None:
    chunk_count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as folder:
        fill_base(Path(folder), chunk_count)
        with start_engine(Path(folder)) as (client, engine):
            report(measure(client, engine))


def measure(client: httpx.Client, engine: psutil.Process) -> Measured:
    measured = Measured()
    queries = make_queries()
    search(client, next(queries))
    for number in range(ROUNDS):
        for _ in range(SEARCHES_A_ROUND):
            measured.idle.append(search(client, next(queries)))
        job = submit_scan(client, seed=number)
        # Until the models are loaded there is nothing to compete with.
        while job["completed_steps"] == 0:
            time.sleep(PAUSE_SECONDS)
            job = look_at(client, job)
        for _ in range(SEARCHES_A_ROUND):
            measured.busy.append(search(client, next(queries)))
            measured.largest_reader_bytes = max(measured.largest_reader_bytes, weigh_readers(engine))
        while job["status"] in ("queued", "running"):
            time.sleep(PAUSE_SECONDS)
            job = look_at(client, job)
        measured.pages_a_second.append(PAGES_A_SCAN / job["elapsed_seconds"])
    return measured


def submit_scan(client: httpx.Client, seed: int) -> dict[str, Any]:
    """As many pages as keep the machine busy for the searches of a round; each time others, or they would be known."""
    chance = random.Random(seed)  # noqa: S311 - no secret
    pictures = [page.picture.convert("L") for page in print_pages()]
    pages = [chance.choice(pictures) for _ in range(PAGES_A_SCAN)]
    scan = BytesIO()
    pages[0].save(scan, "TIFF", save_all=True, append_images=pages[1:], compression="tiff_deflate")
    answer = client.post("/api/v1/jobs", files={"file": (f"scan-{seed}.tiff", scan.getvalue())}, timeout=60)
    job: dict[str, Any] = answer.raise_for_status().json()
    return job


def look_at(client: httpx.Client, job: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/v1/jobs/{job['id']}").raise_for_status().json()
    assert found["status"] != "failed", found
    return found


def search(client: httpx.Client, query: str) -> float:
    begun = time.perf_counter()
    client.post("/api/v1/search", json={"query": query}, timeout=60).raise_for_status()
    taken = (time.perf_counter() - begun) * 1000
    time.sleep(PAUSE_SECONDS)
    return taken


def weigh_readers(engine: psutil.Process) -> int:
    weights = [0]
    for reader in find_readers_of(engine):
        with suppress(psutil.NoSuchProcess):
            weights.append(reader.memory_info().rss)
    return max(weights)


def report(measured: Measured) -> None:
    print(f"{'search over HTTP, ms':24} {'p50':>7} {'p95':>7}")
    for name, taken in (("idle", measured.idle), ("while scans are read", measured.busy)):
        print(f"{name:24} {statistics.median(taken):7.1f} {p95(taken):7.1f}")
    print(f"scans: {statistics.median(measured.pages_a_second):.2f} pages a second beside the searches")
    print(f"largest process that reads pictures: {measured.largest_reader_bytes / 2**20:.0f} MB")


if __name__ == "__main__":
    main()
