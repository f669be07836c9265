"""How good a ranking is, by what was judged relevant. Pure; each figure is between 0 and 1."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

Item = TypeVar("Item", bound=Hashable)
Judgments: TypeAlias = Mapping[Item, int]
"""The relevant items of one query, each with its grade; what is not there counts as not relevant."""


def all_alike(items: Iterable[Item]) -> Judgments[Item]:
    """Judgments where no item is more relevant than another."""
    return dict.fromkeys(items, 1)


def ndcg(ranking: Sequence[Item], judgments: Judgments[Item], depth: int) -> float:
    """How much of the gain of the best possible order the first `depth` bring, later places counting less."""
    best = _discounted(sorted(judgments.values(), reverse=True)[:depth])
    return _discounted([judgments.get(item, 0) for item in ranking[:depth]]) / best if best else 0.0


def recall(ranking: Sequence[Item], judgments: Judgments[Item], depth: int) -> float:
    """The share of the relevant items that is among the first `depth`."""
    relevant = {item for item, grade in judgments.items() if grade > 0}
    return len(relevant.intersection(ranking[:depth])) / len(relevant) if relevant else 0.0


def reciprocal_rank(ranking: Sequence[Item], judgments: Judgments[Item], depth: int) -> float:
    """One over the place of the first relevant item; 0 if it is not among the first `depth`."""
    places = (place for place, item in enumerate(ranking[:depth], start=1) if judgments.get(item, 0) > 0)
    return 1 / next(places, math.inf)


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(place + 1) for place, gain in enumerate(gains, start=1))
