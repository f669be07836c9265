"""How two rankings become one. Pure arithmetic, measured with `make evaluate`.

Keyword scores and cosines live on scales of their own that change with every query, so each is put on a
standard scale (mean 0, deviation 1) and the two are averaged. Ranks would be simpler (reciprocal rank
fusion), but they throw away how much better the first is than the second. How much each counts is told by
`weighing.py`. Then candidates speak for one another: those that mean the same in other documents, and the
neighbours in a long one. `docs/design/search.md` has the figures, and what was dropped.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from kb.engine.model import Ids, LoadedVectors, Matches, Scores

# What the chunk before and the one after say about this one: talk runs on over the border of a chunk.
NEIGHBOUR_WEIGHT = 0.25

# What answers a question is seldom alone: what the most similar candidates score says something about this one. So much
# of what the vectors are worth, by which they are known to be similar.
PEER_WEIGHT = 0.6
PEERS = 5
# Beyond the first hundred nothing comes into the first ten any more.
CANDIDATES_WITH_PEERS = 100

# Scores that differ by less are equal: what is left is rounding.
LEAST_DEVIATION = 1e-12


@dataclass(frozen=True, eq=False)
class Candidates:
    """Chunks that some method found, with what each method thinks of them: not a number where it does not know.

    A chunk is a place in each of the arrays. Until they are ranked, they are in the order of their ids.
    """

    chunk_ids: Ids
    document_ids: Ids
    ordinals: Ids
    keyword_scores: Scores
    cosines: Scores
    scores: Scores

    def __len__(self) -> int:
        return len(self.chunk_ids)

    def take(self, places: slice | npt.NDArray[Any]) -> Self:
        """Those in the places, given by number or by a mask."""
        return replace(
            self,
            chunk_ids=self.chunk_ids[places],
            document_ids=self.document_ids[places],
            ordinals=self.ordinals[places],
            keyword_scores=self.keyword_scores[places],
            cosines=self.cosines[places],
            scores=self.scores[places],
        )


class Fused(NamedTuple):
    candidates: Candidates
    vector_weight: float


def join(keyword: Matches, vector: Matches) -> Candidates:
    """The chunks of both lists, each once. Where one list is empty, the scores are the other's; else there are none."""
    chunk_ids, places = np.unique(np.concatenate((keyword.chunk_ids, vector.chunk_ids)), return_index=True)
    keyword_scores, cosines = np.full((2, len(chunk_ids)), np.nan)
    keyword_scores[np.searchsorted(chunk_ids, keyword.chunk_ids)] = keyword.scores
    cosines[np.searchsorted(chunk_ids, vector.chunk_ids)] = vector.scores
    return Candidates(
        chunk_ids,
        np.concatenate((keyword.document_ids, vector.document_ids))[places],
        np.concatenate((keyword.ordinals, vector.ordinals))[places],
        keyword_scores,
        cosines,
        scores=cosines if not len(keyword) else keyword_scores if not len(vector) else np.full(len(chunk_ids), np.nan),
    )


def fuse(
    found: Candidates, near: Scores, *, weigh: Callable[[float], float], lowest_keyword_score: float = 0.0
) -> Fused:
    """Give scores to what was found by words and by vectors, `near` being the scores of the latter.

    A chunk without a keyword score is given the lowest, one without a vector stands with the least similar. `weigh` is
    asked for the share of the vectors and told by how many deviations the best keyword score stands out.
    """
    by_keyword = np.where(np.isnan(found.keyword_scores), lowest_keyword_score, found.keyword_scores)
    by_vector = np.where(np.isnan(found.cosines), np.fmin.reduce(found.cosines), found.cosines)
    keyword_part = standardise(by_keyword, by_keyword)
    vector_part = standardise(by_vector, near)
    vector_weight = weigh(float(keyword_part.max(initial=0.0)))
    scores = (1 - vector_weight) * keyword_part + vector_weight * vector_part
    return Fused(replace(found, scores=scores), vector_weight)


def standardise(scores: Scores, sample: Scores) -> Scores:
    """How many deviations of the sample each score lies above its mean; where all are equal, none stands out."""
    mean = np.add.reduce(sample) / len(sample)
    distances = sample - mean
    deviation = math.sqrt(distances @ distances / len(sample))
    return (scores - mean) / deviation if deviation > LEAST_DEVIATION else np.zeros(len(scores))


def add_peers(candidates: Candidates, vectors: LoadedVectors, *, vector_weight: float) -> Candidates:
    """Raise each that has a vector by a share of what the most similar of the others score.

    Chunks of the same document are no peers: they are similar because one wrote them, not because two agree. None is
    lowered, so that those without vectors, or too far down to be given any, do not pass them.
    """
    count = len(vectors.chunk_ids)
    if count < 2:
        return candidates
    known = np.searchsorted(candidates.chunk_ids, vectors.chunk_ids)
    documents = candidates.document_ids[known]
    similarities = vectors.matrix @ vectors.matrix.T
    np.maximum(similarities, 0.0, out=similarities)
    np.putmask(similarities, documents[:, None] == documents, 0.0)
    if count > PEERS:
        # All that are as similar as the last of them count too: which of them came first would be chance.
        last = np.partition(similarities, count - PEERS, axis=1)[:, count - PEERS, None]
        np.putmask(similarities, similarities < last, 0.0)
    # The fourth power, so that the nearest count most.
    weights = np.square(np.square(similarities, dtype=np.float64))
    sums = weights.sum(axis=1)
    told = weights @ candidates.scores[known]
    opinions = np.divide(told, sums, out=np.zeros(count), where=sums > 0)
    scores = candidates.scores.copy()
    scores[known] += PEER_WEIGHT * vector_weight * (opinions - opinions.min())
    return replace(candidates, scores=scores)


def add_neighbours(candidates: Candidates, *, depth: float) -> Candidates:
    """Raise each chunk by a share of how far its neighbours in the document stand above the mean.

    A neighbour below the mean, or not found at all, neither helps nor harms. Only in long documents does it help to
    ask them: `depth` tells how many of the candidates are from such.
    """
    if not len(candidates) or depth == 0:
        return candidates
    mean = np.add.reduce(candidates.scores) / len(candidates)
    help_given = depth * NEIGHBOUR_WEIGHT * np.maximum(candidates.scores - mean, 0.0)
    # Numbered so that just the neighbours in a document have numbers that follow one another.
    numbers = candidates.document_ids * (candidates.ordinals.max() + 2) + candidates.ordinals
    in_place = np.argsort(numbers)
    before, after = in_place[:-1], in_place[1:]
    follows = numbers[after] == numbers[before] + 1
    scores = candidates.scores.copy()
    scores[after] += follows * help_given[before]
    scores[before] += follows * help_given[after]
    return replace(candidates, scores=scores)


def rank(candidates: Candidates) -> Candidates:
    """Best first; equal ones stay in the order of their chunks, so that it is the same each time."""
    return candidates.take(order_by_score(candidates))


def order_by_score(candidates: Candidates) -> Ids:
    return np.argsort(-candidates.scores, kind="stable")


def best_of_each_document(candidates: Candidates) -> Candidates:
    """The best chunk of each document, in the given order."""
    _, first = np.unique(candidates.document_ids, return_index=True)
    return candidates.take(np.sort(first))
