"""Which word of the base was probably meant by one that is nowhere in it."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

import apsw

from kb.engine.errors import TooBroad
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.match_expression import Phrase, build_phrase
from kb.engine.storage.sqlite.time_limit import time_limited
from kb.engine.storage.sqlite.tokens import tokenize
from kb.engine.storage.sqlite.word_index import WordIndex, Words

# Short words are near too many others.
SHORTEST_WORD = 4
# A suggestion is worth no more than the search it comes with; without one nothing is missing.
LONGEST_SEARCH_SECONDS = 0.05


class SpellingRows:
    """The part of the store that knows its own words."""

    _database: Database
    _word_index: WordIndex

    def suggest_words(self, words: Sequence[str]) -> dict[str, str]:
        with self._database.read() as db:
            known = self._word_index.at(db)
            meant = {word: _suggest(known, word) for word in words if len(word) >= SHORTEST_WORD and word.isalpha()}
        return {word: known_word for word, known_word in meant.items() if known_word is not None}


def _suggest(known: Words, word: str) -> str | None:
    tokens = tokenize(known.db, word)
    if len(tokens) != 1 or known.count(Phrase(build_phrase(word))).chunks > 0:
        return None
    with suppress(TooBroad), time_limited(known.db, LONGEST_SEARCH_SECONDS):
        nearest = _nearest_term(known.db, tokens[0][2])
        return None if nearest is None else _as_written(known.db, nearest)
    return None


def _nearest_term(db: apsw.Connection, term: str) -> str | None:
    """The known term within reach: the nearest, and of equally near ones the most used.

    Only terms with the same first two letters are looked at, and those for which they were swapped or the second is one
    too many. People rarely mistype the first letters, and FTS5 walks through all chunks of each term that it tells.
    """
    reach = 1 if len(term) < 7 else 2
    letters = set(term)
    best: tuple[int, int, str] | None = None
    for candidate, count in _terms_like(db, term, reach):
        # Most have too many other letters, which is told in a thirtieth of the time.
        if len(letters.symmetric_difference(candidate)) > 2 * reach:
            continue
        distance = edit_distance(term, candidate, at_most=reach)
        if distance <= reach and (best is None or (distance, -count) < best[:2]):
            best = (distance, -count, candidate)
    return None if best is None else best[2]


def _terms_like(db: apsw.Connection, term: str, reach: int) -> Iterator[tuple[str, int]]:
    for beginning in dict.fromkeys([term[:2], term[1::-1], term[0] + term[2:3]]):
        yield from db.execute(
            "SELECT term, doc FROM chunks_vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?",
            (beginning, beginning + chr(sys.maxunicode), len(term) - reach, len(term) + reach),
        )


def edit_distance(left: str, right: str, *, at_most: int) -> int:
    """Letters to add, drop, change or swap with their neighbour; anything above `at_most` is `at_most + 1`."""
    before_last: list[int] = []
    last = list(range(len(right) + 1))
    for i, letter in enumerate(left, start=1):
        current = [i]
        for j, other in enumerate(right, start=1):
            cost = min(last[j] + 1, current[j - 1] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and left[i - 2] == other:
                cost = min(cost, before_last[j - 2] + 1)
            current.append(cost)
        if min(current) > at_most:
            return at_most + 1
        before_last, last = last, current
    return last[-1]


def _as_written(db: apsw.Connection, term: str) -> str | None:
    """The index knows stems ("retriev"); the text where one stands knows the word ("retrieval")."""
    place = db.execute("SELECT doc, col, offset FROM chunks_instances WHERE term = ? LIMIT 1", (term,)).fetchone()
    if place is None:
        return None
    chunk_id, column, offset = place
    text = db.execute(
        f"SELECT {column} FROM searchable_chunks WHERE id = ?",
        (chunk_id,),
    ).get
    start, end, _ = tokenize(db, text)[offset]
    return str(text.encode()[start:end].decode())
