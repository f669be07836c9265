"""Finding chunks in PostgreSQL by their words.

An index tells which chunks have a word; how often, and where, is told by the terms of each chunk. So chunks are found
by as many of the query's rarest words as bring no more than can be compared, and are then ranked by all of them, with
the formula and the figures of FTS5: both stores rank alike. PostgreSQL's own ranking knows nothing of how rare a word
is (docs/decisions/0036).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kb.engine.model import NO_MATCHES, KeywordMatches, Matches, Scope
from kb.engine.storage.postgres.allowed import are_among, are_named
from kb.engine.storage.postgres.connection import PostgresConnection
from kb.engine.storage.postgres.database import Database
from kb.engine.storage.postgres.phrase_conditions import (
    LONGEST_SEARCH_SECONDS,
    Condition,
    PhraseTokens,
    condition_on_words,
    has_all,
    has_pair,
    has_phrase,
    has_word,
)
from kb.engine.storage.postgres.scoring import ChunkTokens, score
from kb.engine.storage.postgres.values import to_numbers
from kb.engine.storage.postgres.vocabulary import PhraseCounts, PostgresWords
from kb.engine.storage.tables.allowed import AllowedDocuments, AllowedScopes
from kb.engine.storage.words.completion import find_completions
from kb.engine.storage.words.counting import CountedPhrase, can_match, count_phrase
from kb.engine.storage.words.phrases import MOST_COMBINED, Phrase, find_phrases
from kb.engine.storage.words.scores import best_possible_score
from kb.engine.storage.words.spelling import suggest_words

# So many chunks are compared with the query, or twice as many as are wanted: some milliseconds.
COMPARED = 1_000
# Of so few all that have any of the words are looked at: an index of words is of no use then.
FEW_CHUNKS = 5_000
# Of a smaller share of the base too little is met by walking through it.
SHARE_WALKED = 0.2
# Nor is a chunk compared with more words than these on the way.
MOST_WORDS_WALKED = 10

NOTHING = ChunkTokens.of(np.empty((7, 0), np.int64))
# In one row, and as bytes: to make thousands of rows of numbers would take Python longer than all the rest.
COLUMNS = ("chunk_id", "document_id", "ordinal", "title_length", "heading_length", "cardinality(tokens)")
FOUND = (
    "SELECT count(*), "
    + ", ".join(f"array_send(array_agg({column}::bigint))" for column in COLUMNS)
    + ", string_agg(array_send(tokens), '') FROM (SELECT * FROM chunk_words WHERE {condition} {cut}) AS found"
)


@dataclass(frozen=True)
class Sought(CountedPhrase):
    tokens: PhraseTokens


class KeywordsPart:
    """The part of the store that finds chunks by their words."""

    _database: Database
    _allowed: AllowedScopes
    _phrase_counts: PhraseCounts

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
            known = PostgresWords(db, self._phrase_counts)
            completions = find_completions(known, beginning) if beginning else []
            phrases = find_phrases(words, scope, any_endings=any_endings, completions=completions, spellings=spellings)
            known.learn(phrases)
            with db.time_limited(LONGEST_SEARCH_SECONDS):
                sought = [_look_up(known, phrase) for phrase in phrases]
                if not can_match(sought):
                    return KeywordMatches(NO_MATCHES, 0.0)
                found = _Search(db, sought, scope, self._allowed.find(db, scope), known.row_count, limit).run()
            best_possible = best_possible_score(known, phrases)
        # As in FTS5, where required phrases count twice.
        worths = [(one.tokens.places, one.worth * (2 if one.phrase.is_required else 1)) for one in sought if one.chunks]
        scores = score(found, worths, known.mean_length)
        found, scores = found.take(scores > 0), scores[scores > 0]
        if len(found) == 0:
            return KeywordMatches(NO_MATCHES, 0.0)
        best = np.lexsort((found.chunk_ids, -scores))[:limit]
        matches = Matches(found.chunk_ids[best], found.document_ids[best], found.ordinals[best], scores[best])
        return KeywordMatches(matches, best_possible)

    def suggest_words(self, words: Sequence[str]) -> dict[str, str]:
        with self._database.read() as db:
            return suggest_words(PostgresWords(db, self._phrase_counts), words)


def _look_up(known: PostgresWords, phrase: Phrase) -> Sought:
    counted = count_phrase(known, phrase)
    return Sought(phrase, counted.chunks, counted.worth, known.tokens_of(phrase))


@dataclass(frozen=True)
class _Search:
    db: PostgresConnection
    sought: Sequence[Sought]
    scope: Scope
    allowed: AllowedDocuments | None
    row_count: int
    limit: int

    def run(self) -> ChunkTokens:
        """The chunks to compare: all that are allowed and have any of what is sought, or the most promising."""
        to_compare = max(COMPARED, 2 * self.limit)
        required = [one for one in self.sought if one.phrase.is_required]
        others = sorted((one for one in self.sought if one.chunks and one not in required), key=lambda one: one.chunks)
        if self._allows_few:
            return self._fetch(self._any_of(others) if not required else [])
        if required:
            if min(one.chunks for one in required) <= to_compare:
                return self._fetch([])
            return self._pick(others, NOTHING, to_compare, or_any=True)
        rare, total = 0, 0
        while rare < len(others) and total + others[rare].chunks <= to_compare:
            total += others[rare].chunks
            rare += 1
        found = self._fetch(self._any_of(others[:rare])) if rare else NOTHING
        if len(found) >= self.limit or rare == len(others):
            return found
        return self._pick(others[rare:], found, 2 * self.limit if len(found) else to_compare)

    @property
    def _allows_few(self) -> bool:
        return self.allowed is not None and self.allowed.chunk_count <= FEW_CHUNKS

    @property
    def _allows_many(self) -> bool:
        return self.allowed is None or self.allowed.chunk_count > SHARE_WALKED * self.row_count

    def _pick(self, others: Sequence[Sought], found: ChunkTokens, wanted: int, *, or_any: bool = False) -> ChunkTokens:
        """With the most promising of the chunks with common words, until so many are found.

        Those with all of the words come first, then those with all but the most common, and so on; of equals those
        with the word in their title, then the newest.
        """
        levels = list(self._levels(others))
        if or_any:
            levels.append([])
        for conditions in levels:
            if len(found) >= wanted:
                break
            # What is found already may be found again.
            more = self._fetch(conditions, newest=wanted)
            found = _join(found, more)
        return found

    def _levels(self, rarest_first: Sequence[Sought]) -> Iterator[list[Condition]]:
        for first, one in enumerate(rarest_first):
            for beyond in range(min(len(rarest_first), MOST_COMBINED), first + 1, -1):
                yield [has_phrase(other.tokens) for other in rarest_first[first:beyond]]
            if one.tokens.is_word:
                yield [("tokens[1:title_length] && ?::bigint[]", [one.tokens.places[0]])]
            yield [has_phrase(one.tokens)]

    def _any_of(self, sought: Sequence[Sought]) -> list[Condition]:
        """One condition: each index is asked once for all single words, or pairs of characters."""
        words = [token for one in sought if one.tokens.is_word for token in one.tokens.places[0]]
        pairs = [one.tokens.pairs[0] for one in sought if one.tokens.is_pair]
        # That their words follow one another is seen when they are compared: to ask for it here takes far longer.
        parts = [has_all(one.tokens) for one in sought if not one.tokens.is_word and not one.tokens.is_pair]
        if words:
            parts.append(has_word(words))
        if pairs:
            parts.append(has_pair(pairs))
        return [(" OR ".join(f"({part})" for part, _ in parts), [value for _, needed in parts for value in needed])]

    def _fetch(self, conditions: Sequence[Condition], *, newest: int | None = None) -> ChunkTokens:
        """The chunks that the scope allows and that meet all conditions."""
        everything = [
            *conditions,
            are_named(self.allowed) if self._allows_few else are_among(self.allowed),
            condition_on_words(self.scope),
        ]
        condition = " AND ".join(f"({part})" for part, _ in everything)
        values = [value for _, needed in everything for value in needed]
        word_count = sum(len(value) for _, needed in conditions for value in needed if isinstance(value, list))
        # Where much is allowed the newest are soon found by walking back; otherwise the + has the index of words asked.
        order = "chunk_id" if self._allows_many and word_count <= MOST_WORDS_WALKED else "chunk_id + 0"
        cut = "" if newest is None else f"ORDER BY {order} DESC LIMIT ?"
        row = self.db.execute(
            FOUND.format(condition=condition, cut=cut), values if newest is None else [*values, newest]
        ).fetchone()
        if row is None or not row[0]:
            return NOTHING
        count, *columns, tokens = row
        arrays = [to_numbers(column, np.array([count])) for column in columns]
        return ChunkTokens.of([*arrays, to_numbers(tokens, arrays[-1])])


def _join(found: ChunkTokens, more: ChunkTokens) -> ChunkTokens:
    return found.join(more.take(~np.isin(more.chunk_ids, found.chunk_ids)))
