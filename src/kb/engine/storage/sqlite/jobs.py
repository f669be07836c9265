"""Jobs in SQLite: a queue whose rows survive anything that the process does not.

A worker *claims* a job: the row says who may work on it (the number of the attempt) and until when (the
lease). A worker that is alive renews the lease; one that died does not, and the next claim takes the job
over with the next attempt number. Everything a worker writes names its attempt, so a worker that was only
slow, not dead, finds its claim gone and its work is dropped: a job may run twice, but counts once.
"""

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

import apsw

from kb.engine.errors import Conflict, JobFinished
from kb.engine.model import (
    Claim,
    Committed,
    DocumentId,
    FileSubmission,
    IndexedText,
    Job,
    JobError,
    JobId,
    JobStatus,
    NewDocument,
    NoteSubmission,
    Page,
    Progress,
    QueueCounts,
    Ref,
    Submission,
)
from kb.engine.ports import ClaimLost
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.documents import find_same_document, insert_document, overwrite_document
from kb.engine.storage.sqlite.rows import (
    fetch_all,
    job_id_of,
    load_document,
    mark_changed,
    to_datetime,
    to_json,
    to_text,
)
from kb.engine.storage.sqlite.tags import add_tags

MAX_ATTEMPTS = 5

# Without the hint SQLite prefers another index, and reads and sorts the whole queue for each claim.
CLAIMABLE = (
    "SELECT id FROM jobs INDEXED BY jobs_to_do WHERE status IN ('queued', 'running') "
    "AND ((status = 'queued' AND available_at <= ?1) OR (status = 'running' AND lease_until < ?1)) "
    "ORDER BY priority, id LIMIT 1"
)

# The name of a note comes from its text, so it is the document's to keep, and gone when that is.
JOB_FILENAME = "COALESCE((SELECT d.filename FROM documents AS d WHERE d.id = jobs.document_id), jobs.filename)"
JOB_COLUMNS = (
    f"id, uuid, kind, status, step, completed_steps, total_steps, message, {JOB_FILENAME}, document_id, document_uuid, "
    "chunks_created, is_duplicate, error_code, error_message, attempts, created_at, started_at, finished_at"
)


class JobRows:
    """The part of the store that keeps the queue."""

    _database: Database

    def add_job(self, submission: Submission, *, idempotency_key: str | None, now: datetime) -> Job:
        payload = to_json(asdict(submission))
        digest = hashlib.sha256(payload.encode()).hexdigest()
        if isinstance(submission, NoteSubmission):
            kind, priority, original, filename = "note", 0, None, ""
        else:
            kind, priority, original, filename = "file", 1, submission.original, submission.filename
        with self._database.write() as db:
            if idempotency_key is not None:
                earlier = _find_by_key(db, idempotency_key, digest)
                if earlier is not None:
                    return earlier
            db.execute(
                "INSERT INTO jobs (uuid, kind, status, priority, original, filename, available_at, "
                "idempotency_key, request_digest, created_at, payload) VALUES (?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    uuid.uuid4().bytes,
                    kind,
                    priority,
                    original,
                    filename,
                    to_text(now),
                    idempotency_key,
                    digest,
                    to_text(now),
                    payload,
                ),
            )
            return _load_job(db, db.last_insert_rowid())

    def get_job(self, ref: Ref) -> Job:
        with self._database.read() as db:
            return _load_job(db, job_id_of(db, ref))

    def list_jobs(self, *, status: JobStatus | None, limit: int, offset: int) -> Page[Job]:
        condition = "1" if status is None else "status = ?"
        values = () if status is None else (status.value,)
        with self._database.read() as db:
            total = db.execute(f"SELECT count(*) FROM jobs WHERE {condition}", values).get
            rows = db.execute(
                f"SELECT {JOB_COLUMNS} FROM jobs WHERE {condition} ORDER BY id DESC LIMIT ? OFFSET ?",
                (*values, limit, offset),
            )
            return Page([_to_job(row) for row in rows], total)

    def count_jobs(self) -> QueueCounts:
        with self._database.read() as db:
            counts = dict(fetch_all(db, "SELECT status, count(*) FROM jobs GROUP BY status"))
        return QueueCounts(counts.get("queued", 0), counts.get("running", 0), counts.get("failed", 0))

    def claim_job(self, *, now: datetime, lease_until: datetime) -> Claim | None:
        # Most looks at the queue find nothing; those must not make other writers wait.
        with self._database.read() as db:
            if _find_claimable(db, now) is None:
                return None
        with self._database.write() as db:
            _give_up_hopeless_jobs(db, now)
            job_id = _find_claimable(db, now)
            if job_id is None:
                return None
            ((attempt, failures, kind, payload),) = fetch_all(
                db,
                "UPDATE jobs SET status = 'running', attempts = attempts + 1, lease_until = ?, "
                "started_at = COALESCE(started_at, ?) WHERE id = ? "
                "RETURNING attempts, attempts - attempts_before - 1, kind, payload",
                (to_text(lease_until), to_text(now), job_id),
            )
            return Claim(JobId(job_id), attempt, failures, _to_submission(kind, payload))

    def renew_claim(self, claim: Claim, progress: Progress, *, lease_until: datetime) -> None:
        with self._database.write() as db:
            _require_claim(db, claim)
            db.execute(
                "UPDATE jobs SET step = ?, message = ?, completed_steps = ?, total_steps = ?, lease_until = ? "
                "WHERE id = ?",
                (
                    progress.step,
                    progress.message,
                    progress.completed_steps,
                    progress.total_steps,
                    to_text(lease_until),
                    claim.job_id,
                ),
            )

    def commit_document(self, claim: Claim, document: NewDocument, text: IndexedText, *, now: datetime) -> Committed:
        with self._database.write() as db:
            _require_claim(db, claim)
            same, is_duplicate = _find_same(db, document)
            if same is not None and is_duplicate:
                return _complete_with_duplicate(db, claim, same, document, now)
            released = None
            if same is None:
                document_id = insert_document(db, document, text, now)
            else:
                document_id = same
                released = load_document(db, same).original
                overwrite_document(db, same, document, text, now)
            _complete_job(db, claim, document_id, is_duplicate=False, now=now)
            return Committed(document_id, is_duplicate=False, released_original=released)

    def commit_duplicate(self, claim: Claim, document: NewDocument, *, now: datetime) -> Committed | None:
        # Most documents are new, and to see that must not make other writers wait.
        with self._database.read() as db:
            if not _find_same(db, document)[1]:
                return None
        with self._database.write() as db:
            _require_claim(db, claim)
            same, is_duplicate = _find_same(db, document)
            if same is None or not is_duplicate:
                return None
            return _complete_with_duplicate(db, claim, same, document, now)

    def fail_job(self, claim: Claim, error: JobError, *, retry_at: datetime | None, now: datetime) -> None:
        with self._database.write() as db:
            _require_claim(db, claim)
            attempts_left = db.execute(
                "SELECT ? - (attempts - attempts_before) FROM jobs WHERE id = ?", (MAX_ATTEMPTS, claim.job_id)
            ).get
            if retry_at is not None and attempts_left > 0:
                db.execute(
                    "UPDATE jobs SET status = 'queued', available_at = ?, lease_until = NULL WHERE id = ?",
                    (to_text(retry_at), claim.job_id),
                )
            else:
                db.execute(
                    "UPDATE jobs SET status = 'failed', error_code = ?, error_message = ?, lease_until = NULL, "
                    "finished_at = ? WHERE id = ?",
                    (error.code, error.message, to_text(now), claim.job_id),
                )

    def cancel_job(self, ref: Ref, *, now: datetime) -> Job:
        with self._database.write() as db:
            job = _load_job(db, job_id_of(db, ref))
            if job.status not in (JobStatus.QUEUED, JobStatus.RUNNING):
                raise JobFinished(f"Job {job.id} has already ended: it is {job.status.value}.")
            db.execute(
                "UPDATE jobs SET status = 'cancelled', lease_until = NULL, finished_at = ? WHERE id = ?",
                (to_text(now), job.id),
            )
            return _load_job(db, job.id)

    def retry_job(self, ref: Ref, *, now: datetime) -> Job:
        with self._database.write() as db:
            job = _load_job(db, job_id_of(db, ref))
            if job.status not in (JobStatus.FAILED, JobStatus.CANCELLED):
                raise Conflict(f"Job {job.id} is {job.status.value}; only a failed or cancelled job can be retried.")
            if db.execute("SELECT payload IS NULL FROM jobs WHERE id = ?", (job.id,)).get:
                raise Conflict(f"What job {job.id} was given is no longer kept. Submit it again.")
            # Attempts go on counting, since they fence off a worker that may still be busy with an earlier
            # one; the five that a job has are counted from here.
            db.execute(
                "UPDATE jobs SET status = 'queued', attempts_before = attempts, available_at = ?, error_code = NULL, "
                "error_message = NULL, started_at = NULL, finished_at = NULL, step = '', message = '', "
                "completed_steps = 0, total_steps = 0 WHERE id = ?",
                (to_text(now), job.id),
            )
            return _load_job(db, job.id)

    def delete_finished_jobs(self, *, finished_before: datetime) -> list[str]:
        with self._database.write() as db:
            rows = fetch_all(
                db, "DELETE FROM jobs WHERE finished_at < ? RETURNING original", (to_text(finished_before),)
            )
            return [row[0] for row in rows if row[0] is not None]


def _find_by_key(db: apsw.Connection, idempotency_key: str, digest: str) -> Job | None:
    row = db.execute(
        "SELECT id, request_digest = ? FROM jobs WHERE idempotency_key = ?", (digest, idempotency_key)
    ).fetchone()
    if row is None:
        return None
    if not row[1]:
        raise Conflict("This Idempotency-Key was used before with another request. Use a new key.")
    return _load_job(db, row[0])


def _find_claimable(db: apsw.Connection, now: datetime) -> int | None:
    found: int | None = db.execute(CLAIMABLE, (to_text(now),)).get
    return found


def _give_up_hopeless_jobs(db: apsw.Connection, now: datetime) -> None:
    """A job whose every attempt killed its worker would go on killing them."""
    db.execute(
        "UPDATE jobs SET status = 'failed', error_code = 'internal_error', error_message = ?, "
        "lease_until = NULL, finished_at = ?2 "
        "WHERE status = 'running' AND lease_until < ?2 AND attempts - attempts_before >= ?3",
        (
            f"The worker stopped during each of {MAX_ATTEMPTS} attempts. Retry it, or look at the engine's log.",
            to_text(now),
            MAX_ATTEMPTS,
        ),
    )


def _require_claim(db: apsw.Connection, claim: Claim) -> None:
    holds = db.execute(
        "SELECT 1 FROM jobs WHERE id = ? AND status = 'running' AND attempts = ?",
        (claim.job_id, claim.attempt),
    ).fetchone()
    if holds is None:
        raise ClaimLost(f"Attempt {claim.attempt} of job {claim.job_id} no longer counts.")


def _find_same(db: apsw.Connection, document: NewDocument) -> tuple[DocumentId | None, bool]:
    return find_same_document(db, document.content_hash, document.source_path, is_note=document.note_text is not None)


def _complete_with_duplicate(
    db: apsw.Connection, claim: Claim, same: DocumentId, document: NewDocument, now: datetime
) -> Committed:
    _join_duplicate(db, same, document, now)
    _complete_job(db, claim, same, is_duplicate=True, now=now)
    # A note and a file may hold the same bytes; then nothing has a use for the uploaded ones.
    return Committed(same, is_duplicate=True, released_original=document.original)


def _join_duplicate(db: apsw.Connection, same: DocumentId, new: NewDocument, now: datetime) -> None:
    has_new_tags = add_tags(db, same, new.tags)
    db.execute(
        "UPDATE documents SET source_path = ?2 WHERE id = ?1 AND source_path IS NULL AND ?2 IS NOT NULL",
        (same, new.source_path),
    )
    if has_new_tags or db.changes():
        mark_changed(db, same, now)


def _complete_job(
    db: apsw.Connection, claim: Claim, document_id: DocumentId, *, is_duplicate: bool, now: datetime
) -> None:
    """Complete the job and forget what it was given: the document has it now, or has it no longer."""
    document = load_document(db, document_id)
    db.execute(
        "UPDATE jobs SET status = 'completed', payload = NULL, original = NULL, lease_until = NULL, step = '', "
        "message = '', completed_steps = max(total_steps, 1), total_steps = max(total_steps, 1), document_id = ?, "
        "document_uuid = ?, chunks_created = ?, is_duplicate = ?, finished_at = ? WHERE id = ?",
        (
            document_id,
            document.uuid.bytes,
            0 if is_duplicate else document.chunk_count,
            is_duplicate,
            to_text(now),
            claim.job_id,
        ),
    )


def _load_job(db: apsw.Connection, job_id: int) -> Job:
    return _to_job(db.execute(f"SELECT {JOB_COLUMNS} FROM jobs WHERE id = ?", (job_id,)).fetchall()[0])


def _to_job(row: Sequence[Any]) -> Job:
    return Job(
        id=JobId(row[0]),
        uuid=UUID(bytes=row[1]),
        type=row[2],
        status=JobStatus(row[3]),
        progress=Progress(row[4], row[5], row[6], row[7]),
        filename=row[8],
        document_id=row[9],
        document_uuid=None if row[10] is None else UUID(bytes=row[10]),
        chunks_created=row[11],
        is_duplicate=bool(row[12]),
        error=None if row[13] is None else JobError(row[13], row[14]),
        attempts=row[15],
        created_at=datetime.fromisoformat(row[16]),
        started_at=to_datetime(row[17]),
        finished_at=to_datetime(row[18]),
    )


def _to_submission(kind: str, payload: str) -> Submission:
    fields = json.loads(payload)
    fields["tags"] = tuple(fields["tags"])
    return NoteSubmission(**fields) if kind == "note" else FileSubmission(**fields)
