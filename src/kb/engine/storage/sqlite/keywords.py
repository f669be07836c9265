"""Finding chunks in SQLite by their words, with FTS5."""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace

import apsw

from kb.engine.model import NO_MATCHES, KeywordMatches, Matches, Scope
from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.sqlite.match_expression import Phrase, build_match_expression, find_phrases
from kb.engine.storage.sqlite.rows import fetch_all
from kb.engine.storage.sqlite.scope import condition_on_documents

# A word in the title says more about a chunk than one in its text; docs/design/search.md has what 1, 2 and 4 did.
COLUMN_WEIGHTS = "2.0, 1.0, 1.0"
# FTS5's constant: the score of one term approaches (K1 + 1) * idf.
BM25_K1 = 1.2


class KeywordRows:
    """The part of the store that finds chunks by their words."""

    _database: Database

    def find_by_text(
        self,
        words: Sequence[str],
        scope: Scope,
        *,
        limit: int,
        any_endings: bool = False,
        spellings: Sequence[str] = (),
    ) -> KeywordMatches:
        phrases = find_phrases(words, scope, any_endings=any_endings, spellings=spellings)
        expression = build_match_expression(phrases, scope)
        if expression is None:
            return KeywordMatches(NO_MATCHES, 0.0)
        is_in_scope, values = "", list[object]()
        if scope.limits_documents:
            condition, values = condition_on_documents(scope)
            # The + keeps SQLite from asking FTS5 for each allowed chunk in turn (300 times slower when most are).
            is_in_scope = (
                "AND +rowid IN (SELECT id FROM chunks WHERE document_id IN "
                f"(SELECT id FROM documents WHERE {condition}))"
            )
        with self._database.read() as db:
            # Ordered by bm25() itself, since ORDER BY rank would sort all matches before the limit; and joined only
            # after the limit.
            found = fetch_all(
                db,
                "SELECT chunks.id, chunks.document_id, chunks.ordinal, best.score "
                f"FROM (SELECT rowid, -bm25(chunks_fts, {COLUMN_WEIGHTS}) AS score FROM chunks_fts "
                f"WHERE chunks_fts MATCH ? {is_in_scope} ORDER BY score DESC, rowid LIMIT ?) AS best "
                "JOIN chunks ON chunks.id = best.rowid ORDER BY best.score DESC, chunks.id",
                (expression, *values, limit),
            )
            best_possible = _best_possible_score(db, phrases, scope) if found else 0.0
        return KeywordMatches(Matches.of_rows(found), best_possible)


def register_query_description(connection: apsw.Connection) -> None:
    """Give SQL a function that tells how FTS5 understood a query: the number of rows, and its phrases' terms."""

    def describe_query(api: apsw.FTS5ExtensionApi, *_: object) -> str:
        return json.dumps([api.row_count, api.phrases])

    connection.register_fts5_function("describe_query", describe_query)


def _best_possible_score(db: apsw.Connection, phrases: Sequence[Phrase], scope: Scope) -> float:
    """The bm25 score of an imagined chunk that holds everything sought, just as it was asked for, and little else.

    Words that no chunk has count too: a chunk with the other half of the query is half an answer. Other spellings do
    not: nobody writes a name in two ways at once.
    """
    sought = build_match_expression(phrases, replace(scope, excluded=()))
    description = db.execute(
        "SELECT describe_query(chunks_fts) FROM chunks_fts WHERE chunks_fts MATCH ? LIMIT 1", (sought,)
    ).get
    row_count, terms_of_phrases = json.loads(description)
    forms_of_words: list[list[int]] = []
    # Required phrases are there twice, the second time behind all others; FTS5 counts them twice as well.
    again = [Phrase("")] * (len(terms_of_phrases) - len(phrases))
    for terms, phrase in zip(terms_of_phrases, [*phrases, *again], strict=True):
        if phrase.is_spelling:
            continue
        count = _count_beginning if phrase.is_beginning else _count_chunks_with
        frequency = min((count(db, term) for term in terms), default=0)
        if phrase.is_other_form:
            forms_of_words[-1].append(frequency)
        else:
            forms_of_words.append([frequency])
    # As in FTS5: a term in more than half of all rows is worth next to nothing.
    return sum(
        (BM25_K1 + 1) * max(math.log((max(row_count - frequency, 0) + 0.5) / (frequency + 0.5)), 1e-6)
        for forms in forms_of_words
        for frequency in _frequencies_to_expect(*forms)
    )


def _frequencies_to_expect(word: int, *others: int) -> list[int]:
    """A chunk with a word as it was asked for has one of its other forms as well, namely its beginning."""
    if not others:
        return [word]
    return [word or max(others), max(others)]


def _count_chunks_with(db: apsw.Connection, term: str) -> int:
    return db.execute("SELECT doc FROM chunks_vocabulary WHERE term = ?", (term,)).get or 0


def _count_beginning(db: apsw.Connection, term: str) -> int:
    """At most so many chunks have a word that begins like this: one with two such words counts twice."""
    beyond = term + chr(sys.maxunicode)
    return db.execute("SELECT sum(doc) FROM chunks_vocabulary WHERE term >= ? AND term < ?", (term, beyond)).get or 0
