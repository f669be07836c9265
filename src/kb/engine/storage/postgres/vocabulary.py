"""The terms of a base in PostgreSQL: in how many chunks each is."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager

from kb.engine.storage.postgres.chunks import CHUNKS, TERMS
from kb.engine.storage.postgres.connection import PostgresConnection
from kb.engine.storage.postgres.phrase_conditions import condition_on_phrase
from kb.engine.storage.postgres.values import find_known_terms, shorten, to_token
from kb.engine.storage.tables.rows import fetch_all
from kb.engine.storage.words.phrases import Phrase
from kb.engine.storage.words.tokens import tokenize
from kb.engine.storage.words.vocabulary import LAST, Frequency
from kb.engine.words import space_out

# Terms that begin like a word which is still being typed. Beyond these, what is typed tells nothing yet.
MOST_TERMS_OF_A_BEGINNING = 2_000
# Chunks that are counted one by one; of more the sum over the terms tells enough.
MOST_COUNTED = 10_000


class PostgresWords:
    """The words of one moment."""

    def __init__(self, db: PostgresConnection) -> None:
        self.db = db
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
        self._learn(sorted({term for phrase in phrases if not phrase.is_beginning for term in self.terms_of(phrase)}))

    def terms_of(self, phrase: Phrase) -> list[str]:
        if phrase not in self._terms_of:
            self._terms_of[phrase] = find_known_terms(phrase.text)
        return self._terms_of[phrase]

    def tokens_of(self, phrase: Phrase) -> list[list[int]]:
        """In the places of its terms the numbers, any of which will do."""
        terms = self.terms_of(phrase)
        tokens = [[to_token(term)] for term in terms]
        if phrase.is_beginning and terms:
            tokens[-1] = [to_token(term) for term in self._beginning(terms[-1])]
        return tokens

    def count(self, phrase: Phrase) -> Frequency:
        terms = self.terms_of(phrase)
        self._learn([term for term in terms if term not in self._counts])
        frequencies = [self._counts[term] for term in terms]
        if phrase.is_beginning and terms:
            frequencies[-1] = sum(self._beginning(terms[-1]).values())
        rarest = min(frequencies, default=0)
        is_alone = len(terms) < 2
        if is_alone and phrase.is_beginning and terms:
            # A chunk may have several that begin so.
            is_alone = len(self._beginning(terms[-1])) < 2 or rarest > MOST_COUNTED
        if is_alone or rarest == 0:
            return Frequency(min(rarest, self.row_count), rarest)
        condition, values = condition_on_phrase(self.tokens_of(phrase))
        found: int = self.db.execute(f"SELECT count(*) FROM chunk_words WHERE {condition}", values).get
        return Frequency(found, rarest)

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
