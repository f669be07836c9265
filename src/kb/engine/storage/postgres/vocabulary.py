"""The terms of a base in PostgreSQL: in how many chunks each is."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager
from functools import cached_property

from kb.engine.storage.postgres.chunks import CHUNKS, TERMS
from kb.engine.storage.postgres.connection import PostgresConnection
from kb.engine.storage.postgres.phrase_conditions import PhraseTokens, has_phrase
from kb.engine.storage.postgres.terms import find_known_terms, find_pairs, shorten, to_token
from kb.engine.storage.tables.rows import fetch_all
from kb.engine.storage.words.phrases import Phrase
from kb.engine.storage.words.terms import tokenize
from kb.engine.storage.words.vocabulary import FEWEST_TO_BE_SURE, LAST, MOST_COUNTS, STALE_SHARE, Frequency
from kb.engine.words import space_out

# Terms that begin like a word, the most common first: the index is asked for each of them.
MOST_TERMS_OF_A_BEGINNING = 300


class PhraseCounts:
    """In how many chunks phrases of several words are, remembered from one search to the next.

    Nothing is stored of them but of pairs of characters, so each chunk with all the words has to be looked at.
    """

    def __init__(self) -> None:
        self._counts: dict[tuple[str, bool], tuple[int, int, int]] = {}

    def find(self, phrase: Phrase, *, words_version: int, row_count: int) -> int | None:
        count, version_then, rows_then = self._counts.get((phrase.text, phrase.is_beginning), (0, -1, 0))
        is_sure = count >= FEWEST_TO_BE_SURE and abs(row_count - rows_then) <= STALE_SHARE * row_count
        return count if is_sure or version_then == words_version else None

    def keep(self, phrase: Phrase, count: int, *, words_version: int, row_count: int) -> None:
        if len(self._counts) >= MOST_COUNTS:
            self._counts.clear()
        self._counts[phrase.text, phrase.is_beginning] = count, words_version, row_count


class PostgresWords:
    """The words of one moment."""

    def __init__(self, db: PostgresConnection, phrase_counts: PhraseCounts) -> None:
        self.db = db
        self._phrase_counts = phrase_counts
        self._terms_of: dict[Phrase, list[str]] = {}
        self._counts: dict[str, int] = {}
        self._beginnings: dict[str, dict[str, int]] = {}
        self._learn([CHUNKS, TERMS])

    @property
    def row_count(self) -> int:
        return self._counts[CHUNKS]

    @property
    def mean_length(self) -> float:
        """How many terms a chunk has."""
        return max(self._counts[TERMS] / max(self.row_count, 1), 1.0)

    def learn(self, phrases: Sequence[Phrase]) -> None:
        """Ask for all that will be asked for, in one statement."""
        terms = [self.terms_of(phrase) for phrase in phrases if not phrase.is_beginning]
        self._learn(sorted({term for some in terms for term in (*some, *find_pairs(some))}))

    def terms_of(self, phrase: Phrase) -> list[str]:
        if phrase not in self._terms_of:
            self._terms_of[phrase] = find_known_terms(phrase.text)
        return self._terms_of[phrase]

    def tokens_of(self, phrase: Phrase) -> PhraseTokens:
        terms = self.terms_of(phrase)
        if not phrase.is_beginning or not terms:
            return PhraseTokens.of(terms)
        tokens = PhraseTokens.of(terms[:-1])
        return tokens._replace(places=[*tokens.places, [to_token(term) for term in self._beginning(terms[-1])]])

    def count(self, phrase: Phrase) -> Frequency:
        terms = self.terms_of(phrase)
        pairs = [] if phrase.is_beginning else find_pairs(terms)
        self._learn([term for term in (*terms, *pairs) if term not in self._counts])
        frequencies = [self._counts[term] for term in terms]
        if phrase.is_beginning and terms:
            frequencies[-1] = sum(self._beginning(terms[-1]).values())
        rarest = min(frequencies, default=0)
        if len(terms) < 2 or rarest == 0:
            return Frequency(rarest, rarest)
        is_pair = len(terms) == 2 and len(pairs) == 1
        return Frequency(self._counts[pairs[0]] if is_pair else self._count_phrase(phrase), rarest)

    def find_term(self, first: str, beyond: str) -> str | None:
        term: str | None = self.db.execute(
            "SELECT term FROM word_counts WHERE term >= ? AND term < ? GROUP BY term HAVING sum(chunks) > 0 "
            "ORDER BY term LIMIT 1",
            (first, beyond),
        ).get
        return term

    def list_terms(self, first: str, beyond: str, *, shortest: int, longest: int) -> Iterable[tuple[str, int]]:
        rows = fetch_all(
            self.db,
            "SELECT term, sum(chunks)::bigint FROM word_counts WHERE term >= ? AND term < ? "
            "AND length(term) BETWEEN ? AND ? GROUP BY term HAVING sum(chunks) > 0 ORDER BY term",
            (first, beyond, shortest, longest),
        )
        return [(term, count) for term, count in rows]

    def find_written(self, term: str) -> str | None:
        row = self.db.execute(
            "SELECT title, heading, text FROM chunk_words JOIN chunks ON chunks.id = chunk_id "
            "JOIN documents ON documents.id = chunks.document_id WHERE tokens @> ARRAY[?::bigint] LIMIT 1",
            (to_token(term),),
        ).fetchone()
        for text in (space_out(part or "") for part in row or ()):
            for start, end, found in tokenize(text):
                if shorten(found) == term:
                    return text.encode()[start:end].decode()
        return None

    def time_limited(self, seconds: float) -> AbstractContextManager[None]:
        return self.db.time_limited(seconds)

    def _learn(self, terms: Sequence[str]) -> None:
        if not terms:
            return
        rows = fetch_all(
            self.db,
            "SELECT term, sum(chunks)::bigint FROM word_counts WHERE term = ANY (?::text[]) GROUP BY term",
            (list(terms),),
        )
        self._counts.update(dict.fromkeys(terms, 0))
        self._counts.update((term, max(count, 0)) for term, count in rows)

    def _count_phrase(self, phrase: Phrase) -> int:
        words_version = self._words_version
        known = self._phrase_counts.find(phrase, words_version=words_version, row_count=self.row_count)
        if known is not None:
            return known
        condition, values = has_phrase(self.tokens_of(phrase))
        count: int = self.db.execute(f"SELECT count(*) FROM chunk_words WHERE {condition}", values).get
        self._phrase_counts.keep(phrase, count, words_version=words_version, row_count=self.row_count)
        return count

    @cached_property
    def _words_version(self) -> int:
        version: int = self.db.execute("SELECT words FROM newest_event").get
        return version

    def _beginning(self, term: str) -> dict[str, int]:
        if term not in self._beginnings:
            rows = fetch_all(
                self.db,
                "SELECT term, sum(chunks)::bigint FROM word_counts WHERE term >= ? AND term < ? "
                "GROUP BY term HAVING sum(chunks) > 0 ORDER BY 2 DESC, term LIMIT ?",
                (term, term + LAST, MOST_TERMS_OF_A_BEGINNING),
            )
            self._beginnings[term] = {found: count for found, count in rows}
        return self._beginnings[term]
