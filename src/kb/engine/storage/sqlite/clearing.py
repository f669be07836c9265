"""Deletes the documents of a large base in pieces, so that others can write in between.

Each piece deletes whole documents. If the engine dies between two pieces, the documents that are left are whole, and
the request, which was not answered, can be repeated.
"""

import json
from datetime import datetime

from kb.engine.model import Cleared, DocumentId
from kb.engine.storage.sqlite.chunks import without_secure_delete
from kb.engine.storage.sqlite.connection import SqliteConnection
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.index_log import log_change
from kb.engine.storage.tables.journal import record_clearing
from kb.engine.storage.tables.rows import fetch_all
from kb.engine.storage.tables.tags import delete_unused_tags

# One transaction for 100,000 chunks keeps other writers out for five seconds.
MAX_CHUNKS_AT_ONCE = 5_000
CHUNKS_PER_PIECE = 2_000
MAX_DOCUMENTS_PER_PIECE = 1_000


def delete_most_documents(database: Database, *, now: datetime) -> Cleared:
    """Delete documents until so few chunks are left that one transaction can delete them."""
    deleted = Cleared(0, 0, 0)
    while _is_large(database):
        with database.write() as db:
            if not deleted.documents_removed:
                record_clearing(db, now)
            deleted += _delete_piece(db)
    return deleted


def _is_large(database: Database) -> bool:
    with database.read() as db:
        chunks: int = db.execute("SELECT COALESCE(sum(chunk_count), 0) FROM documents").get
    return chunks > MAX_CHUNKS_AT_ONCE


def _delete_piece(db: SqliteConnection) -> Cleared:
    document_ids, deleted = _choose_piece(db)
    ids = json.dumps(document_ids)
    tags = fetch_all(db, f"SELECT DISTINCT tag_id FROM document_tags WHERE document_id IN {db.dialect.id_list}", (ids,))
    for document_id in document_ids:
        log_change(db, document_id)
    # One statement deletes all: before each further one FTS5 would write its memory to the index. The last step of the
    # clearing empties the index, so no word stays in it.
    with without_secure_delete(db):
        db.execute(f"DELETE FROM chunks WHERE document_id IN {db.dialect.id_list}", (ids,))
    db.execute(f"DELETE FROM documents WHERE id IN {db.dialect.id_list}", (ids,))
    delete_unused_tags(db, [row[0] for row in tags])
    return deleted


def _choose_piece(db: SqliteConnection) -> tuple[list[DocumentId], Cleared]:
    """The first documents that together have at most `CHUNKS_PER_PIECE` chunks; at least one."""
    rows = fetch_all(
        db,
        "SELECT id, chunk_count, COALESCE(octet_length(note_text), 0), "
        "(SELECT count(*) FROM chunks JOIN embeddings ON chunk_id = chunks.id WHERE document_id = d.id) "
        "FROM documents AS d ORDER BY id LIMIT ?",
        (MAX_DOCUMENTS_PER_PIECE,),
    )
    chosen: list[DocumentId] = []
    chunks, deleted = 0, Cleared(0, 0, 0)
    for document_id, chunk_count, note_bytes, vectors in rows:
        chunks += chunk_count
        if chosen and chunks > CHUNKS_PER_PIECE:
            break
        chosen.append(document_id)
        deleted += Cleared(1, vectors, note_bytes)
    return chosen, deleted
