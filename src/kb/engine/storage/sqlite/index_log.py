"""The log from which indexes in memory learn what changed, whichever process changed it."""

import apsw

from kb.engine.model import DocumentId
from kb.engine.storage.tables.rows import fetch_all

# An index that lags further behind reads everything anew, which is then the quicker way.
KEPT_CHANGES = 100_000


def log_change(db: apsw.Connection, document_id: DocumentId | None) -> None:
    """Note, in the transaction that does it, that the chunks of a document (None: of all) change."""
    db.execute("INSERT INTO index_log (document_id) VALUES (?)", (document_id,))
    db.execute("DELETE FROM index_log WHERE seq <= ?", (db.last_insert_rowid() - KEPT_CHANGES,))


def newest_change(db: apsw.Connection) -> int:
    seq: int = db.execute("SELECT COALESCE(max(seq), 0) FROM index_log").get
    return seq


def documents_changed_since(db: apsw.Connection, seq: int) -> tuple[int, set[int] | None]:
    """The newest change, and the documents changed after `seq`; None if that can no longer be told, or is all."""
    tail = fetch_all(db, "SELECT seq, document_id FROM index_log WHERE seq > ? ORDER BY seq", (seq,))
    if not tail:
        return seq, set()
    has_gap = tail[0][0] != seq + 1
    documents = {document_id for _, document_id in tail}
    return tail[-1][0], None if has_gap or None in documents else documents
