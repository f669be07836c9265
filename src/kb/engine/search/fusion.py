"""How two rankings become one. Pure arithmetic, measured with `make evaluate`.

Keyword scores and cosines live on scales of their own that change with every query, so each is put on a
standard scale (mean 0, deviation 1) and the two are averaged. Ranks would be simpler (reciprocal rank
fusion), but they throw away how much better the first is than the second. How much each counts is told by
`weighing.py`. Then candidates speak for one another: those that mean the same in other documents, and the
neighbours in a long one. `docs/design/search.md` has the figures, and what was dropped.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Self

import numpy as np
import numpy.typing as npt

from kb.engine.model import ChunkId, DocumentId, Match, Vector

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


@dataclass(frozen=True)
class Candidate:
    """A chunk that some method found, with what each method thinks of it."""

    chunk_id: ChunkId
    document_id: DocumentId
    ordinal: int
    keyword_score: float | None
    cosine: float | None
    score: float

    @classmethod
    def by_keyword(cls, match: Match) -> Self:
        return cls(match.chunk_id, match.document_id, match.ordinal, match.score, None, match.score)

    @classmethod
    def by_vector(cls, match: Match) -> Self:
        return cls(match.chunk_id, match.document_id, match.ordinal, None, match.score, match.score)


class Fused(NamedTuple):
    candidates: list[Candidate]
    """Best first."""
    vector_weight: float


def fuse(
    keyword: Sequence[Match],
    vector: Sequence[Match],
    cosines: Mapping[ChunkId, float],
    *,
    weigh: Callable[[float], float],
    limit: int,
) -> Fused:
    """All chunks of both lists.

    `cosines` tells the similarity of those only keywords found; a list that is `limit` long was cut off. `weigh` is
    asked for the share of the vectors and told by how many deviations the best keyword score stands out.
    """
    keyword_scores = {match.chunk_id: match.score for match in keyword}
    similarities = {**cosines, **{match.chunk_id: match.score for match in vector}}
    found = {match.chunk_id: match for match in (*vector, *keyword)}
    # A chunk missing from a whole list has none of the words; one missing from a list that was cut off may
    # have nearly the score of its last. A chunk without a vector stands with the least similar.
    lowest_keyword = min(keyword_scores.values(), default=0.0) if len(keyword) >= limit else 0.0
    lowest_cosine = min(similarities.values(), default=0.0)
    by_keyword = [keyword_scores.get(chunk_id, lowest_keyword) for chunk_id in found]
    by_vector = [similarities.get(chunk_id, lowest_cosine) for chunk_id in found]
    keyword_part = standardise(by_keyword, by_keyword)
    vector_part = standardise(by_vector, [match.score for match in vector])
    vector_weight = weigh(float(keyword_part.max(initial=0.0)))
    scores = (1 - vector_weight) * keyword_part + vector_weight * vector_part
    candidates = rank(
        Candidate(m.chunk_id, m.document_id, m.ordinal, keyword_scores.get(i), similarities.get(i), score)
        for (i, m), score in zip(found.items(), scores.tolist(), strict=True)
    )
    return Fused(candidates, vector_weight)


def standardise(scores: Sequence[float], sample: Sequence[float]) -> npt.NDArray[np.float64]:
    """How many deviations of the sample each score lies above its mean; where all are equal, none stands out."""
    deviation = np.std(sample) if sample else 0.0
    return (np.array(scores) - np.mean(sample)) / deviation if deviation > LEAST_DEVIATION else np.zeros(len(scores))


def add_peers(
    candidates: Sequence[Candidate], vectors: Mapping[ChunkId, Vector], *, vector_weight: float
) -> list[Candidate]:
    """Raise each that has a vector by a share of what the most similar of the others score.

    Chunks of the same document are no peers: they are similar because one wrote them, not because two agree. None is
    lowered, so that those without vectors, or too far down to be given any, do not pass them.
    """
    known = [c for c in candidates if c.chunk_id in vectors]
    if len(known) < 2:
        return list(candidates)
    matrix = np.stack([vectors[c.chunk_id] for c in known])
    documents = np.array([c.document_id for c in known])
    scores = np.array([c.score for c in known])
    similarities = np.where(documents[:, None] == documents, 0.0, np.maximum(matrix @ matrix.T, 0.0))
    peers = np.argpartition(-similarities, min(PEERS, len(known) - 1), axis=1)[:, :PEERS]
    weights = np.take_along_axis(similarities, peers, axis=1) ** PEER_SHARPNESS
    sums = weights.sum(axis=1)
    opinions = np.where(sums > 0, (weights * scores[peers]).sum(axis=1) / np.where(sums > 0, sums, 1.0), 0.0)
    raises = PEER_WEIGHT * vector_weight * (opinions - opinions.min())
    gains = {c.chunk_id: gain for c, gain in zip(known, raises.tolist(), strict=True)}
    return rank(replace(c, score=c.score + gains[c.chunk_id]) if c.chunk_id in gains else c for c in candidates)


def add_neighbours(candidates: Sequence[Candidate], *, depth: float) -> list[Candidate]:
    """Raise each chunk by a share of how far its neighbours in the document stand above the mean.

    A neighbour below the mean, or not found at all, neither helps nor harms. Only in long documents does it help to
    ask them: `depth` tells how many of the candidates are from such.
    """
    mean = sum(c.score for c in candidates) / len(candidates) if candidates else 0.0
    gains: dict[tuple[DocumentId, int], float] = {}
    for c in candidates:
        if c.score > mean:
            for neighbour in ((c.document_id, c.ordinal - 1), (c.document_id, c.ordinal + 1)):
                gains[neighbour] = gains.get(neighbour, 0.0) + depth * NEIGHBOUR_WEIGHT * (c.score - mean)
    return rank(
        replace(c, score=c.score + gains[c.document_id, c.ordinal]) if (c.document_id, c.ordinal) in gains else c
        for c in candidates
    )


def rank(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first; equal ones by chunk, so that the order is the same each time."""
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.chunk_id))


def best_of_each_document(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The best chunk of each document, in the given order."""
    best: dict[DocumentId, Candidate] = {}
    for candidate in candidates:
        best.setdefault(candidate.document_id, candidate)
    return list(best.values())
