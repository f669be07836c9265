"""How likely a chunk answers the query, between 0 and 1, comparable from one query to the next.

The score that orders hits is relative: the best of a hopeless search scores as high as the best of a good one.
Two things are absolute: the cosine, and the keyword score as a share of the best score that this query's words
could have got anywhere. A logistic curve over the two, fitted on judged queries, makes one number of them.
"""

import math
from dataclasses import dataclass

from kb.engine.search.fusion import Candidate


@dataclass(frozen=True)
class Curve:
    """A logistic curve; it rises with both, since neither weight is negative."""

    intercept: float
    cosine: float
    share: float

    def at(self, cosine: float, share: float) -> float:
        # This form of the logistic function cannot overflow.
        return 0.5 + 0.5 * math.tanh((self.intercept + self.cosine * cosine + self.share * share) / 2)


BOTH = Curve(-2.62, cosine=2.73, share=4.59)
KEYWORD_ONLY = Curve(-1.53, cosine=0.0, share=5.84)
VECTOR_ONLY = Curve(-2.54, cosine=4.85, share=0.0)


def estimate_relevance(candidate: Candidate, best_possible_keyword_score: float) -> float:
    """`best_possible_keyword_score` is 0 when no keywords were looked for, or no chunk has any of them."""
    share = 0.0
    if best_possible_keyword_score > 0:
        share = _limit((candidate.keyword_score or 0.0) / best_possible_keyword_score)
    if candidate.cosine is None:
        return KEYWORD_ONLY.at(0.0, share)
    curve = BOTH if best_possible_keyword_score > 0 else VECTOR_ONLY
    return curve.at(_limit(candidate.cosine), share)


def _limit(value: float) -> float:
    """The value between 0 and 1; 0 if it is not a number."""
    return min(1.0, max(0.0, value))
