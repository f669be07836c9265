"""How likely a chunk answers the query, between 0 and 1, comparable from one query to the next.

The score that orders hits is relative: the best of a hopeless search scores as high as the best of a good one.
Two things are absolute: the cosine, and the keyword score as a share of the best score that this query's words
could have got anywhere. A logistic curve over the two, fitted on judged queries, makes a probability.
"""

from kb.engine.search.fusion import Candidate, logistic


def estimate_relevance(candidate: Candidate, best_possible_keyword_score: float) -> float:
    share = 0.0
    if candidate.keyword_score is not None and best_possible_keyword_score > 0:
        share = min(candidate.keyword_score / best_possible_keyword_score, 1.0)
    if candidate.cosine is None:
        return logistic(-3.0 + 7.0 * share)
    return logistic(-5.0 + 7.0 * candidate.cosine + 4.0 * share)
