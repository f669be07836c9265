"""How good a ranking is, by what was expected of it. Pure; each figure is between 0 and 1."""

import math
from collections.abc import Sequence, Set


def ndcg(ranking: Sequence[int], expected: Set[int], depth: int) -> float:
    """How much of the gain of the best possible order the first `depth` bring, later places counting less."""
    best = sum(_discount(place) for place in range(1, min(len(expected), depth) + 1))
    places = (place for place, item in enumerate(ranking[:depth], start=1) if item in expected)
    return sum(map(_discount, places)) / best if best else 0.0


def recall(ranking: Sequence[int], expected: Set[int], depth: int) -> float:
    """The share of what was expected that is among the first `depth`."""
    return len(expected & {*ranking[:depth]}) / len(expected) if expected else 0.0


def reciprocal_rank(ranking: Sequence[int], expected: Set[int], depth: int) -> float:
    """One over the place of the first that was expected; 0 if none is among the first `depth`."""
    places = (place for place, item in enumerate(ranking[:depth], start=1) if item in expected)
    return 1 / next(places, math.inf)


def _discount(place: int) -> float:
    return 1 / math.log2(place + 1)
