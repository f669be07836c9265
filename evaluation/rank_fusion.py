"""Reciprocal rank fusion, the usual way to make one ranking of several: what ours must beat. Pure."""

from collections.abc import Sequence

RRF_K = 60


def fuse_ranks(*rankings: Sequence[str]) -> list[str]:
    scores: dict[str, float] = {}
    for ranking in rankings:
        for place, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + 1 / (RRF_K + place)
    return sorted(scores, key=lambda item: (-scores[item], item))
