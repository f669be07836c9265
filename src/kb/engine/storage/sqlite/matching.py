"""Finding chunks in SQLite by their vectors, in memory."""

import apsw

from kb.engine.errors import Unavailable
from kb.engine.model import Ids, LoadedVectors, Mask, Scope, Vector, VectorMatches
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.match_expression import quote
from kb.engine.storage.sqlite.vectors.index import VectorIndex
from kb.engine.storage.sqlite.vectors.snapshot import Snapshot, SomeRows
from kb.engine.storage.sqlite.word_index import read_ids
from kb.engine.storage.tables.allowed import AllowedScopes
from kb.engine.storage.tables.id_sets import IdSet
from kb.engine.storage.words.phrases import find_excluded, find_required


class MatchingPart:
    """The part of the store that finds chunks by their meaning."""

    _database: Database
    _vectors: VectorIndex
    _allowed: AllowedScopes

    def find_by_vector(self, vector: Vector, scope: Scope, *, limit: int) -> VectorMatches:
        with self._database.read() as db:
            snapshot = self._catch_up(db)
            documents = self._allowed.find(db, scope)
            required = [IdSet(read_ids(db, quote(phrase))) for phrase in find_required(scope)]
            excluded = [IdSet(read_ids(db, quote(phrase))) for phrase in find_excluded(scope)]

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
