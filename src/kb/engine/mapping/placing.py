"""Where a document belongs among others that have their places: without moving any of them."""

import numpy as np

from kb.engine.mapping.neighbours import Breathe, find_neighbours
from kb.engine.model import Ids, Places, Vectors

# More would draw a document that is like two islands into the water between them.
NEIGHBOURS = 5
# A neighbour whose cosine is less by so much counts for a third.
SHARPNESS = 0.03
# Two that are alike shall not cover each other: about as far apart as neighbours among 10,000.
JITTER = 0.008
GOLDEN_ANGLE = np.pi * (3 - np.sqrt(5))


def place_beside(
    vectors: Vectors, document_ids: Ids, known: Vectors, known_places: Places, breathe: Breathe = lambda: None
) -> Places:
    """A place for each vector: amid those of the known that are most like it, of which there must be some.

    The ids only tell in which direction each stands beside the exact spot.
    """
    nearest = find_neighbours(vectors, known, min(NEIGHBOURS, len(known)), breathe)
    weights = np.exp((nearest.cosines - nearest.cosines[:, :1]) / SHARPNESS)
    weights /= weights.sum(axis=1, keepdims=True)
    spots = np.einsum("ij,ijk->ik", weights, known_places[nearest.rows])
    angles = GOLDEN_ANGLE * document_ids.astype(np.float64)
    beside = JITTER * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    return np.asarray(np.clip(spots + beside, -1.0, 1.0), np.float32)
