"""The vectors in memory, searched exactly; the table `embeddings` is the truth, this is only derived from it.

The rows live in arrays that grow at the end. A search takes the current `VectorRows` and computes on it
without a lock; a change puts a new `VectorRows` in its place. What the two share is never written again:
new rows go behind the old ones' `count`, and deaths go into a fresh copy of `is_alive`. Chunk ids only ever
rise, so the rows are sorted by chunk, and a chunk's row is found by bisection.

What changed is learnt from `index_log`: before each search the tail of the log since the last look is read
(nothing, nearly always) and the documents it names are read anew. So it makes no difference which process
changed them, and a search sees every change whose transaction was committed before the search began.

One matrix product over all rows takes about 0.6 ms for 10,000 chunks and 16 ms for 100,000. Beyond that a
coarse pass over short codes belongs in front of it; `VectorRows.search` is the place for it.
"""

import json
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import apsw
import numpy as np
import numpy.typing as npt

from kb.engine.model import NO_MATCHES, Background, Ids, LoadedVectors, Matches, Vector, VectorMatches, Vectors
from kb.engine.storage.sqlite.index_log import documents_changed_since, newest_change
from kb.engine.storage.sqlite.rows import damage_told, fetch_all

Mask = npt.NDArray[np.bool_]

# When this share of the rows is dead they are squeezed out; until then they only cost scanning time.
DEAD_SHARE_TO_COMPACT = 0.2
SMALLEST_CAPACITY = 1_024

# CROSS keeps the tables in this order, in which the vectors already lie as they are wanted: sorted by chunk.
EMBEDDINGS_OF_MODEL = (
    "FROM embeddings CROSS JOIN chunks ON chunks.id = chunk_id CROSS JOIN documents ON documents.id = document_id "
    "WHERE vector_model = ?1 "
)


@dataclass(frozen=True)
class VectorRows:
    matrix: Vectors
    chunk_ids: Ids
    document_ids: Ids
    ordinals: Ids
    is_alive: Mask
    count: int

    def search(self, vector: Vector, allowed: Mask, *, limit: int) -> VectorMatches:
        """The nearest of the allowed rows, best first; equal ones by chunk."""
        rows = np.flatnonzero(allowed)
        if len(rows) == 0:
            return VectorMatches(NO_MATCHES, Background(mean=0.0, deviation=0.0, count=0))
        # Gathering rows copies them: worth it only when most of the matrix can be left out.
        if len(rows) < self.count // 4:
            scores = self.matrix[rows] @ vector
        else:
            scores = (self.matrix[: self.count] @ vector)[rows]
        best = np.argpartition(-scores, limit)[:limit] if limit < len(rows) else np.arange(len(rows))
        best = best[np.lexsort((rows[best], -scores[best]))]
        found = rows[best]
        matches = Matches(
            self.chunk_ids[found], self.document_ids[found], self.ordinals[found], scores[best].astype(np.float64)
        )
        return VectorMatches(matches, Background(float(scores.mean()), float(scores.std()), len(rows)))

    def load(self, chunk_ids: Ids) -> LoadedVectors:
        """The vectors of just these chunks; those without one are left out."""
        places = np.searchsorted(self.chunk_ids[: self.count], chunk_ids)
        known = places < self.count
        known[known] &= self.chunk_ids[places[known]] == chunk_ids[known]
        return LoadedVectors(chunk_ids[known], self.matrix[places[known]])


class VectorIndex:
    def __init__(self, model_fingerprint: str) -> None:
        self._model_fingerprint = model_fingerprint
        self._lock = threading.Lock()
        self._rows: VectorRows | None = None
        self._seen_seq = 0

    def catch_up(self, db: apsw.Connection) -> VectorRows:
        """The rows as of `db`'s snapshot, or of a later one."""
        with self._lock:
            newest, changed = documents_changed_since(db, self._seen_seq)
            if self._rows is None or changed is None:
                self._rows = self._load(db)
                newest = newest_change(db)
            elif changed:
                self._rows = self._refresh(self._rows, db, changed)
            self._seen_seq = newest
            return self._rows

    def _load(self, db: apsw.Connection) -> VectorRows:
        values = (self._model_fingerprint,)
        # Of any model: room for more than there are does no harm.
        count: int = db.execute("SELECT count(*) FROM chunks").get
        sample: bytes | None = db.execute(f"SELECT vector {EMBEDDINGS_OF_MODEL} LIMIT 1", values).get
        if sample is None:
            return _allocate(0, dimension=0)
        rows = _allocate(count + count // 8, dimension=len(sample) // 4)
        found = db.execute(
            f"SELECT chunks.id, document_id, ordinal, vector {EMBEDDINGS_OF_MODEL} ORDER BY embeddings.chunk_id", values
        )
        return _fill(rows, found)

    def _refresh(self, rows: VectorRows, db: apsw.Connection, document_ids: set[int]) -> VectorRows:
        found = fetch_all(
            db,
            # The + keeps SQLite from walking through all documents of the model.
            "SELECT chunks.id, document_id, ordinal, vector FROM documents "
            "JOIN chunks ON chunks.document_id = documents.id JOIN embeddings ON chunk_id = chunks.id "
            "WHERE documents.id IN (SELECT value FROM json_each(?2)) AND +vector_model = ?1 ORDER BY chunks.id",
            (self._model_fingerprint, json.dumps(sorted(document_ids))),
        )
        rows = _bury(rows, document_ids)
        return _fill(_make_room(rows, found), found) if found else rows


def _allocate(capacity: int, *, dimension: int) -> VectorRows:
    capacity = max(capacity, SMALLEST_CAPACITY)
    return VectorRows(
        matrix=np.empty((capacity, dimension), dtype=np.float32),
        chunk_ids=np.empty(capacity, dtype=np.int64),
        document_ids=np.empty(capacity, dtype=np.int64),
        ordinals=np.empty(capacity, dtype=np.int64),
        is_alive=np.zeros(capacity, dtype=np.bool_),
        count=0,
    )


@damage_told()
def _fill(rows: VectorRows, found: Iterable[Sequence[Any]]) -> VectorRows:
    """Write the found embeddings behind the rows that are there; there must be room."""
    is_alive = rows.is_alive.copy()
    place = rows.count
    for place, (chunk_id, document_id, ordinal, vector) in enumerate(found, start=rows.count):
        rows.matrix[place] = np.frombuffer(vector, dtype="<f4")
        rows.chunk_ids[place] = chunk_id
        rows.document_ids[place] = document_id
        rows.ordinals[place] = ordinal
    is_alive[rows.count : place + 1] = True
    return replace(rows, is_alive=is_alive, count=place + 1)


def _bury(rows: VectorRows, document_ids: set[int]) -> VectorRows:
    is_alive = rows.is_alive.copy()
    is_alive[: rows.count] &= ~np.isin(rows.document_ids[: rows.count], list(document_ids))
    return replace(rows, is_alive=is_alive)


def _make_room(rows: VectorRows, found: Sequence[Sequence[Any]]) -> VectorRows:
    """The rows with space for the found ones behind them, the dead squeezed out when they are many."""
    alive = np.flatnonzero(rows.is_alive[: rows.count])
    has_room = rows.count + len(found) <= len(rows.chunk_ids)
    if has_room and rows.count - len(alive) <= len(rows.chunk_ids) * DEAD_SHARE_TO_COMPACT and rows.matrix.size:
        return rows
    larger = _allocate(2 * (len(alive) + len(found)), dimension=len(found[0][3]) // 4)
    if len(alive):
        for old, new in (
            (rows.matrix, larger.matrix),
            (rows.chunk_ids, larger.chunk_ids),
            (rows.document_ids, larger.document_ids),
            (rows.ordinals, larger.ordinals),
        ):
            new[: len(alive)] = old[alive]
        larger.is_alive[: len(alive)] = True
    return replace(larger, count=len(alive))
