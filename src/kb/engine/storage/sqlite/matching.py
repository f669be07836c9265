"""Finding chunks in SQLite by their vectors, in memory, and reading what was found."""

import json
from collections.abc import Sequence

import apsw

from kb.engine.errors import Unavailable
from kb.engine.model import ChunkId, FoundChunk, Ids, LoadedVectors, Scope, Vector, VectorMatches
from kb.engine.storage.sqlite.allowed import AllowedScopes
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.id_sets import IdSet, Mask
from kb.engine.storage.sqlite.match_expression import build_phrase, has_word
from kb.engine.storage.sqlite.rows import CHUNK_COLUMNS, fetch_all, load_documents, to_chunks
from kb.engine.storage.sqlite.vectors.index import VectorIndex
from kb.engine.storage.sqlite.vectors.snapshot import Snapshot, SomeRows
from kb.engine.storage.sqlite.word_index import read_ids


class MatchingRows:
    """The part of the store that finds chunks by their meaning, and reads those found."""

    _database: Database
    _vectors: VectorIndex
    _allowed: AllowedScopes

    def find_by_vector(self, vector: Vector, scope: Scope, *, limit: int) -> VectorMatches:
        with self._database.read() as db:
            snapshot = self._catch_up(db)
            documents = self._allowed.find(db, scope)
            required = [IdSet(read_ids(db, build_phrase(phrase))) for phrase in filter(has_word, scope.required)]
            excluded = [IdSet(read_ids(db, build_phrase(phrase))) for phrase in filter(has_word, scope.excluded)]

        def allow(rows: SomeRows) -> Mask:
            allowed = rows.is_alive
            if documents is not None:
                allowed = allowed & documents.set.have(rows.document_ids)
            for chunks in required:
                allowed = allowed & chunks.have(rows.chunk_ids)
            for chunks in excluded:
                allowed = allowed & ~chunks.have(rows.chunk_ids)
            return allowed

        return snapshot.search(vector, allow, limit=limit)

    def load_vectors(self, chunk_ids: Ids) -> LoadedVectors:
        with self._database.read() as db:
            snapshot = self._catch_up(db)
        return snapshot.load(chunk_ids)

    def _catch_up(self, db: apsw.Connection) -> Snapshot:
        snapshot = self._vectors.catch_up(db)
        if snapshot is None:
            raise Unavailable("The index of vectors is being made. Until then, search by keyword.")
        return snapshot

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
