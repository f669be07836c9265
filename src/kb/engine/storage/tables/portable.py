"""Whole documents out of a base and into it, with everything that belongs to them and nothing made anew."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from kb.engine.model import Action, DocumentId, Vectors
from kb.engine.model.portable import (
    Arrival,
    Arrived,
    DocumentRecord,
    PortableChunk,
    PortableDocument,
    PortableHead,
    PortableRevision,
)
from kb.engine.storage.tables.chunks import spaced_or_none
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.journal import record_document
from kb.engine.storage.tables.rows import (
    CHUNK_BYTES,
    count_fitting,
    fetch_all,
    find_id,
    load_document,
    lock_document,
    to_json,
    to_text,
)
from kb.engine.storage.tables.tags import replace_all_tags

# The most that is read at once.
MOST_ROWS = 500
MOST_BYTES = 1024 * 1024

# A larger one, which only a forged document has, would leave no room for the ids to come.
LARGEST_KEPT_ID = 2**31

COLUMNS = (
    "uuid, doc_type, format, title, search_title, title_is_given, filename, source_path, size_bytes, content_hash, "
    "original, metadata, processing_method, chunk_count, version, created_at, updated_at, vector_model, note_text"
)


class PortablePart:
    """The part of the store that gives and takes whole documents."""

    _database: Database

    def find_portable(self, *, after: DocumentId) -> PortableHead | None:
        with self._database.read() as db:
            found = fetch_all(
                db, "SELECT id, vector_model, note_text FROM documents WHERE id > ? ORDER BY id LIMIT 1", (after,)
            )
            for document_id, vector_model, note_text in found:
                return PortableHead(load_document(db, document_id), vector_model, note_text)
        return None

    def list_portable_revisions(self, document_id: DocumentId, *, after: int) -> list[PortableRevision]:
        following = "FROM note_revisions WHERE document_id = ? AND version > ? ORDER BY version LIMIT ?"
        with self._database.read() as db:
            sizes = fetch_all(
                db,
                f"SELECT octet_length(title) + COALESCE(octet_length(text), 0) {following}",
                (document_id, after, MOST_ROWS),
            )
            fitting = count_fitting((size for (size,) in sizes), max_bytes=MOST_BYTES)
            rows = fetch_all(
                db,
                f"SELECT version, title, title_is_given, text, content_hash, created_at {following}",
                (document_id, after, fitting),
            )
        return [
            PortableRevision(version, title, bool(is_given), text, content_hash, datetime.fromisoformat(created_at))
            for version, title, is_given, text, content_hash, created_at in rows
        ]

    def list_portable_chunks(self, document_id: DocumentId, *, offset: int) -> list[PortableChunk]:
        following = "FROM chunks WHERE document_id = ? AND ordinal >= ? ORDER BY ordinal LIMIT ?"
        with self._database.read() as db:
            sizes = fetch_all(db, f"SELECT {CHUNK_BYTES} {following}", (document_id, offset, MOST_ROWS))
            fitting = count_fitting((size for (size,) in sizes), max_bytes=MOST_BYTES)
            rows = fetch_all(db, f"SELECT uuid, text, heading, page_num {following}", (document_id, offset, fitting))
        return [PortableChunk(UUID(bytes=uuid), text, heading, page_num) for uuid, text, heading, page_num in rows]

    def read_portable_vectors(self, document_id: DocumentId, *, offset: int) -> Vectors:
        with self._database.read() as db:
            return db.read_vectors(document_id, offset=offset, limit=MOST_ROWS)

    def add_portable(self, document: PortableDocument, *, now: datetime) -> Arrived:
        record = document.record
        with self._database.write() as db:
            found = find_id(db, "documents", record.uuid)
            if found is None:
                document_id = _insert_row(db, record)
                _fill(db, document_id, document)
                record_document(db, Action.DOCUMENT_ADDED, load_document(db, document_id), now)
                return Arrived(Arrival.ADDED)
            lock_document(db, DocumentId(found))
            former = load_document(db, DocumentId(found))
            if former.version >= record.version:
                return Arrived(Arrival.UNCHANGED)
            db.delete_chunks(former.id)
            db.execute("DELETE FROM note_revisions WHERE document_id = ?", (former.id,))
            names = COLUMNS.split(", ")
            db.execute(
                f"UPDATE documents SET ({COLUMNS}) = ({', '.join('?' * len(names))}) WHERE id = ?",
                (*_values(record), former.id),
            )
            _fill(db, former.id, document)
            record_document(db, Action.DOCUMENT_REPLACED, load_document(db, former.id), now)
            return Arrived(Arrival.REPLACED, released_original=former.original)


def _insert_row(db: Connection, record: DocumentRecord) -> DocumentId:
    """Under its own id, unless that was ever given to another document here."""
    db.lock("ids of documents")
    names, values = COLUMNS, _values(record)
    if db.highest_id("documents") < record.id <= LARGEST_KEPT_ID:
        db.reserve_ids("documents", up_to=record.id)
        names, values = f"id, {COLUMNS}", [record.id, *values]
    document_id: DocumentId = db.execute(
        f"INSERT INTO documents ({names}) VALUES ({', '.join('?' * len(values))}) RETURNING id", values
    ).get
    return document_id


def _values(record: DocumentRecord) -> Sequence[str | int | bytes | None]:
    return (
        record.uuid.bytes,
        record.doc_type,
        record.format,
        record.title,
        spaced_or_none(record.title),
        record.title_is_given,
        record.filename,
        record.source_path,
        record.size_bytes,
        record.content_hash,
        record.original,
        to_json(record.metadata),
        record.processing_method,
        len(record.chunks),
        record.version,
        to_text(record.created_at),
        None if record.updated_at is None else to_text(record.updated_at),
        record.vector_model,
        record.note_text,
    )


def _fill(db: Connection, document_id: DocumentId, document: PortableDocument) -> None:
    """Give a row of `documents` all that stands in other tables."""
    record = document.record
    replace_all_tags(db, document_id, record.tags)
    for revision in record.revisions:
        db.execute(
            "INSERT INTO note_revisions (document_id, version, title, title_is_given, text, content_hash, created_at) "
            "VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                document_id,
                revision.version,
                revision.title,
                revision.title_is_given,
                revision.text,
                revision.content_hash,
                to_text(revision.created_at),
            ),
        )
    vectors = document.vectors if len(document.vectors) else None
    db.insert_chunks(document_id, record.chunks, vectors, model=record.vector_model)
