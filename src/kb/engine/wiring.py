"""The composition root: the only place that knows both what the engine needs and who provides it."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import urlsplit

from kb.engine.backup import remove_leftovers
from kb.engine.embedding import LoadingEmbedder, open_embedder, read_model
from kb.engine.errors import Conflict
from kb.engine.ingestion.pipeline import Pipeline
from kb.engine.locks import be_only_engine, be_worker
from kb.engine.model import WantedDevice
from kb.engine.originals import Bucket as Bucket  # for who starts an engine, and sees nothing below this
from kb.engine.originals import FolderOriginals, Originals, open_originals
from kb.engine.ports import Embedder, Store
from kb.engine.reserve import Reserve
from kb.engine.storage import has_base, open_shared_store, open_store, upgrade_base
from kb.logs import LogFormat

log = logging.getLogger(__name__)

BESIDE = "beside the base"


@dataclass(frozen=True)
class EngineOptions:
    """What of the settings reaches the parts below the programs."""

    data_dir: Path
    model_folder: Path
    graph_dir: Path
    max_file_bytes: int
    max_queued_jobs: int = 10_000
    """Of notes, and of files: beyond that, who submits more is told to wait."""
    store_url: str = field(default="", repr=False)
    """The database that the base is in, if not in the data directory; others may work on it, too."""
    concurrency: int = 1
    """How many files a worker reads at a time."""
    device: WantedDevice = "auto"
    """What the model is to compute on."""
    bucket: Bucket | None = None
    """Where originals are kept, if not in the data directory."""
    log_format: LogFormat = "text"
    threads: int = field(default_factory=lambda: os.cpu_count() or 1)

    @property
    def place(self) -> str:
        """Where the base is, for a person: without a password."""
        if not self.store_url:
            return str(self.data_dir)
        parts = urlsplit(self.store_url)
        return f"postgresql://{parts.netloc.rpartition('@')[2]}{parts.path}"


@dataclass(frozen=True)
class Engine:
    store: Store
    originals: Originals
    embedder: Embedder
    options: EngineOptions
    reserve: Reserve
    wake_worker: Callable[[], None] = lambda: None
    list_issues: Callable[[], list[str]] = list
    """What is wrong now, a sentence each: for the health report."""
    is_stopping: Callable[[], bool] = lambda: False
    """Whether the program is about to end, so that answers without an end must."""
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)

    @property
    def pipeline(self) -> Pipeline:
        return Pipeline(self.store, self.originals, self.embedder, self.clock)


@contextmanager
def open_engine(options: EngineOptions) -> Iterator[Engine]:
    """The engine of a data directory, alone on it, or one of many on a database. Its model goes on loading while it
    already serves."""
    options.data_dir.mkdir(parents=True, exist_ok=True)
    if options.store_url:
        with _open_parts(options) as engine:
            engine.store.adopt_model(now=engine.clock())
            yield engine
        return
    with be_only_engine(options.data_dir):
        remove_leftovers(options.data_dir)
        originals, now = FolderOriginals(options.data_dir / "originals"), datetime.now(UTC)
        upgrade_base(options.data_dir, originals, now=now)
        if options.bucket is not None:
            _refuse_two_places(originals, options.bucket)
        elif not has_base(options.data_dir):
            _keep_what_a_lost_base_knew(originals, now)
        with _open_parts(options) as engine:
            engine.originals.sweep(engine.store.is_original_in_use)
            engine.reserve.refill()
            engine.store.adopt_model(now=engine.clock())
            yield engine


def _refuse_two_places(originals: FolderOriginals, bucket: Bucket) -> None:
    if not originals.is_empty:
        raise Conflict(
            f"KB_ORIGINALS_URL is {bucket.url}, but there are originals in {originals.place}. Start without it and "
            "move the base: kb export, then kb import into one whose data directory is new."
        )


def _keep_what_a_lost_base_knew(originals: FolderOriginals, now: datetime) -> None:
    """A new base knows no original, and would sweep away all that are there."""
    aside = originals.set_aside(now)
    if aside is not None:
        log.warning(
            "There is no base in the data directory, but there are originals: they are now in %s. Restore a backup if "
            "the base was lost, or add them again.",
            aside,
        )


@contextmanager
def open_for_worker(options: EngineOptions) -> Iterator[Engine]:
    """The same without the claim to be the only one: for a worker beside the engine, which has much to embed."""
    with (
        nullcontext() if options.store_url else be_worker(options.data_dir),
        _open_parts(replace(options, threads=1), batches_at_once=options.threads) as engine,
    ):
        yield engine


@contextmanager
def _open_parts(options: EngineOptions, *, batches_at_once: int = 1) -> Iterator[Engine]:
    model = read_model(options.model_folder)
    embedder = LoadingEmbedder(
        model,
        lambda: open_embedder(
            options.model_folder,
            options.graph_dir,
            threads=options.threads,
            batches_at_once=batches_at_once,
            device=options.device,
        ),
    )
    with (
        closing(embedder),
        closing(_open_store(options, model.fingerprint)) as store,
        open_originals(
            options.data_dir, options.bucket, folder="shared-originals" if options.store_url else "originals"
        ) as originals,
    ):
        _require_originals_of(store, originals, is_beside=not options.store_url and options.bucket is None)
        yield Engine(store, originals, embedder, options, Reserve(options.data_dir))


def _require_originals_of(store: Store, originals: Originals, *, is_beside: bool) -> None:
    """Those of a file are beside it, wherever it is taken."""
    mark = BESIDE if is_beside else originals.read_mark()
    # A place that the base does not have anyway is left as it is: somebody may have mistyped its name.
    if store.read_mark_of_originals() in {None, mark}:
        if not is_beside:
            originals.belong_to(store.read_base_id())
        if store.adopt_originals(mark) == mark:
            return
    raise Conflict(
        f"The originals of this base are not in {originals.place}. Have all engines and workers use the place with "
        "which it began: one bucket (KB_ORIGINALS_URL) or, on one machine, one data directory (KB_DATA_DIR)."
    )


def _open_store(options: EngineOptions, model_fingerprint: str) -> Store:
    if options.store_url:
        return open_shared_store(
            options.store_url, model_fingerprint=model_fingerprint, concurrency=options.concurrency
        )
    return open_store(options.data_dir, model_fingerprint=model_fingerprint)
