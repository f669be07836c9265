"""How two rankings become one, said as plainly as can be: what the arrays of the engine must agree with."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import fmean, pstdev
from typing import NamedTuple

from kb.engine.search.fusion import LEAST_DEVIATION, NEIGHBOUR_WEIGHT, PEER_WEIGHT, PEERS


class Found(NamedTuple):
    chunk_id: int
    document_id: int
    ordinal: int
    score: float


def fuse(
    keyword: Sequence[Found],
    vector: Sequence[Found],
    cosines: Mapping[int, float],
    *,
    weigh: Callable[[float], float],
    limit: int,
) -> list[Found]:
    keyword_scores = {one.chunk_id: one.score for one in keyword}
    similarities = {**cosines, **{one.chunk_id: one.score for one in vector}}
    found = {one.chunk_id: one for one in (*vector, *keyword)}
    lowest_keyword = min(keyword_scores.values()) if len(keyword) >= limit else 0.0
    lowest_cosine = min(similarities.values())
    by_keyword = [keyword_scores.get(chunk_id, lowest_keyword) for chunk_id in found]
    by_vector = [similarities.get(chunk_id, lowest_cosine) for chunk_id in found]
    keyword_part = standardise(by_keyword, by_keyword)
    vector_part = standardise(by_vector, [one.score for one in vector])
    weight = weigh(max(keyword_part))
    return rank(
        one._replace(score=(1 - weight) * by_words + weight * by_meaning)
        for one, by_words, by_meaning in zip(found.values(), keyword_part, vector_part, strict=True)
    )


def standardise(scores: Sequence[float], sample: Sequence[float]) -> list[float]:
    deviation = pstdev(sample)
    return [(score - fmean(sample)) / deviation if deviation > LEAST_DEVIATION else 0.0 for score in scores]


def add_peers(found: Sequence[Found], vectors: Mapping[int, Sequence[float]], *, vector_weight: float) -> list[Found]:
    known = [one for one in found if one.chunk_id in vectors]
    if len(known) < 2:
        return list(found)
    opinions = {one.chunk_id: _opinion_on(one, known, vectors) for one in known}
    lowest = min(opinions.values())
    return rank(
        one._replace(score=one.score + PEER_WEIGHT * vector_weight * (opinions.get(one.chunk_id, lowest) - lowest))
        for one in found
    )


def _opinion_on(one: Found, known: Sequence[Found], vectors: Mapping[int, Sequence[float]]) -> float:
    nearness = [
        (sum(a * b for a, b in zip(vectors[one.chunk_id], vectors[other.chunk_id], strict=True)), other.score)
        for other in known
        if other.document_id != one.document_id
    ]
    last = sorted((similarity for similarity, _ in nearness), reverse=True)[:PEERS][-1:]
    weighted = [(max(similarity, 0.0) ** 4, score) for similarity, score in nearness if [similarity] >= last]
    whole = sum(weight for weight, _ in weighted)
    return sum(weight * score for weight, score in weighted) / whole if whole > 0 else 0.0


def add_neighbours(found: Sequence[Found], *, depth: float) -> list[Found]:
    mean = fmean(one.score for one in found)
    return rank(
        one._replace(
            score=one.score
            + sum(
                depth * NEIGHBOUR_WEIGHT * (other.score - mean)
                for other in found
                if other.document_id == one.document_id and abs(other.ordinal - one.ordinal) == 1 and other.score > mean
            )
        )
        for one in found
    )


def rank(found: Iterable[Found]) -> list[Found]:
    return sorted(found, key=lambda one: (-one.score, one.chunk_id))
