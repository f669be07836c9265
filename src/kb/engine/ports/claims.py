"""What a worker does with a job, from taking it to its end."""

from datetime import datetime
from typing import Protocol

from kb.engine.model import Claim, Committed, IndexedText, JobError, Lane, NewDocument, Progress


class Claims(Protocol):
    def claim_job(self, lane: Lane, *, now: datetime, lease_until: datetime) -> Claim | None:
        """Take the next job that is waiting, or whose worker has let its lease run out.

        Raises `Unavailable` if the engine has another model than this store.
        """
        ...

    def renew_claim(self, claim: Claim, progress: Progress, *, lease_until: datetime) -> None: ...

    def release_claim(self, claim: Claim, *, available_at: datetime) -> None:
        """Queue the job again as if it had not been taken: neither it nor the worker is to blame."""
        ...

    def commit_document(self, claim: Claim, document: NewDocument, text: IndexedText, *, now: datetime) -> Committed:
        """Add the document, or what E25 makes of it, and complete the job: both or neither.

        If a later job has been there first, with the same source path, it completes as a duplicate of that document.
        """
        ...

    def commit_duplicate(self, claim: Claim, document: NewDocument, *, now: datetime) -> Committed | None:
        """Complete the job without a text, if `commit_document` would make no use of one; else None, and no change."""
        ...

    def fail_job(self, claim: Claim, error: JobError, *, retry_at: datetime | None, now: datetime) -> None:
        """Queue the job again for `retry_at`, or end it for good."""
        ...
