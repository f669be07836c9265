"""How likely a chunk answers the query, between 0 and 1, comparable from one query to the next.

The score that orders hits is relative: the best of a hopeless search scores as high as the best of a good one.
Two things are absolute: the cosine, and the keyword score as a share of the best score that this query's words
could have got anywhere. A logistic curve over the two, fitted on judged queries, makes one number of them.

At .5 a hit like this is as typical of the judged answers as of the near misses beside them. It is not the
precision, which no set can tell: each judges an answer or two to a question, and the rest counts as wrong.
"""

from dataclasses import dataclass

import numpy as np

from kb.engine.model import Scores
from kb.engine.search.fusion import Candidates

# A floor taken from the relevance of a hit lets that hit through.
SHOWN_DIGITS = 4


@dataclass(frozen=True)
class Curve:
    """A logistic curve; it rises with both, since neither weight is negative."""

    intercept: float
    cosine: float
    share: float

    def at(self, cosines: Scores, shares: Scores) -> Scores:
        # This form of the logistic function cannot overflow.
        return 0.5 + 0.5 * np.tanh((self.intercept + self.cosine * cosines + self.share * shares) / 2)


# Fitted by `python -m evaluation.calibrate` to the first 20 hits of 5,270 queries of six sets. Of those hits 7 in
# 100 were judged relevant; of the hits of hybrid search with a relevance of at least .3, .5 and .7 it was 11, 18
# and 28 in 100, and they held 92, 67 and 38 in 100 of all that were.
BOTH = Curve(-2.90, cosine=2.36, share=6.90)
KEYWORD_ONLY = Curve(-2.35, cosine=0.0, share=8.90)
VECTOR_ONLY = Curve(-3.10, cosine=5.49, share=0.0)


def estimate_relevance(candidates: Candidates, best_possible_keyword_score: float) -> Scores:
    """`best_possible_keyword_score` is 0 when no keywords were looked for, or no chunk has any of them."""
    shares = np.zeros(len(candidates))
    if best_possible_keyword_score > 0:
        with np.errstate(over="ignore", invalid="ignore"):
            shares = _limit(candidates.keyword_scores / best_possible_keyword_score)
    curve = BOTH if best_possible_keyword_score > 0 else VECTOR_ONLY
    estimates = curve.at(_limit(candidates.cosines), shares)
    has_no_cosine = np.isnan(candidates.cosines)
    if has_no_cosine.any():
        estimates = np.where(has_no_cosine, KEYWORD_ONLY.at(np.zeros(len(candidates)), shares), estimates)
    return np.round(estimates, SHOWN_DIGITS)


def _limit(values: Scores) -> Scores:
    """The values between 0 and 1; 0 for what is not a number."""
    return np.fmin(1.0, np.fmax(0.0, values))
