"""Hours of coming and going in minutes: does anything grow that should not?

    python -m bench.soak [MINUTES]

Agents add, rewrite, delete, search and read, through the MCP server and straight on the engine, and keep the number of
their notes. Beside them rough clients add and delete files, cancel jobs, hang up, and leave sessions, streams and
uploads behind. Every ten seconds everything is weighed. In the end nothing may have grown since the first quarter,
which counts as warming up; the exit status is 1 if a bound is broken.
"""

import asyncio
import random
import shutil
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import apsw
import httpx

from bench.agents_at_work.churn import ROUGH, UPLOAD_TTL_SECONDS
from bench.agents_at_work.doors import EngineDoor, Tally, Unexpected
from bench.agents_at_work.mixed_agents import Agent, find_lost
from bench.agents_at_work.programs import Programs, Weight, start_on_filled_base
from bench.load import MAX_RISE_MB, make_agents
from kb.engine.checkup import check_base, read_base
from kb.engine.storage import DATABASE

CHUNKS = 2_000
DOCUMENTS = 200
AGENTS = 8
ROUGH_CLIENTS = 4
MIX = {"search": 40, "read": 20, "write": 40}
# No agent is in a hurry: what is to be seen is what stays behind, not how much the machine can bear.
PAUSE_SECONDS = 0.05
SAMPLE_EVERY_SECONDS = 10.0
WARM_UP_SHARE = 0.25
DRAINED_WITHIN_SECONDS = 60

# What the line through the samples may rise by. One that grows for ever does so by more in half an hour.
MAX_RISE_HANDLES = 6.0
MAX_RISE_THREADS = 4.0
MAX_WAL_MB = 64.0
MAX_SIZE_OF_LIVE_DATA = 1.3


@dataclass(frozen=True)
class Sample:
    seconds: float
    weights: dict[str, Weight]
    wal_mb: float
    database_mb: float
    files: int


def main() -> None:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    settings = {"KB_MCP_UPLOAD_TTL_SECONDS": str(UPLOAD_TTL_SECONDS)}
    with start_on_filled_base(CHUNKS, settings) as programs:
        samples, wrong = asyncio.run(soak(programs, minutes * 60))
        stop(programs)
        wrong += judge(samples) + judge_base(programs.data_dir)
    for sentence in wrong:
        print(f"WRONG: {sentence}")
    sys.exit(1 if wrong else 0)


async def soak(programs: Programs, seconds: float) -> tuple[list[Sample], list[str]]:
    tally = Tally()
    agents = await make_agents(programs, AGENTS, DOCUMENTS, tally, name="soak")
    for agent in agents:
        agent.mix = MIX
    end = time.monotonic() + seconds
    rough = [be_rough(programs, random.Random(number), tally, end) for number in range(ROUGH_CLIENTS)]  # noqa: S311
    sampling = asyncio.create_task(take_samples(programs, end))
    await asyncio.gather(*(work_calmly(agent, end) for agent in agents), *rough)
    samples = await sampling
    is_drained = await asyncio.to_thread(drain, programs)
    with closing(EngineDoor(programs.open_engine(), Tally())) as door:
        lost = await find_lost(door, agents, agents[0].shared)
    calls, notes = sum(map(len, tally.milliseconds.values())), sum(len(agent.notes) for agent in agents)
    print(f"{calls} calls of agents, {notes} notes written, {len(lost)} lost, {tally.errors.total()} errors")
    wrong = lost + [f"{count} x {error}" for error, count in tally.errors.most_common()]
    return samples, wrong if is_drained else [*wrong, "The queue is not drained."]


async def work_calmly(agent: Agent, end: float) -> None:
    while time.monotonic() < end:
        await agent.act()
        await asyncio.sleep(PAUSE_SECONDS)
        # What was deleted long ago need not be remembered for the end.
        agent.notes = [note for note in agent.notes if not note.is_deleted] + [
            note for note in agent.notes[-20:] if note.is_deleted
        ]
    agent.door.close()


async def be_rough(programs: Programs, chance: random.Random, tally: Tally, end: float) -> None:
    while time.monotonic() < end:
        rough = chance.choice(ROUGH)
        try:
            await rough(programs, chance)
        except (Unexpected, ConnectionError, EOFError) as error:
            tally.errors[f"{getattr(rough, '__name__', '')}: {error}"] += 1
        await asyncio.sleep(PAUSE_SECONDS)


async def take_samples(programs: Programs, end: float) -> list[Sample]:
    begun, samples = time.monotonic(), list[Sample]()
    print(f"{'seconds':>7}  " + "".join(f"{name + ' MB/handles/threads':>28}" for name in programs.processes), end="")
    print(f" {'log MB':>7} {'base MB':>8} {'files':>6}")
    while time.monotonic() < end:
        await asyncio.sleep(min(SAMPLE_EVERY_SECONDS, max(end - time.monotonic(), 0)))
        samples.append(await asyncio.to_thread(take_sample, programs, time.monotonic() - begun))
        render(samples[-1])
    return samples


def take_sample(programs: Programs, seconds: float) -> Sample:
    files = sum(1 for path in programs.data_dir.rglob("*") if path.is_file())
    database_mb = programs.database.stat().st_size / 2**20
    return Sample(seconds, programs.weigh(), programs.wal_mb(), database_mb, files)


def render(sample: Sample) -> None:
    weights = (f"{one.rss_mb:.1f} / {one.handles} / {one.threads}" for one in sample.weights.values())
    cells = "".join(f"{weight:>28}" for weight in weights)
    print(f"{sample.seconds:7.0f}  {cells} {sample.wal_mb:7.1f} {sample.database_mb:8.1f} {sample.files:6}", flush=True)


def drain(programs: Programs) -> bool:
    """Wait until no job is left; tell whether that came about."""
    deadline = time.monotonic() + DRAINED_WITHIN_SECONDS
    key = programs.open_engine().headers
    with httpx.Client(base_url=f"http://127.0.0.1:{programs.ports['engine']}", headers=key, trust_env=False) as http:
        while time.monotonic() < deadline:
            queue = http.get("/api/v1/status").raise_for_status().json()["queue"]
            if queue["queued"] == queue["running"] == 0:
                return True
            time.sleep(0.1)
    return False


def stop(programs: Programs) -> None:
    programs.processes["engine"].terminate()
    programs.processes["engine"].wait(30)


def judge(samples: Sequence[Sample]) -> list[str]:
    """The bounds that are broken, a sentence each."""
    warm = samples[int(len(samples) * WARM_UP_SHARE) :]
    wrong = []
    for name in warm[0].weights:
        for what, bound, values in (
            ("MB", MAX_RISE_MB, [sample.weights[name].rss_mb for sample in warm]),
            ("handles", MAX_RISE_HANDLES, [sample.weights[name].handles for sample in warm]),
            ("threads", MAX_RISE_THREADS, [sample.weights[name].threads for sample in warm]),
        ):
            slope = slope_of([sample.seconds for sample in warm], values)
            rise = slope * (warm[-1].seconds - warm[0].seconds)
            print(f"{name:8} {rise:+6.1f} {what} since it was warm, {slope * 3600:+7.1f} an hour")
            if rise > bound:
                wrong.append(f"The {name} grows: {rise:.1f} {what}, and {bound:g} are allowed.")
    highest = max(sample.wal_mb for sample in samples)
    print(f"log of the database at most {highest:.1f} MB")
    return [*wrong, f"The log of the database grew to {highest:.0f} MB."] if highest > MAX_WAL_MB else wrong


def slope_of(times: Sequence[float], values: Sequence[float]) -> float:
    """The median of the slopes between any two samples: some that lie far off do not move it."""
    points = zip(times, values, strict=True)
    slopes = [(later[1] - earlier[1]) / (later[0] - earlier[0]) for earlier, later in combinations(points, 2)]
    return statistics.median(slopes) if slopes else 0.0


def judge_base(data_dir: Path) -> list[str]:
    """Whether the base is whole, and not much larger than what it would be if it were written anew."""
    base = read_base(data_dir)
    wrong = [damage.message for damage in check_base(data_dir, base, lambda done, total: None)]
    unused = {path.name for path in (data_dir / "originals").glob("*/*")} - {*base.originals}
    wrong += [f"The original {name} is of no document." for name in unused]
    database = data_dir / DATABASE
    compact = data_dir / "compact.sqlite"
    shutil.copy(database, compact)
    with closing(apsw.Connection(str(compact))) as db:
        db.execute("INSERT INTO chunks_fts (chunks_fts) VALUES ('optimize')")
        db.execute("VACUUM")
        db.pragma("wal_checkpoint(truncate)")
    ratio = database.stat().st_size / compact.stat().st_size
    print(f"database {database.stat().st_size / 2**20:.1f} MB, {ratio:.2f} x of its live data")
    return [*wrong, f"The database is {ratio:.2f} x of its live data."] if ratio > MAX_SIZE_OF_LIVE_DATA else wrong


if __name__ == "__main__":
    main()
