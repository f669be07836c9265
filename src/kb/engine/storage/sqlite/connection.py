"""What SQLite does in its own way."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from uuid import UUID

import apsw
import numpy as np

from kb.engine.model import DocumentId, EventKind, JobId, Vector, Vectors
from kb.engine.model.portable import PortableChunk
from kb.engine.storage.sqlite.chunks import (
    delete_chunks,
    empty_full_text,
    insert_chunk,
    insert_vector,
    secure_delete_unless_many,
)
from kb.engine.storage.sqlite.index_log import log_change
from kb.engine.storage.sqlite.vectors.files import remove_token
from kb.engine.storage.tables import journal
from kb.engine.storage.tables.rows import fetch_all

# The + keeps SQLite from walking through all documents of the model. A damaged vector is left out: numbers that are
# none, or too few of them, would spoil the whole map.
WHOLE_VECTORS = (
    "SELECT document_id, vector FROM documents "
    "JOIN chunks ON chunks.document_id = documents.id JOIN embeddings ON chunk_id = chunks.id "
    "WHERE +vector_model = ? AND documents.id IN (SELECT value FROM json_each(?)) "
    "AND embeddings.checksum = checksum(chunk_id, vector)"
)


class SqliteDialect:
    id_list = text_list = "(SELECT value FROM json_each(?))"
    # There is one writer at a time.
    for_update = for_use = skip_locked = ""
    join_from_left = "CROSS JOIN"
    # instr() rather than LIKE: nothing in the words is a wildcard.
    names_hold = "instr(fold(title || char(10) || filename || char(10) || COALESCE(source_path, '')), ?)"

    def by_index(self, index: str) -> str:
        return f"INDEXED BY {index}"

    def metadata_equals(self, key: str, value: object) -> tuple[str, list[object]]:
        condition, needed = _equals(value)
        entries = "SELECT 1 FROM json_each(metadata) AS entry"
        return f"EXISTS ({entries} WHERE entry.key = ? AND {condition})", [key, *needed]


def _equals(value: object) -> tuple[str, list[object]]:
    if value is None or isinstance(value, bool):
        return "entry.type = ?", [{None: "null", True: "true", False: "false"}[value]]
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        # As SQLite reads it; one beyond all floats is infinite.
        value = float(str(value))
    if isinstance(value, int | float):
        return "entry.type IN ('integer', 'real') AND entry.value = ?", [value]
    return "entry.type = 'text' AND entry.value = ?", [value]


class SqliteConnection(apsw.Connection):
    """Every base is opened with this class, because its file may come from others."""

    dialect = SqliteDialect()

    def __init__(self, path: Path | str, *, flags: int = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE) -> None:
        super().__init__(str(path), flags=flags)
        # No SQL can damage the file, and the schema can call only functions that are declared innocuous.
        self.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        self.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)

    def lock(self, *subjects: str) -> None:
        """There is one writer at a time."""

    def wake_workers(self) -> None:
        """The engine does so itself."""

    def insert_chunks(
        self, document_id: DocumentId, chunks: Sequence[PortableChunk], vectors: Vectors | None, *, model: str
    ) -> None:
        for ordinal, chunk in enumerate(chunks):
            chunk_id = insert_chunk(self, document_id, ordinal, chunk)
            if vectors is not None:
                insert_vector(self, chunk_id, vectors[ordinal])
        log_change(self, document_id)

    def delete_chunks(self, document_id: DocumentId) -> None:
        delete_chunks(self, document_id)

    def delete_all_documents(self) -> None:
        # The index is emptied at once. The triggers that would empty it chunk by chunk find no document any more.
        empty_full_text(self)
        self.pragma("defer_foreign_keys", "on")
        for table in (
            "note_revisions",
            "document_tags",
            "document_places",
            "documents",
            "embeddings",
            "chunks",
            "tags",
        ):
            self.execute(f"DELETE FROM {table}")
        log_change(self, None)
        remove_token(self)

    @contextmanager
    def index_new_title(self, document_id: DocumentId, *, former: str) -> Iterator[None]:
        # Triggers replace the old words in the index by the new ones.
        with secure_delete_unless_many(self, document_id):
            yield
        log_change(self, document_id)

    def read_vectors(self, document_id: DocumentId, *, offset: int, limit: int) -> Vectors:
        rows = fetch_all(
            self,
            "SELECT vector FROM chunks LEFT JOIN embeddings ON chunk_id = chunks.id WHERE document_id = ? "
            "AND ordinal >= ? ORDER BY ordinal LIMIT ?",
            (document_id, offset, limit),
        )
        if not rows:
            return np.empty((0, 0), np.float32)
        return np.frombuffer(b"".join(row[0] for row in rows), "<f4").reshape(len(rows), -1)

    def read_whole_vectors(self, document_ids: Sequence[int], *, model: str) -> Iterator[tuple[DocumentId, Vector]]:
        for document_id, vector in self.execute(WHOLE_VECTORS, (model, json.dumps(document_ids))):
            yield document_id, np.frombuffer(vector, "<f4")

    def insert_event(
        self, kind: EventKind, document_id: DocumentId | None, document_uuid: UUID | None, job_id: JobId | None
    ) -> None:
        self.execute(
            "INSERT INTO events (kind, document_id, document_uuid, job_id) VALUES (?, ?, ?, ?)",
            (kind.value, document_id, None if document_uuid is None else document_uuid.bytes, job_id),
        )
        self.execute("DELETE FROM events WHERE seq <= ?", (self.last_insert_rowid() - journal.KEPT_EVENTS,))

    def highest_id(self, table: str) -> int:
        found: int | None = self.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,)).get
        return found or 0

    def reserve_ids(self, table: str, up_to: int) -> None:
        """SQLite does so itself when a row has a higher one."""
