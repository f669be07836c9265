"""Few vectors: in memory as they are, and each search compares all of them.

The rows live in arrays that grow at the end. A search takes the current `ExactRows` and computes on it
without a lock; a change puts a new `ExactRows` in its place. What the two share is never written again:
new rows go behind the old ones' `count`, and deaths go into a fresh copy of `is_alive`. Chunk ids only ever
rise, so the rows are sorted by chunk, and a chunk's row is found by bisection.

One matrix product over all rows takes about 0.6 ms for 10,000 chunks and 16 ms for 100,000.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

import numpy as np

from kb.engine.model import Ids, Mask, Vector, Vectors
from kb.engine.storage.sqlite.vectors.nearest import NONE_NEAR, Nearest, measure_background, take_best
from kb.engine.storage.sqlite.vectors.reading import Batch

# When this share of the rows is dead they are squeezed out; until then they only cost scanning time.
DEAD_SHARE_TO_COMPACT = 0.2
SMALLEST_CAPACITY = 1_024


@dataclass(frozen=True)
class ExactRows:
    """Each array may be longer than `count`: the rest is room to grow."""

    _matrix: Vectors
    _chunk_ids: Ids
    _document_ids: Ids
    _ordinals: Ids
    is_alive: Mask
    count: int

    @classmethod
    def make_room(cls, capacity: int, dimension: int) -> "ExactRows":
        capacity = max(capacity, SMALLEST_CAPACITY)
        chunk_ids, document_ids, ordinals = np.empty((3, capacity), np.int64)
        matrix = np.empty((capacity, dimension), np.float32)
        return cls(matrix, chunk_ids, document_ids, ordinals, is_alive=np.empty(0, np.bool_), count=0)

    @property
    def chunk_ids(self) -> Ids:
        return self._chunk_ids[: self.count]

    @property
    def document_ids(self) -> Ids:
        return self._document_ids[: self.count]

    @property
    def ordinals(self) -> Ids:
        return self._ordinals[: self.count]

    def find_nearest(self, vector: Vector, allowed: Mask, *, limit: int) -> Nearest:
        """The nearest of the allowed rows."""
        rows = np.flatnonzero(allowed)
        if len(rows) == 0:
            return NONE_NEAR
        # Gathering rows copies them: worth it only when most of the matrix can be left out.
        if len(rows) < self.count // 4:
            scores = self._matrix[rows] @ vector
        else:
            scores = (self._matrix[: self.count] @ vector)[rows]
        return Nearest(*take_best(rows, scores, limit), measure_background(scores, len(rows)))

    def read(self, rows: Ids) -> Vectors:
        return self._matrix[rows]

    def add(self, batches: Iterable[Batch]) -> "ExactRows":
        """With these behind the rows that are there."""
        rows = self
        for batch in batches:
            count = rows.count + len(batch.chunk_ids)
            if count > len(rows._chunk_ids) or rows._matrix.shape[1] != batch.matrix.shape[1]:
                rows = rows._squeeze(room_for=len(batch.chunk_ids), dimension=batch.matrix.shape[1])
                count = rows.count + len(batch.chunk_ids)
            place = slice(rows.count, count)
            rows._matrix[place] = batch.matrix
            rows._chunk_ids[place] = batch.chunk_ids
            rows._document_ids[place] = batch.document_ids
            rows._ordinals[place] = batch.ordinals
            rows = replace(
                rows, is_alive=np.append(rows.is_alive, np.ones(len(batch.chunk_ids), np.bool_)), count=count
            )
        return rows

    def bury(self, document_ids: Collection[int]) -> "ExactRows":
        """Without the chunks of these documents."""
        rows = replace(self, is_alive=self.is_alive & ~np.isin(self.document_ids, list(document_ids)))
        is_wasteful = np.count_nonzero(~rows.is_alive) > len(rows._chunk_ids) * DEAD_SHARE_TO_COMPACT
        return rows._squeeze(room_for=0, dimension=rows._matrix.shape[1]) if is_wasteful else rows

    def _squeeze(self, *, room_for: int, dimension: int) -> "ExactRows":
        """The living rows, in arrays that have room for these, and as much again."""
        alive = np.flatnonzero(self.is_alive)
        larger = ExactRows.make_room(2 * (len(alive) + room_for), dimension)
        if not len(alive):
            return larger
        living = Batch(self._chunk_ids[alive], self._document_ids[alive], self._ordinals[alive], self._matrix[alive])
        return larger.add([living])
