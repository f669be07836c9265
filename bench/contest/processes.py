"""The contestants' processes, seen from the one that asks them."""

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.json_child import ROOT, JsonChild, start_json_child

OURS = "kb"
PEERS_PYTHON = ROOT / ".peers" / "stores" / "bin" / "python"
ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "RAYON_NUM_THREADS",
    "LANCE_CPU_THREADS",
    "TOKIO_WORKER_THREADS",
)


@dataclass(frozen=True)
class Answer:
    found: list[int] | None
    cpu_seconds: float
    cpu_seconds_since_start: float


@dataclass(frozen=True)
class Memory:
    rss_mb: float
    anonymous_mb: float
    """The part that is not a page of some file, which the machine could take back at any time."""


class ContestantProcess:
    def __init__(self, name: str, child: JsonChild) -> None:
        self.name = name
        self._child = child

    def ask(self, operation: str, **facts: object) -> Answer:
        told = self._child.ask({"operation": operation, **facts})
        return Answer(told["found"], told["cpu"], told["cpu_in_all"])

    def weigh(self) -> Memory:
        maps = psutil.Process(self._child.pid).memory_maps(grouped=True)
        rss = sum(one.rss for one in maps)
        anonymous = sum(one.anonymous for one in maps)
        return Memory(rss / 2**20, anonymous / 2**20)


@contextmanager
def start_contestant(name: str, python: Path, corpus: Path, folder: Path) -> Iterator[ContestantProcess]:
    given = (name, str(corpus), str(folder))
    with start_json_child(python, "bench.contest.child", *given, environment=make_environment()) as child:
        yield ContestantProcess(name, child)


@contextmanager
def start_all(
    names: Sequence[str], peers_python: Path, corpus: Path, folder: Path
) -> Iterator[list[ContestantProcess]]:
    with ExitStack() as stack:
        yield [
            stack.enter_context(start_contestant(name, python_of(name, peers_python), corpus, folder / name))
            for name in names
        ]


def python_of(name: str, peers_python: Path) -> Path:
    return Path(sys.executable) if name == OURS else peers_python


def make_environment() -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("KB_")}
    # As many as the processor time of one core can be told of; and nothing said on every search.
    threads = dict.fromkeys(ONE_THREAD, "1")
    quiet = {"LANCEDB_LOG": "error", "TOKENIZERS_PARALLELISM": "false"}
    # txtai finds the function that knows the vectors by its name only if it is told that this is wanted.
    allowed = {"ALLOW_RESOLVE_TRANSFORM": "True"}
    return {**inherited, **threads, **quiet, **allowed, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
