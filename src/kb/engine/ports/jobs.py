"""What is queued, and what became of it."""

import threading
from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from kb.engine.model import Job, JobStatus, Page, QueueCounts, Ref, Submission


class Jobs(Protocol):
    def add_job(self, submission: Submission, *, idempotency_key: str | None, max_queued: int, now: datetime) -> Job:
        """Queue the work, or return the job that the same key queued before.

        Raises `TooManyRequests` if so many of its kind are waiting already.
        """
        ...

    def require_room(self, kind: type[Submission], *, max_queued: int) -> None:
        """Raise `TooManyRequests` if so many of the kind are waiting already."""
        ...

    def get_job(self, ref: Ref) -> Job: ...

    def list_jobs(self, *, status: JobStatus | None, limit: int, offset: int) -> Page[Job]: ...

    def count_jobs(self) -> QueueCounts: ...

    def cancel_job(self, ref: Ref, *, now: datetime) -> Job: ...

    def forget_job(self, ref: Ref, *, now: datetime) -> tuple[Job, str | None]:
        """Cancel the job, unless it has failed or is cancelled, and drop what it was given; returns it, and the
        original that it had. Raises `JobFinished` if it is completed."""
        ...

    def retry_job(self, ref: Ref, *, now: datetime) -> Job: ...

    def delete_finished_jobs(self, *, finished_before: datetime) -> list[str]:
        """Forget old jobs; returns the originals that those of them which came to nothing had kept."""
        ...

    def watch_jobs(self, on_job: Callable[[], None], stopping: threading.Event) -> None:
        """Until told to stop, call whenever there may be a job to do that was submitted on another machine.

        A hint: whoever does jobs looks for them now and then all the same.
        """
        ...
