"""Keeps a claim alive while its job is done, and tells how far it is."""

import logging
import threading
import time
from collections.abc import Callable
from contextvars import copy_context
from datetime import datetime, timedelta
from types import TracebackType

from kb.engine.errors import StorageFull, Unavailable
from kb.engine.model import Claim, Progress
from kb.engine.ports import ClaimLost, Store

log = logging.getLogger(__name__)

# A dead worker's job is taken over this long after its last heartbeat. It bears a machine that stalls.
LEASE = timedelta(seconds=15)
# Also how long it takes until a cancellation is noticed.
HEARTBEAT = timedelta(seconds=0.5)
# Progress is written down no more often: each time is a flush of the disk.
SECONDS_BETWEEN_REPORTS = 0.25
# How long a job may go on when the worker is told to stop. Most are done by then.
FINISH_WITHIN_SECONDS = 5.0


class Stopping(Exception):
    """The worker has to stop, and the job would take longer than it can wait."""


class Heartbeat:
    """Renews the claim twice a second from a thread of its own, as long as the block runs."""

    def __init__(
        self, store: Store, claim: Claim, clock: Callable[[], datetime], worker_is_stopping: threading.Event
    ) -> None:
        self._store = store
        self._claim = claim
        self._clock = clock
        self._worker_is_stopping = worker_is_stopping
        self._latest = Progress("Starting", 0, 1, "")
        self._written_at = time.monotonic()
        self._writing = threading.Lock()
        self._is_lost = threading.Event()
        self._stops_at: float | None = None
        self._is_done = threading.Event()
        # The thread's lines in the log name the job as well.
        self._thread = threading.Thread(
            target=copy_context().run, args=(self._beat,), name=f"heartbeat-{claim.job_id}", daemon=True
        )

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_done.set()
        self._thread.join()

    def report(self, progress: Progress, *, at_once: bool = False) -> None:
        """Raises `ClaimLost` when the job was cancelled or taken over, and `Stopping` when it has to be left."""
        is_news = progress != self._latest
        self._latest = progress
        if at_once or (is_news and time.monotonic() > self._written_at + SECONDS_BETWEEN_REPORTS):
            self._renew()
        if self._is_lost.is_set():
            raise ClaimLost(f"Job {self._claim.job_id} was cancelled or taken over.")
        if self._stops_at is not None and time.monotonic() > self._stops_at:
            raise Stopping

    def _beat(self) -> None:
        while not self._is_done.wait(HEARTBEAT.total_seconds()):
            # By the clock: while the database is away, each beat takes many times as long.
            if self._stops_at is None and self._worker_is_stopping.is_set():
                self._stops_at = time.monotonic() + FINISH_WITHIN_SECONDS
            self._renew()
            if self._is_lost.is_set():
                return

    def _renew(self) -> None:
        # One at a time, or what is older could be written last.
        with self._writing:
            try:
                self._store.renew_claim(self._claim, self._latest, lease_until=self._clock() + LEASE)
            except ClaimLost:
                self._is_lost.set()
            except (Unavailable, StorageFull):
                log.warning("The claim on job %d could not be renewed; trying again.", self._claim.job_id)
            self._written_at = time.monotonic()
