"""What happened, written down in the transaction in which it happens: for the audit log and for those who watch."""

from datetime import datetime
from typing import Any
from uuid import UUID

from kb.engine.caller import current_caller
from kb.engine.model import Action, AuditEntry, Document, DocumentId, Event, EventKind, JobId, Page
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.rows import load_document, to_text

# Whoever has missed more than these is told to look at everything anew.
KEPT_EVENTS = 10_000

# Every other is a change.
EVENT_OF_ACTION = {
    Action.DOCUMENT_ADDED: EventKind.DOCUMENT_ADDED,
    Action.DOCUMENT_DELETED: EventKind.DOCUMENT_DELETED,
}


class JournalPart:
    """The part of the store that tells what happened."""

    _database: Database

    def list_audit_log(self, *, document_id: int | None, limit: int, offset: int) -> Page[AuditEntry]:
        condition, values = ("1 = 1", ()) if document_id is None else ("document_id = ?", (document_id,))
        with self._database.read() as db:
            total = db.execute(f"SELECT count(*) FROM audit_log WHERE {condition}", values).get
            rows = db.execute(
                "SELECT id, at, key_name, request_id, action, document_id, job_id FROM audit_log "
                f"WHERE {condition} ORDER BY id DESC LIMIT ? OFFSET ?",
                (*values, limit, offset),
            )
            return Page([_to_audit_entry(row) for row in rows], total)

    def forget_audit_log(self, *, before: datetime) -> None:
        with self._database.write() as db:
            db.execute("DELETE FROM audit_log WHERE at < ?", (to_text(before),))

    def newest_event(self) -> int:
        with self._database.read() as db:
            newest: int = db.execute("SELECT COALESCE(max(seq), 0) FROM events").get
        return newest

    def list_events(self, *, after: int, limit: int) -> list[Event]:
        with self._database.read() as db:
            rows = db.execute(
                "SELECT seq, kind, document_id, document_uuid, job_id FROM events WHERE seq > ? ORDER BY seq LIMIT ?",
                (after, limit),
            )
            return [_to_event(row) for row in rows]


def record_document(db: Connection, action: Action, document: Document, now: datetime) -> None:
    """Note that a document was added, changed or deleted."""
    kind = EVENT_OF_ACTION.get(action, EventKind.DOCUMENT_CHANGED)
    _audit(db, action, now, document_id=document.id, job_id=current_caller().job_id)
    db.insert_event(kind, document.id, document.uuid, None)


def record_change(db: Connection, action: Action, document_id: DocumentId, now: datetime) -> Document:
    """Give a document that was changed its next version, and note the change; returns it as it now is."""
    db.execute("UPDATE documents SET version = version + 1, updated_at = ? WHERE id = ?", (to_text(now), document_id))
    changed = load_document(db, document_id)
    record_document(db, action, changed, now)
    return changed


def record_clearing(db: Connection, now: datetime) -> None:
    _audit(db, Action.EVERYTHING_DELETED, now)
    db.insert_event(EventKind.EVERYTHING_DELETED, None, None, None)


def record_job(db: Connection, action: Action, job_id: JobId, now: datetime) -> None:
    """Note what a caller did with a job."""
    _audit(db, action, now, job_id=job_id)
    announce_job(db, job_id)


def announce_job(db: Connection, job_id: JobId) -> None:
    """Tell those who watch that a job is further than it was."""
    db.insert_event(EventKind.JOB, None, None, job_id)


def announce_map(db: Connection) -> None:
    """Tell those who watch that documents lie elsewhere on the map."""
    db.insert_event(EventKind.MAP_CHANGED, None, None, None)


def _audit(
    db: Connection,
    action: Action,
    now: datetime,
    *,
    document_id: DocumentId | None = None,
    job_id: JobId | None = None,
) -> None:
    caller = current_caller()
    db.execute(
        "INSERT INTO audit_log (at, key_name, request_id, action, document_id, job_id) VALUES (?, ?, ?, ?, ?, ?)",
        (to_text(now), caller.key_name, caller.request_id, action.value, document_id, job_id),
    )


def _to_audit_entry(row: tuple[Any, ...]) -> AuditEntry:
    return AuditEntry(row[0], datetime.fromisoformat(row[1]), row[2], row[3], Action(row[4]), row[5], row[6])


def _to_event(row: tuple[Any, ...]) -> Event:
    return Event(row[0], EventKind(row[1]), row[2], None if row[3] is None else UUID(bytes=row[3]), row[4])
