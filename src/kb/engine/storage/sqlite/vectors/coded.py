"""Many vectors: a search goes through the codes of all, and compares the vectors of the nearest.

First codes are compared with the query's code, then some thousand of them with the query itself, and of the best the
vectors. Codes and ids are looked at in each search and stay in memory. The vectors lie in a file that is mapped: what
is not read takes no memory. Their numbers are whole numbers of steps, which moves a cosine by 1e-5: as small as half
precision, from which numpy takes ten times as long to return.

Rows are never added: what is new stands in `exact` until the files are made anew. Rows die, and then their numbers are
overwritten in the file, for what is deleted should be gone.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kb.engine.model import Background, Ids, Mask, Vector, Vectors
from kb.engine.storage.sqlite.vectors.codes import Codes, compare_signs, count_differences, pick_nearest
from kb.engine.storage.sqlite.vectors.nearest import NONE_NEAR, Nearest, measure_background, take_best

# The numbers of a vector of length 1 lie between -1 and 1.
STEPS_PER_UNIT = 32_767
# So few are compared without codes.
COMPARED_WITHOUT_CODES = 5_000
# Of so many times as many as are compared exactly, the signs are compared with the query.
SIGNS_PER_COMPARED = 4
# Where less than this share of the rows is allowed, only their codes are compared.
SHARE_TO_GATHER = 0.15
# Farther than any two codes can be from one another.
OUT_OF_REACH = np.uint16(1 << 14)
# So many scores tell how all are spread: their deviation to 2 in 100.
SAMPLED_ROWS = 1_024
LEAST_SAMPLED_ROWS = 256

Steps = npt.NDArray[np.int16]
"""Vectors as they lie in the file."""


def count_steps(vectors: Vectors) -> Steps:
    return np.clip(np.rint(vectors * STEPS_PER_UNIT), -STEPS_PER_UNIT, STEPS_PER_UNIT).astype(np.int16)


def measure_steps(steps: Steps) -> Vectors:
    vectors = steps.astype(np.float32)
    vectors *= np.float32(1 / STEPS_PER_UNIT)
    return vectors


@dataclass(frozen=True)
class CodedRows:
    codes: Codes
    steps: Steps
    chunk_ids: Ids
    document_ids: Ids
    ordinals: Ids
    is_alive: Mask
    sampled_rows: Ids
    sample: Vectors
    compared: int
    """How many of the nearest by code are compared exactly, beyond two for each that is wanted."""

    @property
    def count(self) -> int:
        return len(self.chunk_ids)

    def find_nearest(self, vector: Vector, allowed: Mask, *, limit: int) -> Nearest:
        """The nearest of the allowed rows: nearly always, since codes may leave some out."""
        allowed_count = int(np.count_nonzero(allowed))
        if not allowed_count:
            return NONE_NEAR
        rows = self._find_by_code(vector, allowed, allowed_count, self.compared + 2 * limit)
        # To bring the one vector to their scale is quicker than to bring theirs to its.
        scores = self.steps.take(rows, axis=0).astype(np.float32) @ (vector / np.float32(STEPS_PER_UNIT))
        background = self._measure_background(vector, allowed, allowed_count)
        return Nearest(*take_best(rows, scores, limit), background)

    def _find_by_code(self, vector: Vector, allowed: Mask, allowed_count: int, wanted: int) -> Ids:
        """So many of the allowed rows, or more, among which the nearest should be."""
        if allowed_count <= max(COMPARED_WITHOUT_CODES, wanted):
            return np.flatnonzero(allowed)
        if allowed_count < SHARE_TO_GATHER * self.count:
            rows = np.flatnonzero(allowed)
            rows = rows[pick_nearest(count_differences(self.codes[:, rows], vector), SIGNS_PER_COMPARED * wanted)]
        else:
            distances = count_differences(self.codes, vector)
            if allowed_count < self.count:
                distances += ~allowed * OUT_OF_REACH
            rows = pick_nearest(distances, min(SIGNS_PER_COMPARED * wanted, allowed_count))
        similarities = compare_signs(self.codes, rows, vector)
        return rows[np.argpartition(-similarities, wanted)[:wanted]] if wanted < len(rows) else rows

    def read(self, rows: Ids) -> Vectors:
        return measure_steps(self.steps.take(rows, axis=0))

    def bury(self, document_ids: Collection[int]) -> tuple["CodedRows", Ids]:
        """Without the chunks of these documents, and the rows that were theirs."""
        died = np.flatnonzero(np.isin(self.document_ids, list(document_ids)))
        died = died[self.is_alive[died]]
        if not len(died):
            return self, died
        is_alive = self.is_alive.copy()
        is_alive[died] = False
        return replace(self, is_alive=is_alive), died

    def _measure_background(self, vector: Vector, allowed: Mask, allowed_count: int) -> Background:
        is_allowed = allowed[self.sampled_rows]
        if np.count_nonzero(is_allowed) >= LEAST_SAMPLED_ROWS:
            scores = (self.sample @ vector)[is_allowed]
        else:
            rows = np.flatnonzero(allowed)
            scores = self.read(rows[:: max(1, len(rows) // SAMPLED_ROWS)]) @ vector
        return measure_background(scores, allowed_count)
