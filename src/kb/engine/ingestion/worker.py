"""When jobs are done, and what happens when they are not.

How a job can run twice and count once. A worker holds a job by a *claim*: the number of the attempt and a
lease that a heartbeat keeps renewing. A worker that dies stops renewing; once the lease has run out, the next
claim takes the job with a higher attempt number. A worker that was only stopped for a while comes back to
find its claim gone: every write it makes names its attempt and is refused with `ClaimLost`. Since the document
and the job's completion are one transaction, exactly one attempt ever becomes visible.

Invariants:
1. Nothing is written to the store for a document but by `commit_document` and `commit_duplicate`.
2. A cancelled job has lost its claim, so it can no longer commit; the heartbeat notices within a second.
3. Errors that the submitter must mend end the job; others (the disk, the model, a bug) are tried again.

Tried and dropped: writing progress at each step (a disk flush each time, for jobs that take 10 ms).
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from kb.engine.errors import KbError, StorageFull, Unavailable, code_of
from kb.engine.ingestion.pipeline import Pipeline
from kb.engine.model import Claim, JobError, Progress
from kb.engine.ports import ClaimLost, Store

log = logging.getLogger(__name__)

# A dead worker's job is taken over this long after its last heartbeat. It bears a machine that stalls.
LEASE = timedelta(seconds=15)
HEARTBEAT = timedelta(seconds=1)
KEEP_FINISHED_JOBS = timedelta(days=30)
FORGET_EVERY = timedelta(hours=1)
# The first retry comes soon, since most trouble passes; each later one waits four times as long.
FIRST_RETRY = timedelta(seconds=1)


class Worker:
    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline
        self._store = pipeline.store
        self._clock = pipeline.clock

    def work_until(self, stopping: threading.Event, wait: Callable[[], None]) -> None:
        """Do jobs as they come; `wait` is called when there are none, and returns when it is worth looking."""
        forget_at = self._clock()
        while not stopping.is_set():
            try:
                if self._clock() >= forget_at:
                    self.forget_old_jobs()
                    forget_at = self._clock() + FORGET_EVERY
                if not self.work_once():
                    wait()
            except (Unavailable, StorageFull):
                log.exception("The store cannot be reached; trying again.")
                wait()

    def forget_old_jobs(self) -> None:
        originals = self._store.delete_finished_jobs(finished_before=self._clock() - KEEP_FINISHED_JOBS)
        self._pipeline.originals.release(originals, self._store.is_original_in_use)

    def work_once(self) -> bool:
        """Do the next job, if there is one and the model to do it with; tell whether there was."""
        if not self._pipeline.embedder.is_ready:
            # A job taken now would only use up its attempts.
            return False
        now = self._clock()
        claim = self._store.claim_job(now=now, lease_until=now + LEASE)
        if claim is None:
            return False
        try:
            with _heartbeat(self._store, claim, self._clock) as report:
                committed = self._pipeline.run(claim, report)
            log.info("Job %d became document %d.", claim.job_id, committed.document_id)
        except ClaimLost as lost:
            log.info("%s", lost)
        except Exception as error:  # noqa: BLE001 - whatever a job does, the worker goes on to the next
            self._give_back(claim, error)
        return True

    def _give_back(self, claim: Claim, error: Exception) -> None:
        now = self._clock()
        retry_at: datetime | None = now + FIRST_RETRY * 4**claim.failures
        if not isinstance(error, KbError):
            log.exception("Job %d failed unexpectedly.", claim.job_id)
            reason = JobError("internal_error", "Something went wrong inside the engine; its log tells more.")
        elif isinstance(error, Unavailable | StorageFull):
            log.warning("Job %d could not be done now: %s", claim.job_id, error.message)
            reason = JobError(code_of(error), error.message)
        else:
            log.info("Job %d failed: %s", claim.job_id, error.message)
            reason = JobError(code_of(error), error.message)
            retry_at = None
        try:
            self._store.fail_job(claim, reason, retry_at=retry_at, now=now)
        except (ClaimLost, Unavailable, StorageFull) as lost:
            # The lease runs out, and the job is taken up again.
            log.warning("The end of job %d could not be noted: %s", claim.job_id, lost)


@contextmanager
def _heartbeat(store: Store, claim: Claim, clock: Callable[[], datetime]) -> Iterator[Callable[[Progress], None]]:
    """Renew the claim, with the latest progress, every second while the block runs."""
    done = threading.Event()
    lost = threading.Event()
    latest = Progress("Starting", 0, 1, "")

    def beat() -> None:
        while not done.wait(HEARTBEAT.total_seconds()):
            try:
                store.renew_claim(claim, latest, lease_until=clock() + LEASE)
            except ClaimLost:
                lost.set()
                return
            except (Unavailable, StorageFull):
                log.warning("The claim on job %d could not be renewed; trying again.", claim.job_id)

    def report(progress: Progress) -> None:
        nonlocal latest
        latest = progress
        if lost.is_set():
            raise ClaimLost(f"Job {claim.job_id} was cancelled or taken over.")

    thread = threading.Thread(target=beat, name=f"heartbeat-{claim.job_id}", daemon=True)
    thread.start()
    try:
        yield report
    finally:
        done.set()
        thread.join()
