"""Laying documents out in the plane so that those which say nearly the same lie side by side.

The idea is that of LargeVis and UMAP. No plane can keep all distances of 384 dimensions, so only the near ones count:
each document is tied to its fifteen nearest, the nearer the tighter. Ties pull; and since documents that are only
pulled would all end in one point, each is also pushed away from some that are picked at random, anew each time. What
belongs together gathers, and what has nothing to do with one another drifts apart: islands with water between them.

1. Neighbours, exactly. A tie's strength falls with the distance beyond that of the nearest, measured by what is usual
   for this document: so a lonely one is tied as well as one in a crowd.
2. Begin with the two directions in which the vectors differ most (PCA), or where the documents lay before. From there
   the islands find the same sides of the map each time; from random places, others each time.
3. Some hundred rounds with ever smaller steps. In each all documents move at once: with 1/(1+d²) for how likely two at
   distance d are neighbours, the logarithm's slope is the pull, and that of its complement the push.

The same vectors give the same map: chance comes from a fixed seed.

Tried and dropped: both ends of a tie united as UMAP does it (a sort of all ties, and fewer neighbours kept); strengths
by UMAP's search for a fixed sum, which takes longer and keeps no more.
"""

import numpy as np
import numpy.typing as npt

from kb.engine.mapping.neighbours import Breathe, Neighbours, find_each_others_neighbours
from kb.engine.model import Ids, Places, Vectors

NEIGHBOURS = 15
# Of a few documents not all are near.
SHARE_OF_NEIGHBOURS = 1 / 3
ROUNDS = 250
FIRST_STEP = 0.3
# From where the documents lay before: they need not travel far, and the map should stay one that people know.
FIRST_STEP_FROM_BEFORE = 0.1
# Nobody goes further in a round than this many times its step, however many pull at once.
LONGEST_MOVE = 4.0
# A document is pushed by so many picked at random, as strongly as if it were by ten for each that is tied to it.
PUSHED_BY = 10
PUSHES_PER_TIE = 10.0
# Two in the same place would be pushed without bound.
SOFTENING = 0.01
# How wide the documents are spread at first, in units of the distance at which neighbours settle.
FIRST_SPREAD = 4.0
# What is all the same has no direction to begin with.
SHAKE = 0.001
SEED = 12

Numbers = npt.NDArray[np.float64]


def lay_out(vectors: Vectors, *, start: Places | None = None, breathe: Breathe = lambda: None) -> Places:
    """A place from -1 to 1 in both directions for each unit vector; the nearer two vectors, the nearer their places.

    Beginning at `start`, if given, it stays as much like that as the vectors allow.
    """
    if len(vectors) < 2:
        return np.zeros((len(vectors), 2), np.float32)
    chance = np.random.default_rng(SEED)
    count = min(NEIGHBOURS, max(1, int(len(vectors) * SHARE_OF_NEIGHBOURS)))
    neighbours = find_each_others_neighbours(vectors, count, breathe)
    ties = _strengths(neighbours)
    places = _spread(_principal_places(vectors) if start is None else start.astype(np.float64))
    places += chance.normal(scale=SHAKE, size=places.shape)
    push = PUSHES_PER_TIE * _sum_by_document(neighbours.rows, ties, ties.sum(axis=1)) / PUSHED_BY
    first_step = FIRST_STEP if start is None else FIRST_STEP_FROM_BEFORE
    for step in np.linspace(first_step, 0.0, ROUNDS, endpoint=False):
        others = chance.integers(0, len(places), (len(places), PUSHED_BY))
        move = _pull(places, neighbours.rows, ties) + _push(places, others, push)
        places += step * np.clip(move, -LONGEST_MOVE, LONGEST_MOVE)
        breathe()
    return _fit(places)


def _strengths(neighbours: Neighbours) -> Numbers:
    distances = 1.0 - neighbours.cosines.astype(np.float64)
    beyond = distances - distances[:, :1]
    usual = np.maximum(beyond.mean(axis=1, keepdims=True), 1e-6)
    strengths: Numbers = np.exp(-beyond / usual)
    return strengths


def _principal_places(vectors: Vectors) -> Numbers:
    centred = vectors - vectors.mean(axis=0)
    _, directions = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    places: Numbers = centred @ directions[:, :-3:-1]
    return places


def _spread(places: Numbers) -> Numbers:
    centred = places - places.mean(axis=0)
    spread: Numbers = centred * (FIRST_SPREAD / max(float(centred.std(axis=0).max()), 1e-9))
    return spread


def _pull(places: Numbers, neighbours: Ids, ties: Numbers) -> Numbers:
    """Towards one's neighbours, and towards those whose neighbour one is."""
    away, squares = _differences(places, neighbours)
    pulls = away * (ties / (1.0 + squares))[:, :, np.newaxis]
    moves = [_sum_by_document(neighbours, pulls[:, :, axis], -pulls[:, :, axis].sum(axis=1)) for axis in (0, 1)]
    return np.stack(moves, axis=1)


def _push(places: Numbers, others: Ids, strength: Numbers) -> Numbers:
    away, squares = _differences(places, others)
    pushes = away / ((SOFTENING + squares) * (1.0 + squares))[:, :, np.newaxis]
    moves: Numbers = pushes.sum(axis=1) * strength[:, np.newaxis]
    return moves


def _differences(places: Numbers, others: Ids) -> tuple[Numbers, Numbers]:
    away = places[:, np.newaxis, :] - places[others]
    return away, np.einsum("ijk,ijk->ij", away, away)


def _sum_by_document(neighbours: Ids, amounts: Numbers, own: Numbers) -> Numbers:
    """For each document its own amount and those of all ties that others have to it."""
    return own + np.bincount(neighbours.ravel(), amounts.ravel(), minlength=len(neighbours))


def _fit(places: Numbers) -> Places:
    low, high = places.min(axis=0), places.max(axis=0)
    half = max(float((high - low).max()) / 2, 1e-9)
    return np.asarray((places - (low + high) / 2) / half, np.float32)
