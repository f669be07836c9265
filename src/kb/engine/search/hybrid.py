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
import math
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

import numpy as np

from kb.engine.errors import TooBroad, Unavailable
from kb.engine.model import (
    EVERYWHERE,
    NO_BACKGROUND,
    NO_MATCHES,
    Chunk,
    ChunkId,
    Document,
    KeywordMatches,
    LoadedVectors,
    Scope,
    Vector,
    VectorMatches,
)
from kb.engine.ports import Embedder, Store
from kb.engine.search.fusion import (
    CANDIDATES_WITH_PEERS,
    Candidates,
    add_neighbours,
    add_peers,
    best_of_each_document,
    fuse,
    join,
    order_by_score,
    rank,
)
from kb.engine.search.query import ParsedQuery, parse_query
from kb.engine.search.relevance import estimate_relevance
from kb.engine.search.snippets import cut_snippet
from kb.engine.search.suggestion import suggest
from kb.engine.search.weighing import KNOWN_LANGUAGE, measure_depth, measure_fluency, measure_peak, weigh_vectors

log = logging.getLogger(__name__)

# Longer lists cost time and bring nothing into the first ten. The number must not depend on the page that is asked
# for, or pages would not fit together: what is beyond the candidates is beyond the search.
CANDIDATES = 200
# Where documents are wanted and a long one fills the list with its chunks, a longer list is asked for.
WIDER = (1_000, 5_000, 25_000)
NO_WORDS = KeywordMatches(NO_MATCHES, best_possible=0.0)
NOTHING_NEAR = VectorMatches(NO_MATCHES, NO_BACKGROUND)


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
    complete_last_word: bool = False


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
    query = parse_query(request.query, complete_last_word=request.complete_last_word)
    vector, is_degraded = _embed(store, embedder, query, request.mode)
    # Only hybrid search weighs one against the other; who asks for keywords alone wants them with no other endings.
    fluency = _measure_fluency(embedder, query) if request.mode is Mode.HYBRID else 1.0
    with store.one_moment():
        return _search(store, request, query, vector, fluency=fluency, is_degraded=is_degraded)


def _search(
    store: Store,
    request: SearchRequest,
    query: ParsedQuery,
    vector: Vector | None,
    *,
    fluency: float,
    is_degraded: bool,
) -> SearchOutcome:
    scope = replace(request.scope, required=query.required, excluded=query.excluded)
    any_endings = fluency < KNOWN_LANGUAGE and not query.is_english
    keyword = NO_WORDS
    for limit in (CANDIDATES, *WIDER):
        try:
            found = _find(store, request.mode, query, scope, vector, limit=limit, any_endings=any_endings)
        except TooBroad:
            # What shorter lists gave is better than nothing.
            if limit > CANDIDATES:
                break
            raise
        if found.is_cut and limit > CANDIDATES:
            break
        keyword, near, is_degraded = found.keyword, found.near, is_degraded or found.is_cut
        candidates = _merge(store, keyword, near, vector, fluency=fluency, limit=limit)
        if request.group_by is Grouping.DOCUMENT:
            candidates = best_of_each_document(candidates)
        is_all = max(len(keyword.matches), len(near.matches)) < limit
        if is_all or request.group_by is Grouping.CHUNK or len(candidates) >= request.offset + request.top:
            break
    if request.min_relevance > 0:
        relevances = estimate_relevance(candidates, keyword.best_possible)
        candidates = candidates.take(relevances >= request.min_relevance)
    page = candidates.take(slice(request.offset, request.offset + request.top))
    hits = _load_hits(store, page, query, keyword.best_possible)
    suggestion = suggest(store, request.query, query, [hit.chunk.text for hit in hits])
    return SearchOutcome(hits, len(candidates), is_degraded, suggestion, keyword.best_possible)


@dataclass(frozen=True)
class _Found:
    keyword: KeywordMatches
    near: VectorMatches
    is_cut: bool
    """Whether one of the two is missing because it took too long."""


def _find(
    store: Store,
    mode: Mode,
    query: ParsedQuery,
    scope: Scope,
    vector: Vector | None,
    *,
    limit: int,
    any_endings: bool,
) -> _Found:
    """Raises `TooBroad` if that leaves nothing."""
    keyword, near, is_cut = NO_WORDS, NOTHING_NEAR, False
    if mode is not Mode.VECTOR:
        try:
            keyword = store.find_by_text(
                query.words,
                scope,
                limit=limit,
                any_endings=any_endings,
                spellings=query.spellings,
                beginning=query.beginning,
            )
        except TooBroad:
            if vector is None:
                raise
            log.warning("Looking for the words took too long; searching by meaning alone.")
            is_cut = True
    if vector is not None:
        try:
            near = store.find_by_vector(vector, scope, limit=limit)
        except TooBroad:
            if not len(keyword.matches):
                raise
            log.warning("Looking for what is near took too long; searching by keyword alone.")
            is_cut = True
    return _Found(keyword, near, is_cut)


def _load_hits(store: Store, page: Candidates, query: ParsedQuery, best_possible: float) -> list[Hit]:
    chunk_ids: list[ChunkId] = page.chunk_ids.tolist()
    relevances = estimate_relevance(page, best_possible)
    told = zip(
        page.scores.tolist(), relevances.tolist(), page.keyword_scores.tolist(), page.cosines.tolist(), strict=True
    )
    told_of = dict(zip(chunk_ids, told, strict=True))
    hits = []
    for found in store.load_chunks(chunk_ids):
        score, relevance, keyword_score, cosine = told_of[found.chunk.id]
        hits.append(
            Hit(
                chunk=found.chunk,
                document=found.document,
                snippet=cut_snippet(found.chunk.text, query.marked, beginning=query.beginning),
                score=score,
                relevance=relevance,
                keyword_score=None if math.isnan(keyword_score) else keyword_score,
                cosine=None if math.isnan(cosine) else cosine,
            )
        )
    return hits


def _embed(store: Store, embedder: Embedder, query: ParsedQuery, mode: Mode) -> tuple[Vector | None, bool]:
    """The query's vector if this search wants one, and whether a hybrid search has to do without."""
    if mode is Mode.KEYWORD:
        return None, False
    has_vectors = store.has_whole_vectors()
    if mode is Mode.VECTOR:
        if not has_vectors:
            raise Unavailable("The vectors are still being made. Until then, search by keyword.")
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
) -> Candidates:
    """One ranking of both lists; of one of them alone, if the other is empty."""
    candidates = join(keyword.matches, near.matches)
    depth = measure_depth(candidates.ordinals)
    if vector is not None and len(keyword.matches) and len(near.matches):
        vector_peak = measure_peak(float(near.matches.scores[0]), near.background)
        # A chunk that only its words brought up has a vector, too.
        vectors = store.load_vectors(candidates.chunk_ids)
        candidates, vector_weight = fuse(
            _compare(candidates, vectors, vector),
            near.matches.scores,
            weigh=partial(weigh_vectors, vector_peak=vector_peak, fluency=fluency, depth=depth),
            # A chunk missing from a whole list has none of the words; one missing from a list that was cut off may have
            # nearly the score of its last.
            lowest_keyword_score=float(keyword.matches.scores[-1]) if len(keyword.matches) >= limit else 0.0,
        )
        candidates = add_peers(candidates, _keep_best(candidates, vectors), vector_weight=vector_weight)
    return rank(add_neighbours(candidates, depth=depth))


def _compare(candidates: Candidates, vectors: LoadedVectors, vector: Vector) -> Candidates:
    """The candidates with the cosines of those that have none yet."""
    if not len(vectors.chunk_ids):
        return candidates
    cosines = np.full(len(candidates), np.nan)
    cosines[np.searchsorted(candidates.chunk_ids, vectors.chunk_ids)] = vectors.matrix @ vector
    return replace(candidates, cosines=np.where(np.isnan(candidates.cosines), cosines, candidates.cosines))


def _keep_best(candidates: Candidates, vectors: LoadedVectors) -> LoadedVectors:
    """The vectors of those that may be peers."""
    is_best = np.zeros(len(candidates), np.bool_)
    is_best[order_by_score(candidates)[:CANDIDATES_WITH_PEERS]] = True
    kept = is_best[np.searchsorted(candidates.chunk_ids, vectors.chunk_ids)]
    return LoadedVectors(vectors.chunk_ids[kept], vectors.matrix[kept])
