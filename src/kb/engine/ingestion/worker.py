"""When jobs are done, and what happens when they are not.

How a job can run twice and count once. A worker holds a job by a *claim*: the number of the attempt and a
lease that a heartbeat keeps renewing. A worker that dies stops renewing; once the lease has run out, the next
claim takes the job with a higher attempt number. A worker that was only stopped for a while comes back to
find its claim gone: every write it makes names its attempt and is refused with `ClaimLost`. Since the document
and the job's completion are one transaction, exactly one attempt ever becomes visible.

Jobs run in lanes, each with a thread of its own: a note, which somebody waits for, never stands behind a file that
takes an hour, nor a file behind work on all documents. Within a lane they run one after the other, in the order in
which they came.

Invariants:
1. Nothing is written to the store for a document but by `commit_document`, `commit_duplicate` and `replace_text`.
2. A cancelled job has lost its claim, so it can no longer commit; the heartbeat notices within a second.
3. Errors that the submitter must mend end the job; others (the disk, the model, a bug) are tried again. Room on the
   disk, and the server that has the originals, are waited for as long as it takes.
4. A worker that is told to stop gives back what it cannot finish soon, and that attempt does not count.

Tried and dropped: writing progress at each step (a disk flush each time, for jobs that take 10 ms).
"""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from kb.engine.caller import Caller, acting_for
from kb.engine.errors import KbError, StorageFull, Unavailable, Unreachable
from kb.engine.ingestion.heartbeat import LEASE, Heartbeat, Stopping
from kb.engine.ingestion.pipeline import Pipeline
from kb.engine.ingestion.progress import Report
from kb.engine.ingestion.reindexing import reindex
from kb.engine.model import Claim, JobError, Lane, ReindexSubmission
from kb.engine.ports import ClaimLost
from kb.logs import log_context

log = logging.getLogger(__name__)

# The first retry comes soon, since most trouble passes; each later one waits four times as long.
FIRST_RETRY = timedelta(seconds=1)
WAIT_FOR_ROOM = timedelta(seconds=10)


class Worker:
    def __init__(self, pipeline: Pipeline, lane: Lane, stopping: threading.Event) -> None:
        self._pipeline = pipeline
        self._store = pipeline.store
        self._clock = pipeline.clock
        self._lane = lane
        self._stopping = stopping

    def work(self, wait: Callable[[], None]) -> None:
        """Do jobs as they come, until told to stop; `wait` is called when there are none, and returns when it is
        worth looking."""
        trouble: str | None = None
        while not self._stopping.is_set():
            try:
                if not self.work_once():
                    wait()
                trouble = None
            except (Unavailable, StorageFull) as error:
                # A full disk may stay full for days, and is tried twice a second.
                if error.message != trouble:
                    log.warning("No job can be taken; trying again until one can: %s", error.message)
                    trouble = error.message
                wait()

    def work_once(self) -> bool:
        """Do the next job, if there is one and the model to do it with; tell whether there was."""
        if not self._pipeline.embedder.is_ready:
            # A job taken now would only use up its attempts.
            return False
        now = self._clock()
        claim = self._store.claim_job(self._lane, now=now, lease_until=now + LEASE)
        if claim is None:
            return False
        with log_context(job_id=claim.job_id):
            self._attempt(claim)
        return True

    def _attempt(self, claim: Claim) -> None:
        try:
            self._work_on(claim)
        except ClaimLost as lost:
            log.info("%s", lost)

    def _work_on(self, claim: Claim) -> None:
        """Raises `ClaimLost`; then nothing is to be done or told, whatever else went wrong."""
        try:
            caller = Caller(claim.submitted_by, job_id=claim.job_id)
            with acting_for(caller), Heartbeat(self._store, claim, self._clock, self._stopping) as heartbeat:
                self._run(claim, heartbeat.report)
        except ClaimLost:
            raise
        except Stopping:
            log.info("Job %d is left for the next worker.", claim.job_id)
            with _trouble_noted(claim):
                self._store.release_claim(claim, available_at=self._clock())
        except (StorageFull, Unreachable) as error:
            # However long that lasts, it is not the job's fault.
            log.warning("Job %d waits: %s", claim.job_id, error.message)
            with _trouble_noted(claim):
                self._store.release_claim(claim, available_at=self._clock() + WAIT_FOR_ROOM)
        except Exception as error:  # noqa: BLE001 - whatever a job does, the worker goes on to the next
            self._give_back(claim, error)

    def _run(self, claim: Claim, report: Report) -> None:
        pipeline = self._pipeline
        if isinstance(claim.work, ReindexSubmission):
            reindex(pipeline, claim, claim.work.source, report)
            log.info("Job %d has indexed all documents anew.", claim.job_id)
        else:
            committed = pipeline.run(claim, claim.work, report)
            log.info("Job %d became document %d.", claim.job_id, committed.document_id)

    def _give_back(self, claim: Claim, error: Exception) -> None:
        now = self._clock()
        may_pass = isinstance(error, Unavailable) or not isinstance(error, KbError)
        retry_at = now + FIRST_RETRY * 4**claim.failures if may_pass else None
        with _trouble_noted(claim):
            # First of all: that it was cancelled, and its file forgotten, may be all that went wrong.
            self._store.fail_job(claim, _reason_of(error), retry_at=retry_at, now=now)
        _log_failure(claim, error)


def _reason_of(error: Exception) -> JobError:
    if isinstance(error, KbError):
        return JobError(error.code, error.message)
    return JobError("internal_error", "Something went wrong inside the engine; its log tells more.")


def _log_failure(claim: Claim, error: Exception) -> None:
    if not isinstance(error, KbError):
        log.error("Job %d failed unexpectedly.", claim.job_id, exc_info=error)
    elif isinstance(error, Unavailable):
        log.warning("Job %d could not be done now: %s", claim.job_id, error.message, exc_info=error.__cause__)
    else:
        # The code alone: the sentence, which stands with the job, may quote the file.
        log.info("Job %d failed: %s", claim.job_id, error.code)


@contextmanager
def _trouble_noted(claim: Claim) -> Iterator[None]:
    try:
        yield
    except (Unavailable, StorageFull) as trouble:
        # The lease runs out, and the job is taken up again.
        log.warning("The end of job %d could not be noted: %s", claim.job_id, trouble)
