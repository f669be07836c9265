"""Whole searches, from text to answer, by sixteen clients at once: kb over HTTP against the plain recipe.

    python -m bench.contest.throughput [CORPUS] [--chunks N] [--clients N]

The recipe is favoured: it is called by threads of its own process, without a server in between, and it embeds with
kb's embedder, which takes less than the usual one. Both do each round in turn. Searches a second are those of this
machine as it was; a search's processor time, children included, is what compares.
"""

import argparse
import asyncio
import statistics
import tempfile
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from bench.agents_at_work.connection import Connection
from bench.contest.contestant import Corpus
from bench.contest.made_up import write_made_up_corpus
from bench.contest.processes import (
    OURS,
    PEERS_PYTHON,
    make_environment,
    python_of,
    start_contestant,
)
from bench.engine_process import start_engine
from bench.json_child import JsonChild, start_json_child

ROUNDS = 5
SEARCHES_A_CLIENT = 10


@dataclass
class Round:
    searches: int
    seconds: float
    cpu_seconds: float


@dataclass
class Measured:
    rounds: list[Round] = field(default_factory=list)

    def render(self, name: str) -> str:
        cpu = statistics.median(one.cpu_seconds / one.searches for one in self.rounds) * 1000
        rate = statistics.median(one.searches / one.seconds for one in self.rounds)
        return f"| {name} | {cpu:.1f} | {rate:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure whole searches by many clients at once.")
    parser.add_argument("corpus", type=Path, nargs="?")
    parser.add_argument("--chunks", type=int, default=10_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--peers", type=Path, default=PEERS_PYTHON)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        corpus: Path = options.corpus or write_made_up_corpus(Path(temporary, "corpus"), options.chunks)
        folders = {name: Path(temporary, name) for name in (OURS, "recipe")}
        for name, folder in folders.items():
            folder.mkdir()
            with start_contestant(name, python_of(name, options.peers), corpus.resolve(), folder) as process:
                process.ask("fill", chunks=options.chunks)
        queries = Corpus(corpus).read_queries()[0]
        ours, theirs = Measured(), Measured()
        with (
            start_engine(folders[OURS]) as (client, engine),
            start_threads(options.peers, folders["recipe"], options.clients) as recipe,
        ):
            port = client.base_url.port
            assert port is not None
            for number in range(ROUNDS + 1):
                asked = [
                    queries[(number * 1_000 + n) % len(queries)] for n in range(options.clients * SEARCHES_A_CLIENT)
                ]
                answered = ask_engine(engine, port, asked, options.clients), ask_threads(recipe, asked)
                if number:  # the first only warms up
                    ours.rounds.append(answered[0])
                    theirs.rounds.append(answered[1])
        print(f"{options.clients} clients, {options.chunks:,} chunks, hybrid, the query's embedding included\n")
        print("|  | CPU ms a search | searches a second |\n| --- | --- | --- |")
        print(ours.render("kb, over HTTP"))
        print(theirs.render("recipe, in threads of its own"))


def ask_engine(engine: psutil.Process, port: int, queries: list[str], clients: int) -> Round:
    before, begun = weigh_cpu(engine), time.perf_counter()
    asyncio.run(ask_all(port, queries, clients))
    return Round(len(queries), time.perf_counter() - begun, weigh_cpu(engine) - before)


async def ask_all(port: int, queries: list[str], clients: int) -> None:
    await asyncio.gather(*(ask_in_turn(port, queries[client::clients]) for client in range(clients)))


async def ask_in_turn(port: int, queries: list[str]) -> None:
    connection = Connection(port, key="")
    connection.headers.pop("Authorization")
    for query in queries:
        answer = await connection.ask("POST", "/api/v1/search", {"query": query})
        assert answer.status == 200, answer.content
    connection.close()


def weigh_cpu(engine: psutil.Process) -> float:
    times = [process.cpu_times() for process in (engine, *engine.children(recursive=True))]
    return sum(one.user + one.system for one in times)


def start_threads(python: Path, folder: Path, threads: int) -> AbstractContextManager[JsonChild]:
    return start_json_child(
        python, "bench.contest.recipe_threads", str(folder), str(threads), environment=make_environment()
    )


def ask_threads(recipe: JsonChild, queries: list[str]) -> Round:
    told = recipe.ask(queries)
    return Round(len(queries), told["seconds"], told["cpu"])


if __name__ == "__main__":
    main()
