"""`kb up` in a process of its own, with keys, and what its three processes weigh."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
from tests.engine_program import EngineProgram

from bench.agents_at_work.connection import Connection
from bench.engine_process import READY_WITHIN_SECONDS
from bench.filled_base import fill_base
from kb.engine.storage import DATABASE

ENGINE_KEY = "the-key-of-the-bench"
AGENT_KEY = "the-key-of-its-agents"
MODULES = {"worker": "kb.engine.processes.worker_process", "mcp": "kb.mcp.mcp_process"}


@dataclass(frozen=True)
class Weight:
    rss_mb: float
    handles: int
    threads: int
    cpu_seconds: float
    children: int


@dataclass(frozen=True)
class Programs:
    """The engine, its worker and the MCP server. Whoever weighs one that has died gets psutil's error."""

    data_dir: Path
    ports: dict[str, int]
    processes: dict[str, psutil.Process]

    def open_engine(self) -> Connection:
        return Connection(self.ports["engine"], ENGINE_KEY)

    def open_mcp(self) -> Connection:
        return Connection(self.ports["mcp"], AGENT_KEY)

    def weigh(self) -> dict[str, Weight]:
        return {name: _weigh(process) for name, process in self.processes.items()}

    @property
    def database(self) -> Path:
        return self.data_dir / DATABASE

    def wal_mb(self) -> float:
        wal = self.database.with_name(self.database.name + "-wal")
        return wal.stat().st_size / 2**20 if wal.exists() else 0.0


def _weigh(process: psutil.Process) -> Weight:
    with process.oneshot():
        return Weight(
            rss_mb=process.memory_info().rss / 2**20,
            handles=process.num_fds(),
            threads=process.num_threads(),
            cpu_seconds=sum(process.cpu_times()[:2]),
            children=len(process.children()),
        )


def find_processes(pid: int) -> dict[str, psutil.Process]:
    """The three of a `kb up` that is ready; it is itself the engine."""
    root = psutil.Process(pid)
    children = {
        name: next(child for child in root.children() if module in child.cmdline()) for name, module in MODULES.items()
    }
    return {"engine": root, **children}


@contextmanager
def start_on_filled_base(chunk_count: int, settings: Mapping[str, str] = {}) -> Iterator[Programs]:
    """On a base of so many chunks, which is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        data_dir = Path(folder) / "data"
        data_dir.mkdir()
        fill_base(data_dir, chunk_count)
        with start_programs(data_dir, settings) as programs:
            yield programs


@contextmanager
def start_programs(data_dir: Path, settings: Mapping[str, str] = {}) -> Iterator[Programs]:
    keys = {"KB_API_KEY": ENGINE_KEY, "KB_MCP_API_KEY": AGENT_KEY}
    program = EngineProgram(data_dir.parent, {**keys, **settings}, data_dir=data_dir)
    program.ready_within_seconds = READY_WITHIN_SECONDS
    with program.running():
        ports = {"engine": program.url, "mcp": program.mcp_url}
        numbers = {name: int(url.rpartition(":")[2]) for name, url in ports.items()}
        yield Programs(data_dir, numbers, find_processes(program.process.pid))
