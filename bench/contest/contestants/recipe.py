"""The plain recipe: sqlite-vec beside FTS5 in one SQLite file, both lists joined by reciprocal rank fusion."""

import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import apsw
import sqlite_vec

from bench.contest.contestant import TOP, Contestant, Document, Query, Vector

CANDIDATES = 50
RANK_OFFSET = 60
DOCUMENTS_A_TRANSACTION = 500


class Recipe(Contestant):
    def __init__(self, folder: Path, dimension: int) -> None:
        self._db = apsw.Connection(str(folder / "recipe.sqlite"))
        self._db.enable_load_extension(enable=True)
        self._db.load_extension(sqlite_vec.loadable_path())
        self._db.execute(
            "PRAGMA journal_mode = WAL;"
            "PRAGMA synchronous = NORMAL;"
            "CREATE TABLE IF NOT EXISTS chunks (id INTEGER PRIMARY KEY, document INTEGER, part INTEGER, text TEXT);"
            "CREATE INDEX IF NOT EXISTS by_document ON chunks (document);"
            "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5 "
            "(text, content = 'chunks', content_rowid = 'id', tokenize = 'porter unicode61');"
            "CREATE VIRTUAL TABLE IF NOT EXISTS vectors USING vec0 "
            f"(id INTEGER PRIMARY KEY, part INTEGER, vector float[{dimension}] distance_metric=cosine);"
        ).fetchall()

    def fill(self, documents: Iterable[Document]) -> None:
        self._db.execute("BEGIN")
        for count, document in enumerate(documents, start=1):
            self._insert(document)
            if count % DOCUMENTS_A_TRANSACTION == 0:
                self._db.execute("COMMIT; BEGIN")
        self._db.execute("COMMIT")

    def search(self, query: Query) -> list[int]:
        lists = []
        if query.mode != "vector":
            lists.append(self._find_by_words(query.text, query.percent))
        if query.mode != "keyword":
            lists.append(self._find_by_vector(query.vector, query.percent))
        scores: dict[int, float] = defaultdict(float)
        for found in lists:
            for rank, number in enumerate(found, start=1):
                scores[number] += 1 / (RANK_OFFSET + rank)
        best = sorted(scores, key=lambda number: -scores[number])[:TOP]
        for number in best:
            self._db.execute("SELECT text FROM chunks WHERE id = ?", (number,)).get  # noqa: B018 - reads it
        return best

    def update(self, document: Document) -> None:
        with self._db:
            self._remove(document.number)
            self._insert(document)

    def delete(self, number: int) -> None:
        with self._db:
            self._remove(number)

    def close(self) -> None:
        self._db.close()

    def _find_by_words(self, text: str, percent: int | None) -> list[int]:
        terms = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", text))
        if not terms:
            return []
        if percent is None:
            found = self._db.execute(
                "SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?", (terms, CANDIDATES)
            )
        else:
            found = self._db.execute(
                "SELECT words.rowid FROM words JOIN chunks ON chunks.id = words.rowid "
                "WHERE words MATCH ? AND part < ? ORDER BY rank LIMIT ?",
                (terms, percent, CANDIDATES),
            )
        return [number for (number,) in found]

    def _find_by_vector(self, vector: Vector, percent: int | None) -> list[int]:
        condition, values = ("", ()) if percent is None else ("AND part < ?", (percent,))
        found = self._db.execute(
            f"SELECT id FROM vectors WHERE vector MATCH ? AND k = ? {condition} ORDER BY distance",  # noqa: S608
            (vector.tobytes(), CANDIDATES, *values),
        )
        return [number for (number,) in found]

    def _insert(self, document: Document) -> None:
        for number, text, vector in zip(document.chunk_numbers, document.texts, document.vectors, strict=True):
            row = (number, document.number, document.part, text)
            self._db.execute("INSERT INTO chunks VALUES (?, ?, ?, ?)", row)
            self._db.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, text))
            self._db.execute("INSERT INTO vectors VALUES (?, ?, ?)", (number, document.part, vector.tobytes()))

    def _remove(self, number: int) -> None:
        chunks = self._db.execute("SELECT id, text FROM chunks WHERE document = ?", (number,)).fetchall()
        for chunk, text in chunks:
            self._db.execute("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)", (chunk, text))
            self._db.execute("DELETE FROM vectors WHERE id = ?", (chunk,))
            self._db.execute("DELETE FROM chunks WHERE id = ?", (chunk,))
