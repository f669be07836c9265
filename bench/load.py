"""Many agents at once on one base: what they wait for, what it costs, and whether anything goes wrong.

    python -m bench.load [CHUNKS] [--agents 1,8,32,64] [--seconds N]

Each agent has a connection of its own and a mix of 80 % search, 15 % read and 5 % write. One half calls the tools of
the MCP server, the other the engine; both demand keys. No agent ever pauses, and all of them share the machine with the
servers: the latencies are those of a machine that is full. In the end everything that was acknowledged must be found,
the log of the database must be short and, where the agents were at work for minutes, no program may have grown.
"""

import argparse
import asyncio
import random
import sys
import time
from contextlib import closing
from dataclasses import dataclass

from bench.agents_at_work.doors import EngineDoor, McpDoor, Tally
from bench.agents_at_work.growth import Sample, judge_growth, judge_log, take_sample, take_samples
from bench.agents_at_work.mixed_agents import Agent, SharedNote, find_lost, to_letters, wait_for_document
from bench.agents_at_work.programs import Programs, Weight, start_on_filled_base
from bench.figures import quantile
from bench.filled_base import CHUNKS_PER_DOCUMENT, plain_words

SHARES = (0.5, 0.95, 0.99)
SAMPLE_EVERY_SECONDS = 2.0
# Whoever runs for less than that is not warm yet.
GROWTH_TAKES_SECONDS = 180


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.load")
    parser.add_argument("chunks", type=int, nargs="?", default=10_000)
    parser.add_argument("--agents", default="1,8,32,64")
    parser.add_argument("--seconds", type=float, default=30)
    given = parser.parse_args()
    documents, is_well = given.chunks // CHUNKS_PER_DOCUMENT, True
    with start_on_filled_base(given.chunks) as programs:
        for number, agents in enumerate(map(int, given.agents.split(","))):
            name = f"step{to_letters(number)}"
            step = asyncio.run(run_agents(programs, agents, documents, given.seconds, name=name))
            is_well &= report(step)
    sys.exit(0 if is_well else 1)


@dataclass(frozen=True)
class Step:
    """What came of so many agents."""

    agents: int
    tally: Tally
    took_seconds: float
    before: dict[str, Weight]
    after: dict[str, Weight]
    samples: list[Sample]
    notes: int
    lost: list[str]

    @property
    def wrong(self) -> list[str]:
        """A sentence each."""
        return self.lost + [f"{count} x {error}" for error, count in self.tally.errors.most_common()]


async def run_agents(programs: Programs, count: int, documents: int, seconds: float, *, name: str) -> Step:
    tally = Tally()
    agents = await make_agents(programs, count, documents, tally, name=name)
    before, begun = programs.weigh(), time.monotonic()
    sampling = asyncio.create_task(take_samples(programs, begun + seconds, SAMPLE_EVERY_SECONDS))
    await asyncio.gather(*(agent.work_until(begun + seconds) for agent in agents))
    took, after = time.monotonic() - begun, programs.weigh()
    samples = [*await sampling, take_sample(programs, took)]
    with closing(EngineDoor(programs.open_engine(), Tally())) as door:
        lost = await find_lost(door, agents, agents[0].shared)
    return Step(count, tally, took, before, after, samples, sum(len(agent.notes) for agent in agents), lost)


async def make_agents(programs: Programs, count: int, documents: int, tally: Tally, *, name: str) -> list[Agent]:
    words = plain_words()
    with closing(EngineDoor(programs.open_engine(), Tally())) as door:
        document_id = await wait_for_document(door, await door.add(f"The note {name} is everybody's.", "shared"))
        shared = SharedNote(document_id, (await door.get(document_id))["version"])
    return [
        Agent(
            name=f"{name}{to_letters(number)}",
            # The first of two straight, so that one alone measures the engine.
            door=McpDoor(programs.open_mcp(), tally) if number % 2 else EngineDoor(programs.open_engine(), tally),
            chance=random.Random(f"{name} {number}"),  # noqa: S311 - no secret
            words=words,
            documents=documents,
            tally=tally,
            shared=shared,
        )
        for number in range(count)
    ]


def report(step: Step) -> bool:
    """Whether all was well."""
    tally, took = step.tally, step.took_seconds
    calls = sum(map(len, tally.milliseconds.values()))
    heads = f"{'calls':>8} {'p50 ms':>8} {'p95 ms':>8} {'p99 ms':>8}"
    print(f"{f'{step.agents} agents':10} {heads}   {calls / took:.0f} calls a second, {tally.errors.total()} errors")
    for kind, taken in tally.milliseconds.items():
        if taken:
            print(f"  {kind:8} {len(taken):8}" + "".join(f" {quantile(taken, share):8.1f}" for share in SHARES))
    for name, end in step.after.items():
        begin = step.before[name]
        cpu = (end.cpu_seconds - begin.cpu_seconds) / took
        memory = f"memory {begin.rss_mb:4.0f} -> {end.rss_mb:4.0f} MB"
        print(f"  {name:8} {cpu:4.0%} CPU, {memory}, {end.threads} threads, {begin.handles} -> {end.handles} handles")
    told = f"{step.notes} notes written, {len(step.lost)} lost, {tally.stale} rewrites refused as stale"
    print(f"  {told}, {tally.told_to_wait} calls delayed")
    wrong = step.wrong + judge_log(step.samples)
    if took > GROWTH_TAKES_SECONDS:
        wrong += judge_growth(step.samples)
    for sentence in wrong:
        print(f"  WRONG: {sentence}")
    return not wrong


if __name__ == "__main__":
    main()
