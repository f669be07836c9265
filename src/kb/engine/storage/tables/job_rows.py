"""How jobs look as rows, and back."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from uuid import UUID

from kb.engine.errors import JobNotFound
from kb.engine.model import (
    FileSubmission,
    IndexSource,
    Job,
    JobError,
    JobId,
    JobStatus,
    Lane,
    NoteSubmission,
    Progress,
    Ref,
    ReindexSubmission,
    Work,
)
from kb.engine.storage.tables.connection import Connection
from kb.engine.storage.tables.rows import damage_told, job_id_of, to_datetime, to_json

# The name of a note comes from its text, so it is the document's to keep, and gone when that is.
JOB_FILENAME = "COALESCE((SELECT d.filename FROM documents AS d WHERE d.id = jobs.document_id), jobs.filename)"
# A document is as old as the job that added it.
JOB_REPLACED = (
    "NOT is_duplicate AND EXISTS "
    "(SELECT 1 FROM documents AS d WHERE d.id = jobs.document_id AND d.created_at < jobs.finished_at)"
)
JOB_COLUMNS = (
    f"id, uuid, kind, status, step, completed_steps, total_steps, message, {JOB_FILENAME}, document_id, document_uuid, "
    "chunks_created, is_duplicate, error_code, error_message, attempts, created_at, started_at, finished_at, "
    f"{JOB_REPLACED}"
)

KIND_OF_WORK: dict[type[Work], str] = {
    NoteSubmission: "note",
    FileSubmission: "file",
    ReindexSubmission: "reindex",
}


LANE_OF_WORK: dict[type[Work], Lane] = {
    NoteSubmission: Lane.INTERACTIVE,
    FileSubmission: Lane.BULK,
    ReindexSubmission: Lane.UPKEEP,
}
PRIORITY_OF_LANE = {Lane.INTERACTIVE: 0, Lane.BULK: 1, Lane.UPKEEP: 2}


def priority_of(work: type[Work]) -> int:
    return PRIORITY_OF_LANE[LANE_OF_WORK[work]]


def to_payload(work: Work) -> str:
    return to_json(asdict(work))


def to_work(kind: str, payload: str) -> Work:
    """Raises `ValueError`, `LookupError` or `TypeError` for what is damaged."""
    fields = json.loads(payload)
    if kind == "reindex":
        return ReindexSubmission(IndexSource(fields["source"]))
    fields["tags"] = tuple(fields["tags"])
    return NoteSubmission(**fields) if kind == "note" else FileSubmission(**fields)


def load_job(db: Connection, job_id: int) -> Job:
    return to_job(db.execute(f"SELECT {JOB_COLUMNS} FROM jobs WHERE id = ?", (job_id,)).fetchall()[0])


def load_job_to_change(db: Connection, ref: Ref) -> Job:
    """Nobody else changes it before this transaction ends."""
    job_id = job_id_of(db, ref)
    if db.execute(f"SELECT id FROM jobs WHERE id = ? {db.dialect.for_update}", (job_id,)).get is None:
        raise JobNotFound(ref)
    return load_job(db, job_id)


@damage_told()
def to_job(row: Sequence[Any]) -> Job:
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
        is_replacement=bool(row[19]),
    )
