"""Finding chunks in PostgreSQL by their vectors.

Few vectors are compared one by one: a small base, or what a filter leaves of a large one. Of many the nearest are asked
of an index (HNSW), which with a filter goes on looking until enough of what it finds is allowed; if it gives up before,
all that the filter allows are compared. A filter never comes afterwards: that would silently return too little.
"""

from collections.abc import Sequence
from contextlib import nullcontext

import numpy as np

from kb.engine.model import (
    NO_BACKGROUND,
    NO_MATCHES,
    Background,
    Ids,
    LoadedVectors,
    Matches,
    Scope,
    Vector,
    VectorMatches,
)
from kb.engine.storage.postgres.allowed import are_among, are_named
from kb.engine.storage.postgres.chunks import CHUNKS
from kb.engine.storage.postgres.connection import PostgresConnection
from kb.engine.storage.postgres.database import Database
from kb.engine.storage.postgres.phrase_conditions import LONGEST_SEARCH_SECONDS, condition_on_words, limits_words
from kb.engine.storage.postgres.values import VectorValue, to_vectors
from kb.engine.storage.tables.allowed import AllowedDocuments, AllowedScopes
from kb.engine.storage.tables.rows import fetch_all

# So many are compared one by one, in some 20 ms; the index takes 5, and misses a few.
COMPARED = 20_000
# The background of a search is told from so many vectors.
SAMPLED = 1_000
# pgvector remembers no more at a time; beyond that it may find too little.
MOST_ASKED = 1_000


class MatchingPart:
    """The part of the store that finds chunks by their meaning."""

    _database: Database
    _allowed: AllowedScopes
    _model_fingerprint: str

    def find_by_vector(self, vector: Vector, scope: Scope, *, limit: int) -> VectorMatches:
        with (
            self._database.read() as db,
            db.time_limited(LONGEST_SEARCH_SECONDS) if limits_words(scope) else nullcontext(),
        ):
            allowed = self._allowed.find(db, scope)
            if limit <= MOST_ASKED and not self._are_few(db, scope, allowed):
                condition, values = _condition(scope, are_among(allowed))
                found = self._ask_index(db, vector, condition, values, limit=limit)
                # Where a filter leaves little of what is near, the index gives up before it has all.
                if len(found.matches) >= limit:
                    return found
            is_short = allowed is not None and allowed.chunk_count <= COMPARED
            condition, values = _condition(scope, are_named(allowed) if is_short else are_among(allowed))
            return self._compare(db, vector, condition, values, limit=limit)

    def _are_few(self, db: PostgresConnection, scope: Scope, allowed: AllowedDocuments | None) -> bool:
        if (count_chunks(db) if allowed is None else allowed.chunk_count) <= COMPARED:
            return True
        if not limits_words(scope):
            return False
        condition, values = _condition(scope, are_among(allowed))
        count: int = db.execute(
            f"SELECT count(*) FROM (SELECT 1 FROM embeddings WHERE model = ? AND {condition} LIMIT ?) AS few",
            (self._model_fingerprint, *values, COMPARED + 1),
        ).get
        return count <= COMPARED

    def _compare(
        self, db: PostgresConnection, vector: Vector, condition: str, values: Sequence[object], *, limit: int
    ) -> VectorMatches:
        rows = fetch_all(
            db,
            "SELECT chunk_id, document_id, ordinal, score, avg(score) OVER (), stddev_pop(score) OVER (), "
            "count(*) OVER () FROM (SELECT chunk_id, document_id, ordinal, -(vector <#> ?::vector) AS score "
            f"FROM embeddings WHERE model = ? AND {condition}) AS compared ORDER BY score DESC, chunk_id LIMIT ?",
            (VectorValue.of(vector), self._model_fingerprint, *values, limit),
        )
        if not rows:
            return VectorMatches(NO_MATCHES, NO_BACKGROUND)
        return VectorMatches(Matches.of_rows(row[:4] for row in rows), Background(*rows[0][4:]))

    def _ask_index(
        self, db: PostgresConnection, vector: Vector, condition: str, values: Sequence[object], *, limit: int
    ) -> VectorMatches:
        sent = VectorValue.of(vector)
        nearest = db.dialect.nearest(self._model_fingerprint, len(vector), condition)
        with db.set_to(db.dialect.tuning(limit)):
            rows = fetch_all(
                db,
                # The index compares halves of numbers; these are whole.
                f"SELECT chunk_id, document_id, ordinal, -(vector <#> ?::vector) AS score FROM ({nearest}) AS near "
                "ORDER BY score DESC, chunk_id",
                (sent, *values, sent, limit),
            )
        return VectorMatches(Matches.of_rows(rows), self._sample(db, sent))

    def _sample(self, db: PostgresConnection, vector: VectorValue) -> Background:
        """Of all vectors, whatever the filter: what a search stands out from is the base."""
        count = count_chunks(db)
        sample = db.dialect.sample(min(100.0, 100.0 * SAMPLED / max(count, 1)))
        mean, deviation = fetch_all(
            db,
            "SELECT COALESCE(avg(score), 0), COALESCE(stddev_pop(score), 0) FROM "
            f"(SELECT -(vector <#> ?::vector) AS score FROM embeddings {sample} WHERE model = ?) AS sampled",
            (vector, self._model_fingerprint),
        )[0]
        return Background(mean, deviation, count)

    def load_vectors(self, chunk_ids: Ids) -> LoadedVectors:
        with self._database.read() as db:
            rows = fetch_all(
                db,
                "SELECT chunk_id, vector_send(vector) FROM embeddings WHERE chunk_id = ANY (?::bigint[]) AND model = ?",
                (chunk_ids.tolist(), self._model_fingerprint),
            )
        vector_of = dict(rows)
        found = [chunk_id for chunk_id in chunk_ids.tolist() if chunk_id in vector_of]
        return LoadedVectors(np.array(found, np.int64), to_vectors([vector_of[chunk_id] for chunk_id in found]))


def _condition(scope: Scope, on_documents: tuple[str, list[object]]) -> tuple[str, list[object]]:
    """On the table `embeddings`."""
    if not limits_words(scope):
        return on_documents
    condition, values = on_documents
    on_words, needed = condition_on_words(scope)
    within = f"chunk_id IN (SELECT chunk_id FROM chunk_words WHERE {on_words})"
    return f"{condition} AND {within}", [*values, *needed]


def count_chunks(db: PostgresConnection) -> int:
    count = db.execute("SELECT sum(chunks)::bigint FROM word_counts WHERE term = ?", (CHUNKS,)).get
    return int(count or 0)
