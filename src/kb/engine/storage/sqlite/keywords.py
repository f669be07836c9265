"""Finding chunks in SQLite by their words, with FTS5."""

from collections.abc import Sequence

import apsw

from kb.engine.errors import TooBroad
from kb.engine.model import NO_MATCHES, KeywordMatches, Matches, Scope
from kb.engine.storage.sqlite.chunk_places import AllowedChunks, ChunkPlaces
from kb.engine.storage.sqlite.chunk_ranking import rank_chunks
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.time_limit import time_limited
from kb.engine.storage.sqlite.vectors.index import VectorIndex
from kb.engine.storage.sqlite.word_index import WordIndex
from kb.engine.storage.tables.allowed import AllowedScopes
from kb.engine.storage.words.completion import find_completions
from kb.engine.storage.words.counting import CountedPhrase, can_match, count_phrase
from kb.engine.storage.words.phrases import find_phrases
from kb.engine.storage.words.scores import BM25_K1, best_possible_score
from kb.engine.storage.words.spelling import suggest_words

# Of a word that only adds to the score less is expected: it gives one inverse document frequency to whoever has it,
# where bm25 gives 1.4 for two mentions. With this the first hits have the same share of the best possible score as if
# all words were ranked by (.53 and .52 in the mean; .45 without), and so the same relevance.
SHARE_OF_ADDED_WORD = 1 / 1.4
# Nearly all cost a hundredth of it.
LONGEST_SEARCH_SECONDS = 0.25


class KeywordsPart:
    """The part of the store that finds chunks by their words."""

    _database: Database
    _word_index: WordIndex
    _allowed: AllowedScopes
    _places: ChunkPlaces
    _vectors: VectorIndex

    def find_by_text(
        self,
        words: Sequence[str],
        scope: Scope,
        *,
        limit: int,
        any_endings: bool = False,
        spellings: Sequence[str] = (),
        beginning: str = "",
    ) -> KeywordMatches:
        with self._database.read() as db:
            # These are read once and then kept, however long it takes.
            known = self._word_index.at(db)
            completions = find_completions(known, beginning) if beginning else []
            phrases = find_phrases(words, scope, any_endings=any_endings, completions=completions, spellings=spellings)
            if not phrases:
                return KeywordMatches(NO_MATCHES, 0.0)
            vectors = self._vectors.catch_up(db)
            places = self._places.at(db, chunk_count=known.row_count, coded=vectors.coded if vectors else None)
            documents = self._allowed.find(db, scope)
            allowed = None if documents is None else AllowedChunks(db, documents, places)
            with time_limited(db, LONGEST_SEARCH_SECONDS):
                counted = [count_phrase(known, phrase) for phrase in phrases]
            if not can_match(counted):
                return KeywordMatches(NO_MATCHES, 0.0)
            try:
                with time_limited(db, LONGEST_SEARCH_SECONDS):
                    ranked = rank_chunks(known, counted, scope, allowed, limit=limit)
            except TooBroad:
                with time_limited(db, LONGEST_SEARCH_SECONDS):
                    ranked = rank_chunks(known, _most_telling(counted), scope, allowed, limit=limit)
            best_possible = best_possible_score(known, phrases)
            best_possible -= (BM25_K1 + 1) * (1 - SHARE_OF_ADDED_WORD) * _expected_of(ranked.added)
        if len(ranked.ids) == 0:
            return KeywordMatches(NO_MATCHES, 0.0)
        matches = Matches(ranked.ids, *places.look_up(ranked.ids), ranked.scores)
        return KeywordMatches(matches, best_possible)

    def suggest_words(self, words: Sequence[str]) -> dict[str, str]:
        with self._database.read() as db:
            return suggest_words(self._word_index.at(db), words)


def register_row_count(connection: apsw.Connection) -> None:
    """Give SQL a function that tells how many rows FTS5 has."""

    def count_rows(api: apsw.FTS5ExtensionApi, *_: object) -> int:
        try:
            return api.row_count
        except apsw.CorruptError:
            # There are chunks and FTS5 knows of none. The check of the base tells so; here nothing is found.
            return 0

    connection.register_fts5_function("count_rows", count_rows)


def _most_telling(phrases: Sequence[CountedPhrase]) -> list[CountedPhrase]:
    """What there is time for when there is no time for all: the required phrases and the two rarest words."""
    required = [counted for counted in phrases if counted.phrase.is_required]
    others = [counted for counted in phrases if counted.chunks > 0 and not counted.phrase.is_required]
    return [*required, *sorted(others, key=lambda counted: counted.chunks)[:2]]


def _expected_of(phrases: Sequence[CountedPhrase]) -> float:
    return sum(c.worth for c in phrases if not (c.phrase.is_spelling or c.phrase.is_other_form or c.phrase.is_required))
