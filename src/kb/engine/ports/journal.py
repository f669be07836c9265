"""What happened, for the audit log and for those who watch."""

from datetime import datetime
from typing import Protocol

from kb.engine.model import AuditEntry, Event, Page


class Journal(Protocol):
    def list_audit_log(self, *, document_id: int | None, limit: int, offset: int) -> Page[AuditEntry]:
        """Who changed what, newest first."""
        ...

    def forget_audit_log(self, *, before: datetime) -> None: ...

    def newest_event(self) -> int: ...

    def list_events(self, *, after: int, limit: int) -> list[Event]:
        """What happened after that event, in order. Of long ago only the newest is known."""
        ...
