"""The composition root: the only place that knows both what the engine needs and who provides it."""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from kb.engine.embedding import (
    LoadingEmbedder,
    bundled_model_folder,
    fetch_bundled_model,
    open_embedder,
    read_model,
)
from kb.engine.errors import Unavailable
from kb.engine.ingestion.pipeline import Pipeline
from kb.engine.originals import Originals
from kb.engine.ports import Embedder, Store
from kb.engine.storage import open_store


@dataclass(frozen=True)
class EngineOptions:
    """What of the settings reaches the parts below the programs."""

    data_dir: Path
    model_folder: Path
    graph_dir: Path
    max_file_bytes: int
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)


@dataclass(frozen=True)
class Engine:
    store: Store
    originals: Originals
    embedder: Embedder
    options: EngineOptions
    wake_worker: Callable[[], None] = lambda: None
    list_issues: Callable[[], list[str]] = list
    """What is wrong now, a sentence each: for the health report."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    @property
    def pipeline(self) -> Pipeline:
        return Pipeline(self.store, self.originals, self.embedder, self.clock)


def model_locations(cache_dir: Path, model_folder: Path | None) -> tuple[Path, Path]:
    """Where the model is (`None` means the bundled one) and where the graphs made of models are kept."""
    return model_folder or bundled_model_folder(cache_dir), cache_dir / "graphs"


def fetch_model(cache_dir: Path, source: Path | None) -> Path:
    """Put the bundled model into the cache, verified and ready to run; does nothing if it is there."""
    folder = fetch_bundled_model(cache_dir, source)
    open_embedder(folder, cache_dir / "graphs", threads=1)
    return folder


@contextmanager
def open_engine(options: EngineOptions) -> Iterator[Engine]:
    """The engine of a data directory, alone on it. Its model goes on loading while it already serves."""
    options.data_dir.mkdir(parents=True, exist_ok=True)
    with _sole_engine_of(options.data_dir), open_parts(options) as engine:
        engine.originals.sweep(engine.store.is_original_in_use)
        yield engine


@contextmanager
def open_parts(options: EngineOptions) -> Iterator[Engine]:
    """The same without the claim to be the only one: for a worker beside the engine."""
    model = read_model(options.model_folder)
    embedder = LoadingEmbedder(
        model, lambda: open_embedder(options.model_folder, options.graph_dir, threads=options.threads)
    )
    with closing(embedder), closing(open_store(options.data_dir, model_fingerprint=model.fingerprint)) as store:
        yield Engine(store, Originals(options.data_dir / "originals"), embedder, options)


@contextmanager
def _sole_engine_of(data_dir: Path) -> Iterator[None]:
    """The system releases the lock when the process ends, however it ends."""
    with (data_dir / "engine.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Unavailable(
                f"Another engine is already running on {data_dir}. Stop it, or choose another KB_DATA_DIR."
            ) from error
        yield
