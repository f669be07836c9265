"""Which documents say nearly the same: exactly, by comparing all with all."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from kb.engine.model import Ids, Vectors

# A block of products takes 16 MB, and a tenth of a second.
NUMBERS_AT_ONCE = 4_000_000

Breathe = Callable[[], None]
"""Called between two steps, of some tenths of a second at most: the moment for whatever is more urgent."""


class Neighbours(NamedTuple):
    """A row for each vector: the rows of those nearest to it, nearest first, and how near they are."""

    rows: Ids
    cosines: Vectors


def find_neighbours(vectors: Vectors, among: Vectors, count: int, breathe: Breathe) -> Neighbours:
    """The `count` nearest of `among`, of unit vectors; of which there must be so many."""
    return _find(vectors, among, count, breathe, is_same=False)


def find_each_others_neighbours(vectors: Vectors, count: int, breathe: Breathe) -> Neighbours:
    """The same among the vectors themselves: nobody is a neighbour of its own."""
    return _find(vectors, vectors, count, breathe, is_same=True)


def _find(vectors: Vectors, among: Vectors, count: int, breathe: Breathe, *, is_same: bool) -> Neighbours:
    rows = np.empty((len(vectors), count), np.int64)
    cosines = np.empty((len(vectors), count), np.float32)
    at_once = max(1, NUMBERS_AT_ONCE // len(among))
    for start in range(0, len(vectors), at_once):
        block = slice(start, start + at_once)
        likeness = vectors[block] @ among.T
        if is_same:
            own = np.arange(len(likeness))
            likeness[own, start + own] = -np.inf
        best = np.argpartition(-likeness, count - 1, axis=1)[:, :count]
        scores = np.take_along_axis(likeness, best, axis=1)
        order = np.argsort(-scores, axis=1, kind="stable")
        rows[block] = np.take_along_axis(best, order, axis=1)
        cosines[block] = np.take_along_axis(scores, order, axis=1)
        breathe()
    return Neighbours(rows, cosines)
