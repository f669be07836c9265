"""Finding chunks in SQLite by their vectors, in memory, and reading what was found."""

import json
from collections.abc import Sequence

import apsw
import numpy as np

from kb.engine.model import ChunkId, FoundChunk, Ids, LoadedVectors, Scope, Vector, VectorMatches
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.match_expression import build_phrase, has_word
from kb.engine.storage.sqlite.rows import CHUNK_COLUMNS, fetch_all, load_documents, to_chunks
from kb.engine.storage.sqlite.scope import condition_on_documents
from kb.engine.storage.sqlite.vectors import Mask, VectorIndex, VectorRows


class MatchingRows:
    """The part of the store that finds chunks by their meaning, and reads those found."""

    _database: Database
    _vectors: VectorIndex

    def find_by_vector(self, vector: Vector, scope: Scope, *, limit: int) -> VectorMatches:
        with self._database.read() as db:
            rows = self._vectors.catch_up(db)
            return rows.search(vector, _allowed_rows(db, rows, scope), limit=limit)

    def load_vectors(self, chunk_ids: Ids) -> LoadedVectors:
        with self._database.read() as db:
            return self._vectors.catch_up(db).load(chunk_ids)

    def load_chunks(self, chunk_ids: Sequence[ChunkId]) -> list[FoundChunk]:
        with self._database.read() as db:
            rows = fetch_all(
                db,
                f"SELECT {CHUNK_COLUMNS}, document_id FROM chunks WHERE id IN (SELECT value FROM json_each(?))",
                (json.dumps(list(chunk_ids)),),
            )
            documents = load_documents(db, sorted({row[-1] for row in rows}))
        chunks = to_chunks(rows)
        found = {chunk.id: FoundChunk(chunk, documents[row[-1]]) for chunk, row in zip(chunks, rows, strict=True)}
        return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]


def _allowed_rows(db: apsw.Connection, rows: VectorRows, scope: Scope) -> Mask:
    allowed = rows.is_alive[: rows.count].copy()
    if scope.limits_documents:
        condition, values = condition_on_documents(scope)
        documents = db.execute(f"SELECT id FROM documents WHERE {condition}", values)
        allowed &= np.isin(rows.document_ids[: rows.count], [row[0] for row in documents])
    for phrase in filter(has_word, scope.required):
        allowed &= np.isin(rows.chunk_ids[: rows.count], _chunks_with_phrase(db, phrase))
    for phrase in filter(has_word, scope.excluded):
        allowed &= ~np.isin(rows.chunk_ids[: rows.count], _chunks_with_phrase(db, phrase))
    return allowed


def _chunks_with_phrase(db: apsw.Connection, phrase: str) -> list[int]:
    found = db.execute("SELECT rowid FROM chunks_fts WHERE chunks_fts MATCH ?", (build_phrase(phrase),))
    return [row[0] for row in found]
