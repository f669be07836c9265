"""How far a mean over queries can be trusted: what it would be with other queries like these. Pure."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

RESAMPLES = 2_000
# Of all resamples, how many are to lie in an interval.
CONFIDENCE = 0.95
# Fixed, so that two runs with the same figures say the same.
SEED = 1


@dataclass(frozen=True)
class Interval:
    low: float
    high: float


def bootstrap_mean(figures: Floats) -> Interval:
    """Where the means of most resamples lie; each draws as many figures as there are, with repetition.

    For two rankings of the same queries, pass the differences: what makes a query hard for both then cancels out.
    """
    chance = np.random.default_rng(SEED)
    means = [figures[chance.integers(len(figures), size=len(figures))].mean() for _ in range(RESAMPLES)]
    outside = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [outside, 1 - outside])
    return Interval(float(low), float(high))
