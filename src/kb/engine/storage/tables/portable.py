"""Whole documents out of a base and into it, with everything that belongs to them and nothing made anew."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

import numpy as np

from kb.engine.model import Action, DocumentId
from kb.engine.model.portable import (
    Arrival,
    Arrived,
    DocumentRecord,
    PortableChunk,
    PortableDocument,
    PortableRevision,
)
from kb.engine.storage.tables.chunks import spaced_or_none
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.journal import record_document
from kb.engine.storage.tables.rows import fetch_all, find_id, load_document, lock_document, to_json, to_text
from kb.engine.storage.tables.tags import replace_all_tags

# A larger one, which only a forged document has, would leave no room for the ids to come.
LARGEST_KEPT_ID = 2**31

COLUMNS = (
    "uuid, doc_type, format, title, search_title, title_is_given, filename, source_path, size_bytes, content_hash, "
    "original, metadata, processing_method, chunk_count, version, created_at, updated_at, vector_model, note_text"
)


class PortablePart:
    """The part of the store that gives and takes whole documents."""

    _database: Database

    def find_portable(self, *, after: DocumentId) -> PortableDocument | None:
        with self._database.read() as db:
            found = db.execute("SELECT id FROM documents WHERE id > ? ORDER BY id LIMIT 1", (after,)).get
            return None if found is None else _load_portable(db, DocumentId(found))

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


def _load_portable(db: Connection, document_id: DocumentId) -> PortableDocument:
    document = load_document(db, document_id)
    vector_model, note_text = fetch_all(
        db, "SELECT vector_model, note_text FROM documents WHERE id = ?", (document_id,)
    )[0]
    revisions = fetch_all(
        db,
        "SELECT version, title, title_is_given, text, content_hash, created_at FROM note_revisions "
        "WHERE document_id = ? ORDER BY version",
        (document_id,),
    )
    chunks = fetch_all(
        db,
        "SELECT uuid, text, heading, page_num FROM chunks WHERE document_id = ? ORDER BY ordinal",
        (document_id,),
    )
    record = DocumentRecord(
        id=document.id,
        uuid=document.uuid,
        title=document.title,
        title_is_given=document.title_is_given,
        doc_type=document.doc_type,
        format=document.format,
        filename=document.filename,
        source_path=document.source_path,
        size_bytes=document.size_bytes,
        content_hash=document.content_hash,
        original=document.original,
        tags=document.tags,
        metadata=document.metadata,
        processing_method=document.processing_method,
        version=document.version,
        created_at=document.created_at,
        updated_at=document.updated_at,
        vector_model=vector_model,
        note_text=note_text,
        revisions=tuple(
            PortableRevision(version, title, bool(is_given), text, content_hash, datetime.fromisoformat(created_at))
            for version, title, is_given, text, content_hash, created_at in revisions
        ),
        chunks=tuple(
            PortableChunk(UUID(bytes=uuid), text, heading, page_num) for uuid, text, heading, page_num in chunks
        ),
    )
    return PortableDocument(record, db.read_vectors(document_id) if vector_model else np.empty((0, 0), np.float32))


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
