"""A worker is a process of its own: what its model lacks is told by the engine only if the store knows of it."""

import logging
import threading
from collections.abc import Callable
from datetime import datetime, timedelta

from kb.engine.errors import StorageFull, Unavailable
from kb.engine.ports import Embedder, Store

log = logging.getLogger(__name__)

LOOK_EVERY_SECONDS = 1.0
# Of one that is killed it is told for a minute more.
REPORT_EVERY_SECONDS = 20.0
IS_TOLD_FOR = timedelta(minutes=1)


def report_shortfall(
    store: Store, embedder: Embedder, worker: str, clock: Callable[[], datetime], stopping: threading.Event
) -> None:
    """Until told to stop, have the engine say what the worker's model lacks. Writes nothing while it lacks nothing."""
    told: str | None = None
    while not stopping.is_set():
        shortfall = embedder.computing.shortfall
        if shortfall is not None or told is not None:
            told = shortfall
            _report(store, worker, shortfall, clock())
        stopping.wait(LOOK_EVERY_SECONDS if shortfall is None else REPORT_EVERY_SECONDS)
    if told is not None:
        _report(store, worker, None, clock())


def _report(store: Store, worker: str, shortfall: str | None, now: datetime) -> None:
    try:
        store.report_shortfall(worker, shortfall, now=now, until=now + IS_TOLD_FOR)
    except (Unavailable, StorageFull) as error:
        log.warning("What this worker lacks cannot be told now: %s", error.message)
