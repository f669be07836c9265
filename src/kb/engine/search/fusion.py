"""How two rankings become one. Pure arithmetic, measured with `make evaluate`.

Keyword scores and cosines live on scales of their own that change with every query, so each list is
standardised (mean 0, deviation 1 over the candidates) and the two are averaged. Ranks would be simpler
(reciprocal rank fusion), but they throw away how much better the first is than the second: standard scores
won on six of seven judged sets, by .03 nDCG@10 in the mean. `docs/design/search.md` has the figures.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from kb.engine.model import ChunkId, DocumentId, Match

# What the chunk before and the one after say about this one: talk runs on over the border of a chunk.
NEIGHBOUR_WEIGHT = 0.15


@dataclass(frozen=True)
class Candidate:
    """A chunk that some method found, with what each method thinks of it."""

    chunk_id: ChunkId
    document_id: DocumentId
    ordinal: int
    keyword_score: float | None
    cosine: float | None
    score: float = 0.0


def fuse(keyword: Sequence[Match], vector: Sequence[Match], cosines: Mapping[ChunkId, float]) -> list[Candidate]:
    """All chunks of both lists, best first. `cosines` tells the similarity of those only keywords found."""
    found = {match.chunk_id: match for match in (*vector, *keyword)}
    keyword_scores = {match.chunk_id: match.score for match in keyword}
    similarity = {**cosines, **{match.chunk_id: match.score for match in vector}}
    candidates = [
        Candidate(chunk_id, match.document_id, match.ordinal, keyword_scores.get(chunk_id), similarity.get(chunk_id))
        for chunk_id, match in found.items()
    ]
    standard = standardise([candidate.keyword_score for candidate in candidates]) + standardise(
        [candidate.cosine for candidate in candidates]
    )
    return rank(
        replace(candidate, score=float(score) / 2) for candidate, score in zip(candidates, standard, strict=True)
    )


def standardise(scores: Sequence[float | None]) -> npt.NDArray[np.float64]:
    """Mean 0 and deviation 1. A chunk that a method did not find stands below all that it found."""
    known = [score for score in scores if score is not None]
    floor = min(known, default=0.0)
    values = np.array([floor if score is None else score for score in scores], dtype=np.float64)
    deviation = float(values.std()) if len(values) else 0.0
    return (values - values.mean()) / deviation if deviation > 0 else np.zeros(len(values))


def add_neighbours(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Raise each chunk by a share of what its neighbours in the document scored."""
    if not candidates:
        return []
    # Counted from the lowest candidate, so that a neighbour that was not found never helps.
    lowest = min(candidate.score for candidate in candidates)
    above = {(c.document_id, c.ordinal): c.score - lowest for c in candidates}
    return rank(
        replace(
            c,
            score=c.score
            + NEIGHBOUR_WEIGHT
            * (above.get((c.document_id, c.ordinal - 1), 0.0) + above.get((c.document_id, c.ordinal + 1), 0.0)),
        )
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


def logistic(x: float) -> float:
    return 1 / (1 + math.exp(-x))
