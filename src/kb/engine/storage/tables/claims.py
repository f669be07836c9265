"""Jobs, as workers see them.

A job's row says who may work on it (the number of the attempt) and until when (the lease). All that a worker writes
names its attempt, and is refused with `ClaimLost` once there is a newer one: `ingestion/worker.py` tells why.
"""

from datetime import datetime, timedelta

from kb.engine.errors import Unavailable
from kb.engine.model import (
    Action,
    Claim,
    Committed,
    DocumentId,
    IndexedText,
    JobError,
    JobId,
    Lane,
    NewDocument,
    Progress,
)
from kb.engine.ports import ClaimLost
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.documents import insert_document, overwrite_document
from kb.engine.storage.tables.job_rows import PRIORITY_OF_LANE, to_work
from kb.engine.storage.tables.journal import announce_job, record_change
from kb.engine.storage.tables.meta import read_meta
from kb.engine.storage.tables.rows import fetch_all, load_document, to_text
from kb.engine.storage.tables.sameness import find_same_document, find_same_to_change
from kb.engine.storage.tables.tags import add_tags

MAX_ATTEMPTS = 5
HOPELESS = JobError(
    "internal_error",
    f"The worker stopped during each of {MAX_ATTEMPTS} attempts. Retry it, or look at the engine's log.",
)
DAMAGED = JobError("internal_error", "What the job was given is damaged. Submit it again.")

# Longer than any job waits for its next attempt, or is held without a sign of life. A moment further ahead was
# written down before the clock was set back, and nobody waits until it comes again.
LONGEST_WAIT = timedelta(minutes=2)
# ?1 is now, and ?2 so much later.
IS_LEFT = "status = 'running' AND (lease_until < ?1 OR lease_until > ?2)"
CLAIMABLE = (
    "WHERE priority = ?3 AND status IN ('queued', 'running') "
    f"AND ((status = 'queued' AND (available_at <= ?1 OR available_at > ?2)) OR ({IS_LEFT})) "
    "ORDER BY priority, id LIMIT 1"
)
# A lane keeps the order in which jobs came, but a note overtakes files, and a job that failed comes after later ones.
# Of those that completed only the few that overtook it come after a job. A file may be a duplicate by its bytes alone;
# then its job has said nothing of the path. A note never is.
IS_OVERTAKEN = (
    "WHERE status = 'completed' AND id > ?1 "
    "AND document_id = (SELECT id FROM documents WHERE source_path = ?2 ORDER BY id LIMIT 1) "
    "AND (kind = 'note' OR NOT is_duplicate)"
)
OVERTAKEN = "A later submission for the same source path was done first, so this one changed nothing."


class ClaimsPart:
    """The part of the store that gives jobs to workers."""

    _database: Database
    _model_fingerprint: str

    def claim_job(self, lane: Lane, *, now: datetime, lease_until: datetime) -> Claim | None:
        # Most looks at the queue find nothing; those must not make other writers wait.
        with self._database.read() as db:
            if _find_claimable(db, lane, now) is None:
                return None
            _refuse_other_model(db, self._model_fingerprint)
        with self._database.write() as db:
            _give_up_hopeless_jobs(db, now)
            job_id = _find_claimable(db, lane, now, hold=db.dialect.skip_locked)
            if job_id is None:
                return None
            ((attempt, failures, kind, cursor, submitted_by),) = fetch_all(
                db,
                "UPDATE jobs SET status = 'running', attempts = attempts + 1, lease_until = ?, "
                "started_at = ? WHERE id = ? "
                "RETURNING attempts, attempts - attempts_before - 1, kind, cursor, submitted_by",
                (to_text(lease_until), to_text(now), job_id),
            )
            announce_job(db, JobId(job_id))
            try:
                work = to_work(kind, db.execute("SELECT payload FROM jobs WHERE id = ?", (job_id,)).get)
            except (ValueError, LookupError, TypeError):
                # The next one may be whole: a job that cannot even be read must not stand in its way.
                _end_as_failed(db, job_id, DAMAGED, now)
                return None
            return Claim(JobId(job_id), attempt, failures, work, submitted_by, DocumentId(cursor))

    def renew_claim(self, claim: Claim, progress: Progress, *, lease_until: datetime) -> None:
        reported = (progress.step, progress.message, progress.completed_steps, progress.total_steps)
        with self._database.write() as db:
            require_claim(db, claim)
            known = db.execute(
                "SELECT step, message, completed_steps, total_steps FROM jobs WHERE id = ?", (claim.job_id,)
            ).fetchone()
            db.execute(
                "UPDATE jobs SET step = ?, message = ?, completed_steps = ?, total_steps = ?, lease_until = ? "
                "WHERE id = ?",
                (*reported, to_text(lease_until), claim.job_id),
            )
            if reported != known:
                announce_job(db, claim.job_id)

    def release_claim(self, claim: Claim, *, available_at: datetime) -> None:
        with self._database.write() as db:
            require_claim(db, claim)
            db.execute(
                "UPDATE jobs SET status = 'queued', attempts_before = attempts_before + 1, available_at = ?, "
                "lease_until = NULL WHERE id = ?",
                (to_text(available_at), claim.job_id),
            )
            announce_job(db, claim.job_id)
            db.wake_workers()

    def commit_document(self, claim: Claim, document: NewDocument, text: IndexedText, *, now: datetime) -> Committed:
        with self._database.write() as db:
            require_claim(db, claim)
            settled = _complete_if_settled(db, claim, document, now)
            if settled is not None:
                return settled
            same, _ = find_same_to_change(db, document)
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
            same, is_duplicate = find_same_document(db, document)
            if same is None or not (is_duplicate or _is_overtaken(db, claim, document)):
                return None
        with self._database.write() as db:
            require_claim(db, claim)
            return _complete_if_settled(db, claim, document, now)

    def fail_job(self, claim: Claim, error: JobError, *, retry_at: datetime | None, now: datetime) -> None:
        with self._database.write() as db:
            require_claim(db, claim)
            attempts_left = db.execute(
                "SELECT ? - (attempts - attempts_before) FROM jobs WHERE id = ?", (MAX_ATTEMPTS, claim.job_id)
            ).get
            if retry_at is not None and attempts_left > 0:
                db.execute(
                    "UPDATE jobs SET status = 'queued', available_at = ?, lease_until = NULL WHERE id = ?",
                    (to_text(retry_at), claim.job_id),
                )
                announce_job(db, claim.job_id)
            else:
                _end_as_failed(db, claim.job_id, error, now)


def _find_claimable(db: Connection, lane: Lane, now: datetime, *, hold: str = "") -> int | None:
    # SQLite would prefer another index, and read and sort the whole queue for each claim.
    jobs = f"jobs {db.dialect.by_index('jobs_to_do')}"
    values = (*_bounds_of_waiting(now), PRIORITY_OF_LANE[lane])
    found: int | None = db.execute(f"SELECT id FROM {jobs} {CLAIMABLE} {hold}", values).get
    return found


def _bounds_of_waiting(now: datetime) -> tuple[str, str]:
    return to_text(now), to_text(now + LONGEST_WAIT)


def _refuse_other_model(db: Connection, model: str) -> None:
    """Documents must get vectors of the engine's model, which a worker that was started otherwise has not."""
    wanted = read_meta(db, "wanted_model")
    if wanted not in (None, model):
        raise Unavailable(f"The engine's model is {wanted}, and this worker has {model}. Give it the engine's.")


def _give_up_hopeless_jobs(db: Connection, now: datetime) -> None:
    """A job whose every attempt killed its worker would go on killing them."""
    hopeless = fetch_all(
        db,
        f"SELECT id FROM jobs WHERE {IS_LEFT} AND attempts - attempts_before >= ?3 {db.dialect.skip_locked}",
        (*_bounds_of_waiting(now), MAX_ATTEMPTS),
    )
    for (job_id,) in hopeless:
        _end_as_failed(db, job_id, HOPELESS, now)


def _end_as_failed(db: Connection, job_id: int, error: JobError, now: datetime) -> None:
    db.execute(
        "UPDATE jobs SET status = 'failed', error_code = ?, error_message = ?, lease_until = NULL, finished_at = ? "
        "WHERE id = ?",
        (error.code, error.message, to_text(now), job_id),
    )
    announce_job(db, JobId(job_id))


def require_claim(db: Connection, claim: Claim) -> None:
    holds = db.execute(
        f"SELECT 1 FROM jobs WHERE id = ? AND status = 'running' AND attempts = ? {db.dialect.for_update}",
        (claim.job_id, claim.attempt),
    ).fetchone()
    if holds is None:
        raise ClaimLost(f"Attempt {claim.attempt} of job {claim.job_id} no longer counts.")


def _is_overtaken(db: Connection, claim: Claim, document: NewDocument) -> bool:
    """Whether what stands at the document's source path was submitted later."""
    jobs = f"jobs {db.dialect.by_index('jobs_by_status')}"
    found = db.execute(f"SELECT EXISTS (SELECT 1 FROM {jobs} {IS_OVERTAKEN})", (claim.job_id, document.source_path)).get
    return bool(found)


def _complete_if_settled(db: Connection, claim: Claim, document: NewDocument, now: datetime) -> Committed | None:
    """Complete the job with the document that is there, if that holds the same, or what was submitted later."""
    same, is_duplicate = find_same_to_change(db, document)
    if same is not None and is_duplicate:
        _join_duplicate(db, same, document, now)
    elif same is not None and _is_overtaken(db, claim, document):
        db.execute("UPDATE jobs SET message = ? WHERE id = ?", (OVERTAKEN, claim.job_id))
    else:
        return None
    _complete_job(db, claim, same, is_duplicate=True, now=now)
    # Of a file that is overtaken, or holds the same bytes as a note, nothing has a use for the uploaded ones.
    return Committed(same, is_duplicate=True, released_original=document.original)


def _join_duplicate(db: Connection, same: DocumentId, new: NewDocument, now: datetime) -> None:
    has_new_tags = add_tags(db, same, new.tags)
    has_new_path = new.source_path is not None and fetch_all(
        db,
        "UPDATE documents SET source_path = ? WHERE id = ? AND source_path IS NULL RETURNING id",
        (new.source_path, same),
    )
    if has_new_tags or has_new_path:
        record_change(db, Action.TAGS_CHANGED if has_new_tags else Action.PROPERTIES_CHANGED, same, now)


def _complete_job(db: Connection, claim: Claim, document_id: DocumentId, *, is_duplicate: bool, now: datetime) -> None:
    document = load_document(db, document_id)
    db.execute(
        "UPDATE jobs SET document_id = ?, document_uuid = ?, chunks_created = ?, is_duplicate = ? WHERE id = ?",
        (
            document_id,
            document.uuid.bytes,
            0 if is_duplicate else document.chunk_count,
            is_duplicate,
            claim.job_id,
        ),
    )
    end_job(db, claim, now)


def end_job(db: Connection, claim: Claim, now: datetime) -> None:
    """Complete the job and forget what it was given: the document has it now, or has it no longer.

    Its last message stays, so that nobody misses the last page who looks in time for the page before.
    """
    db.execute(
        "UPDATE jobs SET status = 'completed', payload = NULL, original = NULL, lease_until = NULL, step = '', "
        "completed_steps = CASE WHEN total_steps < 1 THEN 1 ELSE total_steps END, "
        "total_steps = CASE WHEN total_steps < 1 THEN 1 ELSE total_steps END, finished_at = ? WHERE id = ?",
        (to_text(now), claim.job_id),
    )
    announce_job(db, claim.job_id)
