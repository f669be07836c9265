"""How two rankings become one. Pure arithmetic, measured with `make evaluate`.

Keyword scores and cosines live on scales of their own that change with every query, so each is put on a
standard scale (mean 0, deviation 1) and the two are averaged. Ranks would be simpler (reciprocal rank
fusion), but they throw away how much better the first is than the second. How much each counts is told by
`weighing.py`. Then candidates speak for one another: those that mean the same in other documents, and the
neighbours in a long one. `docs/design/search.md` has the figures, and what was dropped.
"""

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
# The nearest peers count most.
PEER_SHARPNESS = 4

# Scores that differ by less are equal: what is left is rounding.
LEAST_DEVIATION = 1e-12


@dataclass(frozen=True, eq=False)
class Candidates:
    """Chunks that some method found, with what each method thinks of them: not a number where it does not know.

    A chunk is a place in each of the arrays.
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
    """Best first."""
    vector_weight: float


def join(keyword: Matches, vector: Matches) -> Candidates:
    """The chunks of both lists, each once. Where one list is empty, the scores are the other's; else there are none."""
    if not len(vector):
        unknown = np.full(len(keyword), np.nan)
        return Candidates(
            keyword.chunk_ids, keyword.document_ids, keyword.ordinals, keyword.scores, unknown, keyword.scores
        )
    if not len(keyword):
        unknown = np.full(len(vector), np.nan)
        return Candidates(vector.chunk_ids, vector.document_ids, vector.ordinals, unknown, vector.scores, vector.scores)
    places = locate(keyword.chunk_ids, among=vector.chunk_ids)
    is_new = places < 0
    places[is_new] = np.arange(len(vector), len(vector) + np.count_nonzero(is_new))
    chunk_ids = np.concatenate((vector.chunk_ids, keyword.chunk_ids[is_new]))
    keyword_scores, cosines, scores = np.full((3, len(chunk_ids)), np.nan)
    keyword_scores[places] = keyword.scores
    cosines[: len(vector)] = vector.scores
    return Candidates(
        chunk_ids,
        np.concatenate((vector.document_ids, keyword.document_ids[is_new])),
        np.concatenate((vector.ordinals, keyword.ordinals[is_new])),
        keyword_scores,
        cosines,
        scores,
    )


def locate(ids: Ids, *, among: Ids) -> Ids:
    """The place of each, or -1."""
    order = np.argsort(among)
    ranks = np.searchsorted(among, ids, sorter=order)
    places = order[np.minimum(ranks, len(among) - 1)]
    return np.where(among[places] == ids, places, -1)


def fuse(
    found: Candidates, near: Scores, *, weigh: Callable[[float], float], lowest_keyword_score: float = 0.0
) -> Fused:
    """Rank what was found by words and by vectors, `near` being the scores of the latter.

    A chunk without a keyword score is given the lowest, one without a vector stands with the least similar. `weigh` is
    asked for the share of the vectors and told by how many deviations the best keyword score stands out.
    """
    by_keyword = np.where(np.isnan(found.keyword_scores), lowest_keyword_score, found.keyword_scores)
    by_vector = np.where(np.isnan(found.cosines), np.fmin.reduce(found.cosines), found.cosines)
    keyword_part = standardise(by_keyword, by_keyword)
    vector_part = standardise(by_vector, near)
    vector_weight = weigh(float(keyword_part.max(initial=0.0)))
    scores = (1 - vector_weight) * keyword_part + vector_weight * vector_part
    return Fused(rank(replace(found, scores=scores)), vector_weight)


def standardise(scores: Scores, sample: Scores) -> Scores:
    """How many deviations of the sample each score lies above its mean; where all are equal, none stands out."""
    deviation = float(np.std(sample))
    return (scores - np.mean(sample)) / deviation if deviation > LEAST_DEVIATION else np.zeros(len(scores))


def add_peers(candidates: Candidates, vectors: LoadedVectors, *, vector_weight: float) -> Candidates:
    """Raise each that has a vector by a share of what the most similar of the others score.

    Chunks of the same document are no peers: they are similar because one wrote them, not because two agree. None is
    lowered, so that those without vectors, or too far down to be given any, do not pass them.
    """
    count = len(vectors.chunk_ids)
    if count < 2:
        return candidates
    known = locate(vectors.chunk_ids, among=candidates.chunk_ids)
    documents = candidates.document_ids[known]
    matrix = vectors.matrix
    similarities = np.where(documents[:, None] == documents, 0.0, np.maximum(matrix @ matrix.T, 0.0))
    peers = np.argpartition(-similarities, min(PEERS, count - 1), axis=1)[:, :PEERS]
    weights = np.take_along_axis(similarities, peers, axis=1) ** PEER_SHARPNESS
    sums = weights.sum(axis=1)
    told = (weights * candidates.scores[known][peers]).sum(axis=1)
    opinions = np.where(sums > 0, told / np.where(sums > 0, sums, 1.0), 0.0)
    scores = candidates.scores.copy()
    scores[known] += PEER_WEIGHT * vector_weight * (opinions - opinions.min())
    return rank(replace(candidates, scores=scores))


def add_neighbours(candidates: Candidates, *, depth: float) -> Candidates:
    """Raise each chunk by a share of how far its neighbours in the document stand above the mean.

    A neighbour below the mean, or not found at all, neither helps nor harms. Only in long documents does it help to
    ask them: `depth` tells how many of the candidates are from such.
    """
    if not len(candidates) or depth == 0:
        return candidates
    mean = sum(candidates.scores.tolist()) / len(candidates)
    help_given = depth * NEIGHBOUR_WEIGHT * np.maximum(candidates.scores - mean, 0.0)
    # Numbered so that just the neighbours in a document have numbers that follow one another.
    _, documents = np.unique(candidates.document_ids, return_inverse=True)
    numbers = documents * (candidates.ordinals.max() + 2) + candidates.ordinals
    places, place_of = np.unique(numbers, return_inverse=True)
    helps = np.bincount(place_of, weights=help_given)
    follows = np.diff(places) == 1
    gains = np.zeros(len(places))
    gains[1:] += np.where(follows, helps[:-1], 0.0)
    gains[:-1] += np.where(follows, helps[1:], 0.0)
    return rank(replace(candidates, scores=candidates.scores + gains[place_of]))


def rank(candidates: Candidates) -> Candidates:
    """Best first; equal ones by chunk, so that the order is the same each time."""
    return candidates.take(np.lexsort((candidates.chunk_ids, -candidates.scores)))


def best_of_each_document(candidates: Candidates) -> Candidates:
    """The best chunk of each document, in the given order."""
    _, first = np.unique(candidates.document_ids, return_index=True)
    return candidates.take(np.sort(first))
