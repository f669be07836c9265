"""One search, from text to hits.

    text ─> parse ─┬─> 200 chunks by keyword ─┐
                   └─> 200 chunks by vector ──┴─> one ranking ─> neighbours ─> page ─> hits with snippets

Both methods look under the same scope before they take their best, so a rare tag still fills its page. Every
candidate gets both scores (a chunk that only its words brought up still has a vector), since comparing a
known score with a guessed one is what makes fusion go wrong.

While the model loads, or if it fails, hybrid search goes on with keywords alone and says `degraded`.
What was tried and dropped (rank fusion, dense feedback, phrase and prefix boosts) stands in
`docs/design/search.md`.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from kb.engine.errors import Unavailable
from kb.engine.model import EVERYWHERE, Chunk, Document, KeywordMatches, Match, Scope, Vector
from kb.engine.ports import Embedder, Store
from kb.engine.search.fusion import Candidate, add_neighbours, best_of_each_document, fuse, weigh_vectors
from kb.engine.search.query import ParsedQuery, parse_query
from kb.engine.search.relevance import estimate_relevance
from kb.engine.search.snippets import cut_snippet

log = logging.getLogger(__name__)

# Longer lists cost time and, measured, bring nothing into the first ten.
CANDIDATES = 200
# A question of many words is no place to look for one misspelt word.
MAX_WORDS_TO_SPELL = 8


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


def search(store: Store, embedder: Embedder, request: SearchRequest) -> SearchOutcome:
    query = parse_query(request.query)
    scope = replace(request.scope, required=query.required, excluded=query.excluded)
    limit = max(CANDIDATES, request.offset + request.top)
    keyword = KeywordMatches([], 0.0)
    if request.mode is not Mode.VECTOR:
        keyword = store.find_by_text(query.words, scope, limit=limit)
    vector, is_degraded = _embed(embedder, query, request.mode)
    vector_weight = weigh_vectors(embedder.token_spans(query.meaning)) if vector is not None else 0.0
    candidates = _find_candidates(store, keyword.matches, vector, scope, vector_weight=vector_weight, limit=limit)
    if request.group_by is Grouping.CHUNK:
        # Neighbours tell which part of a text is meant; when documents were ranked they did more harm than good.
        candidates = add_neighbours(candidates)
    if request.min_relevance > 0:
        candidates = [c for c in candidates if estimate_relevance(c, keyword.best_possible) >= request.min_relevance]
    if request.group_by is Grouping.DOCUMENT:
        candidates = best_of_each_document(candidates)
    page = {c.chunk_id: c for c in candidates[request.offset : request.offset + request.top]}
    hits = [
        Hit(
            chunk=found.chunk,
            document=found.document,
            snippet=cut_snippet(found.chunk.text, query.words),
            score=page[found.chunk.id].score,
            relevance=estimate_relevance(page[found.chunk.id], keyword.best_possible),
            keyword_score=page[found.chunk.id].keyword_score,
            cosine=page[found.chunk.id].cosine,
        )
        for found in store.load_chunks(list(page))
    ]
    return SearchOutcome(hits, len(candidates), is_degraded, _suggest(store, request.query, query))


def _embed(embedder: Embedder, query: ParsedQuery, mode: Mode) -> tuple[Vector | None, bool]:
    """The query's vector if this search wants one, and whether a hybrid search has to do without."""
    if mode is Mode.KEYWORD:
        return None, False
    if mode is Mode.VECTOR:
        return embedder.embed_query(query.meaning), False
    if not embedder.is_ready:
        return None, True
    try:
        return embedder.embed_query(query.meaning), False
    except Unavailable:
        log.warning("The query could not be embedded; searching by keyword alone.", exc_info=True)
        return None, True


def _find_candidates(
    store: Store,
    keyword: Sequence[Match],
    vector: Vector | None,
    scope: Scope,
    *,
    vector_weight: float,
    limit: int,
) -> list[Candidate]:
    if vector is None:
        return [Candidate(m.chunk_id, m.document_id, m.ordinal, m.score, None, m.score) for m in keyword]
    near = store.find_by_vector(vector, scope, limit=limit)
    if not keyword:
        return [Candidate(m.chunk_id, m.document_id, m.ordinal, None, m.score, m.score) for m in near]
    only_by_keyword = {match.chunk_id for match in keyword} - {match.chunk_id for match in near}
    cosines = store.score_by_vector(vector, sorted(only_by_keyword))
    return fuse(keyword, near, cosines, vector_weight=vector_weight, limit=limit)


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
