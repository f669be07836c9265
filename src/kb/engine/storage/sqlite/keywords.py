"""Finding chunks in SQLite by their words, with FTS5."""

import math
from collections.abc import Sequence
from itertools import chain

import apsw

from kb.engine.errors import TooBroad
from kb.engine.model import NO_MATCHES, KeywordMatches, Matches, Scope
from kb.engine.storage.sqlite.allowed import AllowedScopes
from kb.engine.storage.sqlite.chunk_places import AllowedChunks, ChunkPlaces
from kb.engine.storage.sqlite.chunk_ranking import rank_chunks
from kb.engine.storage.sqlite.completion import find_completions
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.match_expression import Phrase, find_phrases
from kb.engine.storage.sqlite.time_limit import time_limited
from kb.engine.storage.sqlite.vectors.index import VectorIndex
from kb.engine.storage.sqlite.word_index import WordIndex, Words
from kb.engine.storage.sqlite.word_plan import CountedPhrase

# FTS5's constant: the score of one term approaches (K1 + 1) * idf.
BM25_K1 = 1.2
# Of a word that only adds to the score less is expected: it gives one inverse document frequency to whoever has it,
# where bm25 gives 1.4 for two mentions. With this the first hits have the same share of the best possible score as if
# all words were ranked by (.53 and .52 in the mean; .45 without), and so the same relevance.
SHARE_OF_ADDED_WORD = 1 / 1.4
# Nearly all cost a hundredth of it.
LONGEST_SEARCH_SECONDS = 0.25


class KeywordRows:
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
                counted = [_count(known, phrase) for phrase in phrases]
            if not _can_match(counted):
                return KeywordMatches(NO_MATCHES, 0.0)
            try:
                with time_limited(db, LONGEST_SEARCH_SECONDS):
                    ranked = rank_chunks(known, counted, scope, allowed, limit=limit)
            except TooBroad:
                with time_limited(db, LONGEST_SEARCH_SECONDS):
                    ranked = rank_chunks(known, _most_telling(counted), scope, allowed, limit=limit)
            best_possible = _best_possible_score(known, phrases)
            best_possible -= (BM25_K1 + 1) * (1 - SHARE_OF_ADDED_WORD) * _expected_of(ranked.added)
        if len(ranked.ids) == 0:
            return KeywordMatches(NO_MATCHES, 0.0)
        matches = Matches(ranked.ids, *places.look_up(ranked.ids), ranked.scores)
        return KeywordMatches(matches, best_possible)


def register_row_count(connection: apsw.Connection) -> None:
    """Give SQL a function that tells how many rows FTS5 has."""

    def count_rows(api: apsw.FTS5ExtensionApi, *_: object) -> int:
        try:
            return api.row_count
        except apsw.CorruptError:
            # There are chunks and FTS5 knows of none. The check of the base tells so; here nothing is found.
            return 0

    connection.register_fts5_function("count_rows", count_rows)


def _can_match(phrases: Sequence[CountedPhrase]) -> bool:
    return any(counted.chunks for counted in phrases) and all(
        counted.chunks for counted in phrases if counted.phrase.is_required
    )


def _most_telling(phrases: Sequence[CountedPhrase]) -> list[CountedPhrase]:
    """What there is time for when there is no time for all: the required phrases and the two rarest words."""
    required = [counted for counted in phrases if counted.phrase.is_required]
    others = [counted for counted in phrases if counted.chunks > 0 and not counted.phrase.is_required]
    return [*required, *sorted(others, key=lambda counted: counted.chunks)[:2]]


def _count(words: Words, phrase: Phrase) -> CountedPhrase:
    chunks = words.count(phrase).chunks
    return CountedPhrase(phrase, chunks, _inverse_frequency(chunks, words.row_count))


def _best_possible_score(words: Words, phrases: Sequence[Phrase]) -> float:
    """The bm25 score of an imagined chunk that holds everything sought, just as it was asked for, and little else.

    Words that no chunk has count too: a chunk with the other half of the query is half an answer. Other spellings do
    not: nobody writes a name in two ways at once.
    """
    forms_of_words: list[list[int]] = []
    # FTS5 counts required phrases twice: they are ranked by, and stand beside what is ranked by.
    for phrase in chain(phrases, (phrase for phrase in phrases if phrase.is_required)):
        if phrase.is_spelling:
            continue
        frequency = words.count(phrase).rarest_term
        if phrase.is_other_form:
            forms_of_words[-1].append(frequency)
        else:
            forms_of_words.append([frequency])
    return sum(
        (BM25_K1 + 1) * _inverse_frequency(frequency, words.row_count)
        for forms in forms_of_words
        for frequency in _frequencies_to_expect(*forms)
    )


def _expected_of(phrases: Sequence[CountedPhrase]) -> float:
    return sum(c.worth for c in phrases if not (c.phrase.is_spelling or c.phrase.is_other_form or c.phrase.is_required))


def _inverse_frequency(frequency: int, row_count: int) -> float:
    """As in FTS5: a term in more than half of all rows is worth next to nothing."""
    return max(math.log((max(row_count - frequency, 0) + 0.5) / (frequency + 0.5)), 1e-6)


def _frequencies_to_expect(word: int, *others: int) -> list[int]:
    """A chunk with a word as it was asked for has one of its other forms as well, namely its beginning."""
    if not others:
        return [word]
    return [word or max(others), max(others)]
