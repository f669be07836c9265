"""What happened: for the audit log and for those who watch."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from kb.engine.model.naming import DocumentId, JobId


class Action(StrEnum):
    """What a caller did, for the audit log."""

    JOB_SUBMITTED = "job_submitted"
    JOB_CANCELLED = "job_cancelled"
    JOB_RETRIED = "job_retried"
    DOCUMENT_ADDED = "document_added"
    DOCUMENT_REPLACED = "document_replaced"
    NOTE_REWRITTEN = "note_rewritten"
    PROPERTIES_CHANGED = "properties_changed"
    TAGS_CHANGED = "tags_changed"
    DOCUMENT_DELETED = "document_deleted"
    EVERYTHING_DELETED = "everything_deleted"


@dataclass(frozen=True)
class AuditEntry:
    id: int
    at: datetime
    key_name: str
    request_id: str | None
    action: Action
    document_id: DocumentId | None
    job_id: JobId | None


class EventKind(StrEnum):
    JOB = "job"
    DOCUMENT_ADDED = "document_added"
    DOCUMENT_CHANGED = "document_changed"
    DOCUMENT_DELETED = "document_deleted"
    EVERYTHING_DELETED = "everything_deleted"
    MAP_CHANGED = "map_changed"


@dataclass(frozen=True)
class Event:
    seq: int
    kind: EventKind
    document_id: DocumentId | None
    document_uuid: UUID | None
    job_id: JobId | None
