"""One search, from text to hits.

    text ─> parse ─┬─> 200 chunks by keyword ─┐
                   └─> 200 chunks by vector ──┴─> one ranking ─> peers, neighbours ─> page ─> hits with snippets

Both methods look under the same scope before they take their best, so a rare tag still fills its page. Every
candidate gets both scores (a chunk that only its words brought up still has a vector), since comparing a
known score with a guessed one is what makes fusion go wrong.

While the model loads, if it fails, and while the vectors of a new model are being made, hybrid search goes on with
keywords alone and says `degraded`.
What was tried and dropped (rank fusion, dense feedback, phrase and prefix boosts) stands in
`docs/design/search.md`.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from kb.engine.errors import Unavailable
from kb.engine.model import (
    EVERYWHERE,
    Background,
    Chunk,
    ChunkId,
    Document,
    KeywordMatches,
    Match,
    Scope,
    Vector,
    VectorMatches,
)
from kb.engine.ports import Embedder, Store
from kb.engine.search.fusion import (
    CANDIDATES_WITH_PEERS,
    Candidate,
    add_neighbours,
    add_peers,
    best_of_each_document,
    fuse,
)
from kb.engine.search.query import ParsedQuery, parse_query
from kb.engine.search.relevance import estimate_relevance
from kb.engine.search.snippets import cut_snippet
from kb.engine.search.weighing import KNOWN_LANGUAGE, measure_depth, measure_fluency, measure_peak, weigh_vectors

log = logging.getLogger(__name__)

# Longer lists cost time and bring nothing into the first ten. The number must not depend on the page that is asked
# for, or pages would not fit together: what is beyond the candidates is beyond the search.
CANDIDATES = 200
# Where documents are wanted and a long one fills the list with its chunks, a longer list is asked for.
WIDER = (1_000, 5_000, 25_000)
# A question of many words is no place to look for one misspelt word.
MAX_WORDS_TO_SPELL = 8
NO_WORDS = KeywordMatches([], best_possible=0.0)
NOTHING_NEAR = VectorMatches([], Background(mean=0.0, deviation=0.0, count=0))


class Mode(StrEnum):
    HYBRID = "hybrid"
    KEYWORD = "fts"
    VECTOR = "vector"


class Grouping(StrEnum):
    CHUNK = "chunk"
    DOCUMENT = "document"


@dataclass(frozen=True)
class SearchRequest:
    query: str
    scope: Scope = EVERYWHERE
    mode: Mode = Mode.HYBRID
    top: int = 10
    offset: int = 0
    min_relevance: float = 0.0
    group_by: Grouping = Grouping.CHUNK


@dataclass(frozen=True)
class Hit:
    chunk: Chunk
    document: Document
    snippet: str
    score: float
    relevance: float
    keyword_score: float | None
    cosine: float | None


@dataclass(frozen=True)
class SearchOutcome:
    hits: list[Hit]
    total: int
    is_degraded: bool
    suggestion: str | None
    best_possible_keyword_score: float
    """What relevance measures keyword scores by; for those who fit its curves."""


def search(store: Store, embedder: Embedder, request: SearchRequest) -> SearchOutcome:
    query = parse_query(request.query)
    scope = replace(request.scope, required=query.required, excluded=query.excluded)
    vector, is_degraded = _embed(store, embedder, query, request.mode)
    fluency = _measure_fluency(embedder, query)
    # Who asks for keywords alone wants them with no other endings.
    any_endings = request.mode is Mode.HYBRID and fluency < KNOWN_LANGUAGE and not query.is_english
    for limit in (CANDIDATES, *WIDER):
        keyword = NO_WORDS
        if request.mode is not Mode.VECTOR:
            keyword = store.find_by_text(
                query.words, scope, limit=limit, any_endings=any_endings, spellings=query.spellings
            )
        near = NOTHING_NEAR if vector is None else store.find_by_vector(vector, scope, limit=limit)
        candidates = _merge(store, keyword, near, vector, fluency=fluency, limit=limit)
        if request.group_by is Grouping.DOCUMENT:
            candidates = best_of_each_document(candidates)
        is_all = max(len(keyword.matches), len(near.matches)) < limit
        if is_all or request.group_by is Grouping.CHUNK or len(candidates) >= request.offset + request.top:
            break
    if request.min_relevance > 0:
        candidates = [c for c in candidates if estimate_relevance(c, keyword.best_possible) >= request.min_relevance]
    page = candidates[request.offset : request.offset + request.top]
    hits = _load_hits(store, page, query, keyword.best_possible)
    suggestion = _suggest(store, request.query, query)
    return SearchOutcome(hits, len(candidates), is_degraded, suggestion, keyword.best_possible)


def _load_hits(store: Store, page: Sequence[Candidate], query: ParsedQuery, best_possible: float) -> list[Hit]:
    candidate_of = {candidate.chunk_id: candidate for candidate in page}
    return [
        Hit(
            chunk=found.chunk,
            document=found.document,
            snippet=cut_snippet(found.chunk.text, (*query.words, *query.spellings)),
            score=candidate_of[found.chunk.id].score,
            relevance=estimate_relevance(candidate_of[found.chunk.id], best_possible),
            keyword_score=candidate_of[found.chunk.id].keyword_score,
            cosine=candidate_of[found.chunk.id].cosine,
        )
        for found in store.load_chunks(list(candidate_of))
    ]


def _embed(store: Store, embedder: Embedder, query: ParsedQuery, mode: Mode) -> tuple[Vector | None, bool]:
    """The query's vector if this search wants one, and whether a hybrid search has to do without."""
    if mode is Mode.KEYWORD:
        return None, False
    has_vectors = store.has_whole_vectors()
    if mode is Mode.VECTOR:
        if not has_vectors:
            raise Unavailable("Vectors of the new model are still being made. Until then, search by keyword.")
        return embedder.embed_query(query.meaning), False
    if not has_vectors or not embedder.is_ready:
        return None, True
    try:
        return embedder.embed_query(query.meaning), False
    except Unavailable:
        log.warning("The query could not be embedded; searching by keyword alone.", exc_info=True)
        return None, True


def _measure_fluency(embedder: Embedder, query: ParsedQuery) -> float:
    """How well the model knows the query's words; of a model that is still loading, that it does."""
    return measure_fluency(query.meaning, embedder.token_spans(query.meaning)) if embedder.is_ready else 1.0


def _merge(
    store: Store, keyword: KeywordMatches, near: VectorMatches, vector: Vector | None, *, fluency: float, limit: int
) -> list[Candidate]:
    """One ranking of both lists; of one of them alone, if the other is empty."""
    depth = measure_depth({m.chunk_id: m.ordinal for m in (*keyword.matches, *near.matches)}.values())
    if vector is None or not near.matches:
        candidates = [Candidate.by_keyword(match) for match in keyword.matches]
    elif not keyword.matches:
        candidates = [Candidate.by_vector(match) for match in near.matches]
    else:
        weigh = partial(
            weigh_vectors,
            vector_peak=measure_peak(near.matches[0].score, near.background),
            fluency=fluency,
            depth=depth,
        )
        cosines = _compare(store, vector, keyword.matches, near.matches)
        candidates, vector_weight = fuse(keyword.matches, near.matches, cosines, weigh=weigh, limit=limit)
        vectors = store.load_vectors([candidate.chunk_id for candidate in candidates[:CANDIDATES_WITH_PEERS]])
        candidates = add_peers(candidates, vectors, vector_weight=vector_weight)
    return add_neighbours(candidates, depth=depth)


def _compare(store: Store, vector: Vector, keyword: Sequence[Match], near: Sequence[Match]) -> dict[ChunkId, float]:
    """The cosines of the chunks that only their words brought up."""
    only_by_keyword = {match.chunk_id for match in keyword} - {match.chunk_id for match in near}
    vectors = store.load_vectors(sorted(only_by_keyword))
    return {chunk_id: float(vector @ other) for chunk_id, other in vectors.items()}


def _suggest(store: Store, typed: str, query: ParsedQuery) -> str | None:
    """The query as typed, with each word that the base does not know replaced by one it does."""
    if len(query.words) > MAX_WORDS_TO_SPELL:
        return None
    better = typed
    for word in dict.fromkeys(query.words):
        known = store.suggest_word(word)
        if known is not None:
            better = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", known, better)
    return None if better == typed else better
