"""The chunks of a document in SQLite, with their words and vectors: written together, deleted together."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import apsw

from kb.engine.model import ChunkId, DocumentId, Vector
from kb.engine.model.portable import PortableChunk
from kb.engine.storage.sqlite.index_log import log_change
from kb.engine.storage.tables.chunks import spaced_or_none

# Taking words out of the full-text index for good costs 1.8 ms a chunk, marking them as deleted 0.03 ms. Beyond this
# many they are only marked, and gone when FTS5 next merges that part of its index.
MAX_SECURELY_DELETED_CHUNKS = 50


def insert_chunk(
    db: apsw.Connection, document_id: int, ordinal: int, chunk: PortableChunk, *, chunk_id: int | None = None
) -> ChunkId:
    """Under a new id unless one is given. Its document must know that it has changed: see `log_change`."""
    db.execute(
        "INSERT INTO chunks "
        "(id, uuid, document_id, ordinal, text, search_text, heading, search_heading, page_num, checksum) "
        "VALUES (?9, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, checksum(?1, ?2, ?3, ?4, ?6, ?8))",
        (
            chunk.uuid.bytes,
            document_id,
            ordinal,
            chunk.text,
            spaced_or_none(chunk.text),
            chunk.heading,
            spaced_or_none(chunk.heading),
            chunk.page_num,
            chunk_id,
        ),
    )
    return ChunkId(db.last_insert_rowid())


def insert_vector(db: apsw.Connection, chunk_id: ChunkId, vector: Vector) -> None:
    db.execute(
        "INSERT INTO embeddings (chunk_id, vector, checksum) VALUES (?1, ?2, checksum(?1, ?2))",
        (chunk_id, vector.astype("<f4").tobytes()),
    )


def delete_chunks(db: apsw.Connection, document_id: DocumentId) -> None:
    with secure_delete_unless_many(db, document_id):
        db.execute("DELETE FROM chunks WHERE document_id = ?", (document_id,))
    log_change(db, document_id)


def secure_delete_unless_many(db: apsw.Connection, document_id: DocumentId) -> AbstractContextManager[None]:
    """Do without FTS5's secure-delete if the document has many chunks."""
    count: int = db.execute("SELECT chunk_count FROM documents WHERE id = ?", (document_id,)).get
    return without_secure_delete(db) if count > MAX_SECURELY_DELETED_CHUNKS else nullcontext()


@contextmanager
def without_secure_delete(db: apsw.Connection) -> Iterator[None]:
    db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('secure-delete', 0)")
    yield
    db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('secure-delete', 1)")


def empty_full_text(db: apsw.Connection) -> None:
    """Take all words out of the full-text index at once.

    It is dropped and created, not told to `delete-all` or `rebuild`: these set back what FTS5 notes of the first word
    that was deleted for good, and of such notes other processes are then not told. They would take the pages that
    such deletions leave empty for damage.
    """
    created_by = db.execute("SELECT sql FROM sqlite_schema WHERE name = 'chunks_fts'").get
    db.execute("DROP TABLE chunks_fts")
    db.execute(created_by)
    db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('secure-delete', 1)")
