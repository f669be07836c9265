"""How two rankings become one. Pure arithmetic, measured with `make evaluate`.

Keyword scores and cosines live on scales of their own that change with every query, so each is put on a
standard scale (mean 0, deviation 1) and the two are averaged. Ranks would be simpler (reciprocal rank
fusion), but they throw away how much better the first is than the second.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from kb.engine.model import ChunkId, DocumentId, Match

# What the chunk before and the one after say about this one: talk runs on over the border of a chunk.
NEIGHBOUR_WEIGHT = 0.2

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


@dataclass(frozen=True)
class Scale:
    mean: float
    deviation: float

    @classmethod
    def of(cls, scores: Sequence[float]) -> "Scale":
        return cls(float(np.mean(scores)), float(np.std(scores))) if scores else cls(0.0, 0.0)

    def place(self, score: float) -> float:
        """How many deviations above the mean; where all are equal, nothing stands out."""
        return (score - self.mean) / self.deviation if self.deviation > LEAST_DEVIATION else 0.0


def fuse(
    keyword: Sequence[Match], vector: Sequence[Match], cosines: Mapping[ChunkId, float], *, limit: int
) -> list[Candidate]:
    """All chunks of both lists, best first.

    `cosines` tells the similarity of those only keywords found; a list that is `limit` long was cut off.
    """
    keyword_scores = {match.chunk_id: match.score for match in keyword}
    similarities = {**cosines, **{match.chunk_id: match.score for match in vector}}
    found = {match.chunk_id: match for match in (*vector, *keyword)}
    # A chunk missing from a whole list has none of the words; one missing from a list that was cut off may
    # have nearly the score of its last. A chunk without a vector stands with the least similar.
    lowest_keyword = min(keyword_scores.values(), default=0.0) if len(keyword) >= limit else 0.0
    lowest_cosine = min(similarities.values(), default=0.0)
    by_keyword = Scale.of([keyword_scores.get(chunk_id, lowest_keyword) for chunk_id in found])
    by_vector = Scale.of([match.score for match in vector])

    def average(chunk_id: ChunkId) -> float:
        keyword_place = by_keyword.place(keyword_scores.get(chunk_id, lowest_keyword))
        return (keyword_place + by_vector.place(similarities.get(chunk_id, lowest_cosine))) / 2

    return rank(
        Candidate(
            chunk_id,
            match.document_id,
            match.ordinal,
            keyword_scores.get(chunk_id),
            similarities.get(chunk_id),
            average(chunk_id),
        )
        for chunk_id, match in found.items()
    )


def add_neighbours(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Raise each chunk by a share of how far its neighbours in the document stand above the mean.

    A neighbour below the mean, or not found at all, neither helps nor harms: otherwise a document would rise
    for no more than having many chunks.
    """
    mean = fmean(candidate.score for candidate in candidates) if candidates else 0.0
    above = {(c.document_id, c.ordinal): c.score - mean for c in candidates if c.score > mean}
    return rank(_raise(c, above) for c in candidates)


def _raise(candidate: Candidate, above: Mapping[tuple[DocumentId, int], float]) -> Candidate:
    sides = ((candidate.document_id, candidate.ordinal + step) for step in (-1, 1))
    gain = sum(above.get(side, 0.0) for side in sides)
    return replace(candidate, score=candidate.score + NEIGHBOUR_WEIGHT * gain) if gain else candidate


def rank(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Best first; equal ones by chunk, so that the order is the same each time."""
    return sorted(candidates, key=lambda candidate: (-candidate.score, candidate.chunk_id))


def best_of_each_document(candidates: Iterable[Candidate]) -> list[Candidate]:
    """The best chunk of each document, in the given order."""
    best: dict[DocumentId, Candidate] = {}
    for candidate in candidates:
        best.setdefault(candidate.document_id, candidate)
    return list(best.values())
