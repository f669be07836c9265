"""What is told of many measurements.

A quantile is one of them, and nothing between two: the first in order that has its share of all before it. So a p95 of
forty is the second largest. Figures of RESULTS.md that are older than this module may lie between two measurements.
"""

from collections.abc import Sequence


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(int(len(values) * share), len(values) - 1)]


def p95(values: Sequence[float]) -> float:
    return quantile(values, 0.95)
