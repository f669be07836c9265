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
import sys
import time
from contextlib import closing
from pathlib import Path

import apsw
import httpx

from bench.agents_at_work.churn import ROUGH, UPLOAD_TTL_SECONDS
from bench.agents_at_work.doors import EngineDoor, Tally, Unexpected
from bench.agents_at_work.growth import Sample, judge_growth, judge_log, take_samples
from bench.agents_at_work.mixed_agents import Agent, find_lost
from bench.agents_at_work.programs import Programs, start_on_filled_base
from bench.load import make_agents
from kb.engine.checkup import examine_base, read_base
from kb.engine.storage import DATABASE

CHUNKS = 2_000
DOCUMENTS = 200
AGENTS = 8
ROUGH_CLIENTS = 4
MIX = {"search": 40, "read": 20, "write": 40}
# No agent is in a hurry: what is to be seen is what stays behind, not how much the machine can bear.
PAUSE_SECONDS = 0.05
SAMPLE_EVERY_SECONDS = 10.0
DRAINED_WITHIN_SECONDS = 60

MAX_SIZE_OF_LIVE_DATA = 1.3


def main() -> None:
    minutes = float(sys.argv[1]) if len(sys.argv) > 1 else 30.0
    settings = {"KB_MCP_UPLOAD_TTL_SECONDS": str(UPLOAD_TTL_SECONDS)}
    with start_on_filled_base(CHUNKS, settings) as programs:
        samples, wrong = asyncio.run(soak(programs, minutes * 60))
        stop(programs)
        wrong += judge_growth(samples) + judge_log(samples) + judge_base(programs.data_dir)
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
    render_heads(programs)
    sampling = asyncio.create_task(take_samples(programs, end, SAMPLE_EVERY_SECONDS, render))
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


def render_heads(programs: Programs) -> None:
    heads = "".join(f"{name + ' MB/handles/threads':>28}" for name in programs.processes)
    print(f"{'seconds':>7}  {heads} {'log MB':>7} {'base MB':>8} {'files':>6}")


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


def judge_base(data_dir: Path) -> list[str]:
    """Whether the base is whole, and not much larger than what it would be if it were written anew."""
    base = read_base(data_dir)
    wrong = [damage.message for damage in examine_base(data_dir, base, lambda done, total: None)]
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
