"""Making chunks and vectors anew: after a change of the model, or because somebody asks for it.

Vectors of two models never meet: a search uses those of its own model, and only once every document has them. That
moment is one row: `model` in `meta`.
"""

from collections.abc import Collection
from datetime import datetime

from kb.engine.model import Claim, DocumentId, IndexedText, IndexSource, Job, ReindexSubmission
from kb.engine.storage.tables.chunks import insert_chunks, spaced_or_none
from kb.engine.storage.tables.claims import end_job, require_claim
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.job_rows import load_job, to_payload
from kb.engine.storage.tables.jobs import insert_job
from kb.engine.storage.tables.meta import declare_whole, read_meta, write_meta
from kb.engine.storage.tables.rows import fetch_all, load_unchanged_document

# Not `!=`, which no index serves.
STALE = "(vector_model < ?1 OR vector_model > ?1) AND chunk_count > 0"
TO_INDEX = {IndexSource.ORIGINALS: "?1 = ?1", IndexSource.CHUNKS: STALE}


class ReindexingPart:
    """The part of the store that makes derived data anew."""

    _database: Database
    _model_fingerprint: str

    def adopt_model(self, *, now: datetime) -> bool:
        with self._database.write() as db:
            write_meta(db, "wanted_model", self._model_fingerprint)
            is_whole = not _list_stale_documents(db, self._model_fingerprint, limit=1)
            if is_whole:
                declare_whole(db, self._model_fingerprint)
            else:
                _ensure_job(db, ReindexSubmission(IndexSource.CHUNKS), now)
            return is_whole

    def add_reindex(self, *, now: datetime) -> Job:
        with self._database.write() as db:
            return _ensure_job(db, ReindexSubmission(IndexSource.ORIGINALS), now)

    def has_whole_vectors(self) -> bool:
        with self._database.read() as db:
            return read_meta(db, "model") == self._model_fingerprint

    def list_documents_to_index(self, source: IndexSource, *, after: DocumentId, limit: int) -> list[DocumentId]:
        with self._database.read() as db:
            rows = db.execute(
                f"SELECT id FROM documents WHERE id > ?2 AND {TO_INDEX[source]} ORDER BY id LIMIT ?3",
                (self._model_fingerprint, after, limit),
            )
            return [DocumentId(row[0]) for row in rows]

    def count_documents_to_index(self, source: IndexSource, *, after: DocumentId) -> int:
        with self._database.read() as db:
            count: int = db.execute(
                f"SELECT count(*) FROM documents WHERE id > ?2 AND {TO_INDEX[source]}", (self._model_fingerprint, after)
            ).get
        return count

    def replace_text(self, claim: Claim, document_id: DocumentId, text: IndexedText, *, expected_version: int) -> None:
        with self._database.write() as db:
            require_claim(db, claim)
            title = load_unchanged_document(db, document_id, expected_version).title
            db.delete_chunks(document_id)
            # Derived, too: and while there are no chunks, nothing else has to follow it.
            db.execute("UPDATE documents SET search_title = ? WHERE id = ?", (spaced_or_none(title), document_id))
            insert_chunks(db, document_id, text)
            # It has come further: the attempts that it has are counted from here.
            db.execute(
                "UPDATE jobs SET cursor = ?, attempts_before = attempts - 1 WHERE id = ?", (document_id, claim.job_id)
            )

    def complete_reindex(self, claim: Claim, *, unreadable: Collection[DocumentId], now: datetime) -> bool:
        with self._database.write() as db:
            require_claim(db, claim)
            stale = _list_stale_documents(db, self._model_fingerprint, limit=len(unreadable) + 1)
            if not stale <= set(unreadable):
                return False
            declare_whole(db, self._model_fingerprint)
            end_job(db, claim, now)
            return True


def _list_stale_documents(db: Connection, model: str, *, limit: int) -> set[DocumentId]:
    rows = db.execute(f"SELECT id FROM documents WHERE {STALE} LIMIT ?2", (model, limit))
    return {DocumentId(row[0]) for row in rows}


def _ensure_job(db: Connection, submission: ReindexSubmission, now: datetime) -> Job:
    """The job that does just this and has not ended, or a new one."""
    db.lock("reindexing")
    rows = fetch_all(
        db,
        "SELECT id FROM jobs WHERE status IN ('queued', 'running') AND kind = 'reindex' AND payload = ?",
        (to_payload(submission),),
    )
    return load_job(db, rows[0][0]) if rows else insert_job(db, submission, now)
