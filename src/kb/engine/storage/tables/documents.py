"""Documents, their chunks, words and vectors: written together or not at all."""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from kb.engine.errors import Conflict, InvalidRequest, NotANote
from kb.engine.model import (
    OCR_FORCED,
    TOLD_OF_READING,
    Action,
    Cleared,
    DeletedDocument,
    Direction,
    Document,
    DocumentChange,
    DocumentDetail,
    DocumentId,
    DocumentOrder,
    DocumentQuery,
    IndexedText,
    Metadata,
    NewDocument,
    NoteContent,
    Page,
    Ref,
)
from kb.engine.model.hashes import hash_of_original
from kb.engine.model.limits import MAX_METADATA_BYTES, count_metadata_bytes
from kb.engine.storage.tables.chunks import insert_chunks, spaced_or_none
from kb.engine.storage.tables.connection import Connection, Database, Dialect
from kb.engine.storage.tables.journal import announce_job, record_change, record_clearing, record_document
from kb.engine.storage.tables.meta import declare_whole
from kb.engine.storage.tables.revisions import begin_revision, end_revision
from kb.engine.storage.tables.rows import (
    CHUNK_BYTES,
    CHUNK_COLUMNS,
    count_fitting,
    document_id_of,
    fetch_all,
    load_document,
    load_documents,
    load_unchanged_document,
    measure_documents,
    to_chunks,
    to_json,
    to_text,
)
from kb.engine.storage.tables.scope import condition_on_properties
from kb.engine.storage.tables.tags import add_tags, replace_all_tags
from kb.engine.words import fold

RECENCY = "COALESCE(updated_at, created_at)"

ORDERS = {
    DocumentOrder.RECENT: (RECENCY, Direction.DESCENDING),
    DocumentOrder.DATE_ADDED: ("created_at", Direction.DESCENDING),
    DocumentOrder.FILENAME: ("lower(filename)", Direction.ASCENDING),
    DocumentOrder.TITLE: ("lower(title)", Direction.ASCENDING),
    DocumentOrder.SIZE: ("size_bytes", Direction.DESCENDING),
    DocumentOrder.SOURCE_PATH: ("source_path", Direction.ASCENDING),
}

# What has none comes first, unless the order is turned round: the databases differ in what they do untold.
NULLS = {Direction.ASCENDING.value: "NULLS FIRST", Direction.DESCENDING.value: "NULLS LAST"}

# As many as there are.
NO_LIMIT = 2**62


class DocumentsPart:
    """The part of the store that keeps documents."""

    _database: Database
    _model_fingerprint: str

    def get_document(self, ref: Ref) -> Document:
        with self._database.read() as db:
            return load_document(db, document_id_of(db, ref))

    def read_document(
        self, ref: Ref, *, chunk_limit: int | None = None, chunk_offset: int = 0, max_bytes: int | None = None
    ) -> DocumentDetail:
        with self._database.read() as db:
            document_id = document_id_of(db, ref)
            if max_bytes is not None:
                chunk_limit = _count_fitting_chunks(db, document_id, chunk_limit, chunk_offset, max_bytes)
            return _load_detail(db, document_id, chunk_limit, chunk_offset)

    def list_documents(self, query: DocumentQuery) -> Page[Document]:
        expression, usual_direction = ORDERS[query.order]
        direction = (query.direction or usual_direction).value
        with self._database.read() as db:
            condition, values = _listing_condition(db.dialect, query)
            total = db.execute(f"SELECT count(*) FROM documents WHERE {condition}", values).get
            rows = db.execute(
                f"SELECT id FROM documents WHERE {condition} "
                f"ORDER BY {expression} {direction} {NULLS[direction]}, id {direction} LIMIT ? OFFSET ?",
                (*values, query.limit, query.offset),
            )
            ids = [row[0] for row in rows]
            ids = ids[: count_fitting(measure_documents(db, ids))]
            documents = load_documents(db, ids)
        return Page([documents[document_id] for document_id in ids], total)

    def replace_note(
        self,
        ref: Ref,
        revision: NoteContent,
        text: IndexedText,
        *,
        expected_version: int | None,
        now: datetime,
    ) -> DocumentDetail:
        with self._database.write() as db:
            note = load_unchanged_document(db, ref, expected_version)
            if note.doc_type != "note":
                raise NotANote(f"Document {note.id} is not a note; only notes can be rewritten in place.")
            is_new_revision = (revision.content_hash, revision.title) != (note.content_hash, note.title)
            if is_new_revision:
                end_revision(db, note.id)
            db.delete_chunks(note.id)
            db.execute(
                "UPDATE documents SET title = ?, search_title = ?, title_is_given = ?, filename = ?, note_text = ?, "
                "size_bytes = ?, content_hash = ? WHERE id = ?",
                (
                    revision.title,
                    spaced_or_none(revision.title),
                    revision.title_is_given,
                    revision.filename,
                    revision.text,
                    revision.size_bytes,
                    revision.content_hash,
                    note.id,
                ),
            )
            if revision.tags is not None:
                replace_all_tags(db, note.id, revision.tags)
            insert_chunks(db, note.id, text)
            changed = record_change(db, Action.NOTE_REWRITTEN, note.id, now)
            if is_new_revision:
                begin_revision(db, changed, now)
            return _load_detail(db, note.id, None, 0)

    def update_document(
        self,
        ref: Ref,
        change: DocumentChange,
        *,
        expected_version: int | None,
        now: datetime,
    ) -> Document:
        with self._database.write() as db:
            # Before the document, as whoever adds one does.
            db.lock(*([] if change.source_path is None else [f"path {change.source_path}"]))
            document = load_unchanged_document(db, ref, expected_version)
            new = _apply(change, document)
            # Compared as JSON: Python takes 1, 1.0 and true for equal.
            is_same_metadata = to_json(new.metadata, sort_keys=True) == to_json(document.metadata, sort_keys=True)
            if is_same_metadata and new == replace(document, metadata_json=new.metadata_json):
                return document
            if not is_same_metadata:
                _require_room_for_metadata(new.metadata, former=document.metadata)
            if new.source_path != document.source_path:
                _require_free_path(db, new)
            is_new_revision = new.title != document.title and document.doc_type == "note"
            if is_new_revision:
                end_revision(db, document.id)
            if new.title != document.title:
                with db.index_new_title(document.id, former=document.title):
                    db.execute(
                        "UPDATE documents SET title = ?, search_title = ?, title_is_given = ? WHERE id = ?",
                        (new.title, spaced_or_none(new.title), new.title_is_given, document.id),
                    )
            db.execute(
                "UPDATE documents SET metadata = ?, source_path = ?, filename = ? WHERE id = ?",
                (new.metadata_json, new.source_path, new.filename, document.id),
            )
            changed = record_change(db, Action.PROPERTIES_CHANGED, document.id, now)
            if is_new_revision:
                begin_revision(db, changed, now)
            return changed

    def delete_document(self, ref: Ref, *, expected_version: int | None, now: datetime) -> DeletedDocument:
        with self._database.write() as db:
            document = load_unchanged_document(db, ref, expected_version)
            db.delete_chunks(document.id)
            replace_all_tags(db, document.id, ())
            db.execute("DELETE FROM documents WHERE id = ?", (document.id,))
            record_document(db, Action.DOCUMENT_DELETED, document, now)
            return DeletedDocument(document.id, document.title, document.chunk_count, document.original)

    def delete_everything(self, *, now: datetime) -> Cleared:
        with self._database.write() as db:
            # The jobs first: whoever is just adding a document holds its job, and the document is gone with the others.
            db.execute(
                "UPDATE jobs SET payload = NULL, original = NULL WHERE status NOT IN ('queued', 'running') "
                "AND (payload IS NOT NULL OR original IS NOT NULL)"
            )
            cancelled = fetch_all(
                db,
                # Whoever repeats the request means it anew: what it brought the first time is gone.
                "UPDATE jobs SET status = 'cancelled', lease_until = NULL, idempotency_key = NULL, finished_at = ?, "
                "payload = NULL, original = NULL WHERE status IN ('queued', 'running') RETURNING id",
                (to_text(now),),
            )
            documents = db.execute("SELECT count(*) FROM documents").get
            vectors = db.execute("SELECT count(*) FROM embeddings").get
            note_bytes = db.execute("SELECT COALESCE(sum(octet_length(note_text)), 0) FROM documents").get
            db.delete_all_documents()
            declare_whole(db, self._model_fingerprint)
            record_clearing(db, now)
            for (job_id,) in cancelled:
                announce_job(db, job_id)
        return Cleared(documents, vectors, bytes_freed=int(note_bytes))

    def is_original_in_use(self, original: str) -> bool:
        with self._database.read() as db:
            return bool(
                db.execute(
                    # A file's hash names its original a second time: one damaged byte must not make it a stray.
                    "SELECT EXISTS (SELECT 1 FROM documents WHERE original = ?1) "
                    "OR EXISTS (SELECT 1 FROM documents WHERE content_hash = ?2 AND note_text IS NULL) "
                    "OR EXISTS (SELECT 1 FROM jobs WHERE original = ?1)",
                    (original, hash_of_original(original)),
                ).get
            )


def _load_detail(db: Connection, document_id: DocumentId, chunk_limit: int | None, chunk_offset: int) -> DocumentDetail:
    chunks = db.execute(
        f"SELECT {CHUNK_COLUMNS} FROM chunks WHERE document_id = ? ORDER BY ordinal LIMIT ? OFFSET ?",
        (document_id, NO_LIMIT if chunk_limit is None else chunk_limit, chunk_offset),
    )
    text = db.execute("SELECT note_text FROM documents WHERE id = ?", (document_id,)).get
    return DocumentDetail(load_document(db, document_id), to_chunks(chunks), text)


def _count_fitting_chunks(
    db: Connection, document_id: DocumentId, chunk_limit: int | None, chunk_offset: int, max_bytes: int
) -> int:
    sizes = fetch_all(
        db,
        f"SELECT {CHUNK_BYTES} FROM chunks WHERE document_id = ? ORDER BY ordinal LIMIT ? OFFSET ?",
        (document_id, NO_LIMIT if chunk_limit is None else chunk_limit, chunk_offset),
    )
    return count_fitting((size for (size,) in sizes), max_bytes=max_bytes)


def _listing_condition(dialect: Dialect, query: DocumentQuery) -> tuple[str, list[object]]:
    condition, values = condition_on_properties(query)
    if query.source_folder is not None:
        condition += " AND source_path >= ? AND source_path < ?"
        values += _paths_below(query.source_folder)
    if query.words is not None:
        condition += f" AND {dialect.names_hold}"
        values.append(fold(query.words))
    return condition, values


def _paths_below(folder: str) -> tuple[str, str]:
    """The first path that can lie in the folder, and the first after all of them: an index finds what is between."""
    separator = "\\" if "\\" in folder and "/" not in folder else "/"
    beginning = folder.rstrip(separator)
    return beginning + separator, beginning + chr(ord(separator) + 1)


def _apply(change: DocumentChange, document: Document) -> Document:
    new = document if change.source_path is None else document.moved_to(change.source_path)
    if change.title not in (None, new.title):
        new = replace(new, title=change.title, title_is_given=True)
    if change.metadata is not None:
        new = replace(new, metadata_json=to_json(_keep_wish(document.metadata, change.metadata)))
    return new


def _require_free_path(db: Connection, document: Document) -> None:
    """A source path names one document. It has to be locked before."""
    told = (document.source_path, document.id)
    other = db.execute("SELECT id FROM documents WHERE source_path = ? AND id != ? LIMIT 1", told).get
    if other is not None:
        raise Conflict(f"Document {other} already has that source path. Delete it first, or give it another.")


def _keep_wish(old: Metadata, new: Metadata) -> Metadata:
    """How the document is to be read stays, unless the new metadata speaks of it."""
    return {**{name: value for name, value in old.items() if name == OCR_FORCED}, **new}


def _require_room_for_metadata(new: Metadata, *, former: Metadata) -> None:
    """Raises `InvalidRequest`, but a document of an older base that already has too much may keep as much."""
    size_bytes = count_metadata_bytes(new)
    if size_bytes > MAX_METADATA_BYTES and size_bytes > count_metadata_bytes(former):
        raise InvalidRequest(
            f"The document would have {size_bytes} bytes of metadata, with what was read in its file. The most is "
            f"{MAX_METADATA_BYTES}. Give it less metadata."
        )


def insert_document(db: Connection, new: NewDocument, text: IndexedText, now: datetime) -> DocumentId:
    _require_room_for_metadata(new.metadata, former={})
    document_id: DocumentId = db.execute(
        "INSERT INTO documents (uuid, doc_type, format, title, search_title, title_is_given, filename, source_path, "
        "size_bytes, content_hash, original, note_text, metadata, processing_method, chunk_count, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?) RETURNING id",
        (
            uuid.uuid4().bytes,
            *_content_values(new),
            to_json(new.metadata),
            new.processing_method,
            to_text(now),
        ),
    ).get
    add_tags(db, document_id, new.tags)
    insert_chunks(db, document_id, text)
    added = load_document(db, document_id)
    record_document(db, Action.DOCUMENT_ADDED, added, now)
    if new.note_text is not None:
        begin_revision(db, added, now)
    return document_id


def overwrite_document(
    db: Connection, document_id: DocumentId, new: NewDocument, text: IndexedText, now: datetime
) -> None:
    """Give a document new content under its old id.

    Its tags and metadata are joined by the new ones, and a title that somebody gave it stays unless one is given now.
    How well it was read the last time no longer matters.
    """
    old = load_document(db, document_id)
    kept = {name: value for name, value in old.metadata.items() if name not in TOLD_OF_READING}
    metadata = {**kept, **new.metadata}
    _require_room_for_metadata(metadata, former=old.metadata)
    new = replace(new, source_path=new.source_path or old.source_path)
    if old.title_is_given and not new.title_is_given:
        new = replace(new, title=old.title, title_is_given=True)
    end_revision(db, document_id)
    db.delete_chunks(document_id)
    db.execute(
        "UPDATE documents SET doc_type = ?, format = ?, title = ?, search_title = ?, title_is_given = ?, "
        "filename = ?, source_path = ?, size_bytes = ?, content_hash = ?, original = ?, note_text = ?, "
        "metadata = ?, processing_method = ? WHERE id = ?",
        (*_content_values(new), to_json(metadata), new.processing_method, document_id),
    )
    add_tags(db, document_id, new.tags)
    insert_chunks(db, document_id, text)
    changed = record_change(db, Action.DOCUMENT_REPLACED, document_id, now)
    if new.note_text is not None:
        begin_revision(db, changed, now)


def _content_values(new: NewDocument) -> Sequence[str | int | None]:
    return (
        new.doc_type,
        new.format,
        new.title,
        spaced_or_none(new.title),
        new.title_is_given,
        new.filename,
        new.source_path,
        new.size_bytes,
        new.content_hash,
        new.original,
        new.note_text,
    )
