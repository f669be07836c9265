"""Jobs, as those who submit them see them: a queue whose rows survive anything that the process does not."""

import hashlib
import uuid
from datetime import datetime

from kb.engine.caller import current_caller
from kb.engine.errors import Conflict, JobFinished, JobNotFound, TooManyRequests
from kb.engine.model import (
    Action,
    FileSubmission,
    Job,
    JobId,
    JobStatus,
    Page,
    QueueCounts,
    Ref,
    Submission,
    Work,
)
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.job_rows import (
    JOB_COLUMNS,
    KIND_OF_WORK,
    load_job,
    load_job_to_change,
    priority_of,
    to_job,
    to_payload,
)
from kb.engine.storage.tables.journal import record_job
from kb.engine.storage.tables.rows import fetch_all, job_id_of, to_text


class JobsPart:
    """The part of the store that keeps the queue."""

    _database: Database

    def add_job(self, submission: Submission, *, idempotency_key: str | None, max_queued: int, now: datetime) -> Job:
        with self._database.write() as db:
            if idempotency_key is not None:
                earlier = _find_by_key(db, idempotency_key, _digest(submission))
                if earlier is not None:
                    return earlier
            _refuse_beyond(db, priority_of(type(submission)), max_queued)
            return insert_job(db, submission, now, idempotency_key=idempotency_key)

    def require_room(self, kind: type[Submission], *, max_queued: int) -> None:
        with self._database.read() as db:
            _refuse_beyond(db, priority_of(kind), max_queued)

    def get_job(self, ref: Ref) -> Job:
        with self._database.read() as db:
            return load_job(db, job_id_of(db, ref))

    def list_jobs(self, *, status: JobStatus | None, limit: int, offset: int) -> Page[Job]:
        condition, values = ("1 = 1", ()) if status is None else ("status = ?", (status.value,))
        with self._database.read() as db:
            total = db.execute(f"SELECT count(*) FROM jobs WHERE {condition}", values).get
            rows = db.execute(
                f"SELECT {JOB_COLUMNS} FROM jobs WHERE {condition} ORDER BY id DESC LIMIT ? OFFSET ?",
                (*values, limit, offset),
            )
            return Page([to_job(row) for row in rows], total)

    def count_jobs(self) -> QueueCounts:
        with self._database.read() as db:
            # One by one: those that are completed are many, and are not asked for.
            queued, running, failed = (
                db.execute("SELECT count(*) FROM jobs WHERE status = ?", (status,)).get
                for status in ("queued", "running", "failed")
            )
            submitted = db.highest_id("jobs")
        return QueueCounts(queued, running, failed, submitted)

    def cancel_job(self, ref: Ref, *, now: datetime) -> Job:
        with self._database.write() as db:
            job = load_job_to_change(db, ref)
            _refuse_if(job, JobStatus.COMPLETED, JobStatus.FAILED, JobStatus.CANCELLED)
            db.execute(
                "UPDATE jobs SET status = 'cancelled', lease_until = NULL, finished_at = ? WHERE id = ?",
                (to_text(now), job.id),
            )
            record_job(db, Action.JOB_CANCELLED, job.id, now)
            return load_job(db, job.id)

    def forget_job(self, ref: Ref, *, now: datetime) -> tuple[Job, str | None]:
        with self._database.write() as db:
            job = load_job_to_change(db, ref)
            _refuse_if(job, JobStatus.COMPLETED)
            original: str | None = db.execute("SELECT original FROM jobs WHERE id = ?", (job.id,)).get
            forgotten = fetch_all(
                db,
                # Whoever repeats the request means it anew: what it brought the first time is gone.
                "UPDATE jobs SET status = CASE status WHEN 'failed' THEN status ELSE 'cancelled' END, payload = NULL, "
                "original = NULL, idempotency_key = NULL, lease_until = NULL, finished_at = COALESCE(finished_at, ?) "
                "WHERE id = ? AND (payload IS NOT NULL OR finished_at IS NULL) RETURNING id",
                (to_text(now), job.id),
            )
            if forgotten:
                record_job(db, Action.JOB_CANCELLED, job.id, now)
            return load_job(db, job.id), original

    def retry_job(self, ref: Ref, *, now: datetime) -> Job:
        with self._database.write() as db:
            job = load_job_to_change(db, ref)
            if job.status not in (JobStatus.FAILED, JobStatus.CANCELLED):
                raise Conflict(f"Job {job.id} is {job.status.value}; only a failed or cancelled job can be retried.")
            if db.execute("SELECT payload IS NULL FROM jobs WHERE id = ?", (job.id,)).get:
                raise JobFinished(f"The file or text that job {job.id} was given has been forgotten. Add it again.")
            # Attempts go on counting, since they fence off a worker that may still be busy with an earlier
            # one; the MAX_ATTEMPTS that a job has are counted from here.
            db.execute(
                "UPDATE jobs SET status = 'queued', attempts_before = attempts, available_at = ?, error_code = NULL, "
                "error_message = NULL, started_at = NULL, finished_at = NULL, step = '', message = '', "
                "completed_steps = 0, total_steps = 0 WHERE id = ?",
                (to_text(now), job.id),
            )
            record_job(db, Action.JOB_RETRIED, job.id, now)
            db.wake_workers()
            return load_job(db, job.id)

    def delete_finished_jobs(self, *, finished_before: datetime) -> list[str]:
        with self._database.write() as db:
            rows = fetch_all(
                db, "DELETE FROM jobs WHERE finished_at < ? RETURNING original", (to_text(finished_before),)
            )
            return [row[0] for row in rows if row[0] is not None]


def insert_job(db: Connection, work: Work, now: datetime, *, idempotency_key: str | None = None) -> Job:
    original, filename = (work.original, work.filename) if isinstance(work, FileSubmission) else (None, "")
    job_id: JobId = db.execute(
        "INSERT INTO jobs (uuid, kind, status, priority, original, filename, available_at, idempotency_key, "
        "request_digest, created_at, payload, submitted_by) VALUES (?, ?, 'queued', ?, ?, ?, ?, ?, ?, ?, ?, ?) "
        "RETURNING id",
        (
            uuid.uuid4().bytes,
            KIND_OF_WORK[type(work)],
            priority_of(type(work)),
            original,
            filename,
            to_text(now),
            idempotency_key,
            _digest(work),
            to_text(now),
            to_payload(work),
            current_caller().key_name,
        ),
    ).get
    record_job(db, Action.JOB_SUBMITTED, job_id, now)
    db.wake_workers()
    return load_job(db, job_id)


def _refuse_if(job: Job, *endings: JobStatus) -> None:
    if job.status in endings:
        raise JobFinished(f"Job {job.id} has already ended: it is {job.status.value}.")


def _digest(work: Work) -> str:
    return hashlib.sha256(to_payload(work).encode()).hexdigest()


def _refuse_beyond(db: Connection, priority: int, max_queued: int) -> None:
    queued: int = db.execute("SELECT count(*) FROM jobs WHERE status = 'queued' AND priority = ?", (priority,)).get
    if queued >= max_queued:
        raise TooManyRequests(f"{queued} jobs are waiting already. Submit more when some of them are done.")


def _find_by_key(db: Connection, idempotency_key: str, digest: str) -> Job | None:
    row = db.execute(
        "SELECT id, request_digest = ? FROM jobs WHERE idempotency_key = ?", (digest, idempotency_key)
    ).fetchone()
    if row is None:
        return None
    if not row[1]:
        raise Conflict("This Idempotency-Key was used before with another request. Use a new key.")
    try:
        return load_job_to_change(db, row[0])
    except JobNotFound:
        # Forgotten just now, and its key with it.
        return None
