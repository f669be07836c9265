"""What is remembered of words in memory: how many chunks have them, and of common ones also which.

Asking FTS5 costs 18 ns for each chunk that has a word, only to be told how many those are, and 35 ns to walk through
them: for a word of a million chunks' every seventh that is 2.5 and 5 ms, in each search anew. Both are therefore kept,
the second as a bit for each chunk. FTS5 is the truth; this is derived from it.

Chunk ids only ever rise, so what was added lies behind the last chunk looked at, and is read when a word is next asked
for. A deleted chunk stays here: whoever takes chunks from here looks whether they are still there. Only a new title
changes the words of a chunk that stays; then all is forgotten, and so it is when one chunk in a hundred has come or
gone. Until then counts lag behind a little.
"""

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Set
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Self, cast

import apsw
import numpy as np
import numpy.typing as npt

from kb.engine.model import Ids, Mask
from kb.engine.storage.sqlite.index_log import documents_changed_since
from kb.engine.storage.sqlite.match_expression import expression_of
from kb.engine.storage.sqlite.time_limit import time_limited
from kb.engine.storage.tables.rows import LARGEST_ID, fetch_all
from kb.engine.storage.words.phrases import Phrase
from kb.engine.storage.words.terms import find_terms, tokenize
from kb.engine.storage.words.vocabulary import FEWEST_TO_BE_SURE, LAST, MOST_COUNTS, STALE_SHARE, Frequency

Bits = npt.NDArray[np.uint8]

# Of a million chunks some thousand words, which is nearly all that are common; of 100,000 all.
MOST_BYTES = 96 * 1024 * 1024
MOST_IDS_PER_CHUNK = 8

# The id of the last chunk falls when it is deleted; the highest that there ever was never does.
STATE = """
SELECT
    COALESCE((SELECT max(seq) FROM index_log), 0),
    COALESCE((SELECT count_rows(chunks_fts) FROM chunks_fts LIMIT 1), 0),
    COALESCE((SELECT max(id) FROM chunks), 0),
    COALESCE((SELECT seq FROM sqlite_sequence WHERE name = 'chunks'), 0)
"""


def read_ids(db: apsw.Connection, expression: str, *, first: int = 0, last: int = LARGEST_ID) -> Ids:
    """The chunks that match, in ascending order."""
    # As one text, which numpy reads: rows given to Python one by one take three times as long.
    found = db.execute(
        "SELECT group_concat(rowid) FROM chunks_fts WHERE chunks_fts MATCH ? AND rowid BETWEEN ? AND ?",
        (expression, first, last),
    ).get
    return np.fromstring(found or "", np.int64, sep=",")


@dataclass(frozen=True)
class WordRows:
    """The chunks that match an expression, up to a certain chunk."""

    bits: Bits | None
    ids: npt.NDArray[np.uint32] | None
    """In place of the bits where that is less."""
    last_chunk: int

    @classmethod
    def read(cls, db: apsw.Connection, expression: str, *, last_chunk: int, earlier: Self | None = None) -> Self:
        table = np.zeros((last_chunk // 8 + 1) * 8, np.bool_)
        first = 0
        if earlier is not None:
            table[: earlier.last_chunk + 1] = earlier.table()[: earlier.last_chunk + 1]
            first = earlier.last_chunk + 1
        table[read_ids(db, expression, first=first, last=last_chunk)] = True
        return cls.of_table(table, last_chunk)

    @classmethod
    def of_table(cls, table: Mask, last_chunk: int) -> Self:
        if np.count_nonzero(table) * 32 < len(table):
            return cls(None, np.flatnonzero(table).astype(np.uint32), last_chunk)
        return cls(np.packbits(table, bitorder="little"), None, last_chunk)

    @property
    def size(self) -> int:
        return len(self.bits) if self.bits is not None else cast(npt.NDArray[np.uint32], self.ids).nbytes

    def table(self) -> Mask:
        """For each chunk, by its id, whether it matches."""
        if self.bits is not None:
            return np.unpackbits(self.bits, bitorder="little").view(np.bool_)
        table = np.zeros((self.last_chunk // 8 + 1) * 8, np.bool_)
        table[self.ids] = True
        return table


class WordIndex:
    def __init__(self) -> None:
        # Guards all of it; nothing is read from the base while it is held.
        self._lock = threading.Lock()
        self._newest_change = -1
        self._counted_at = (0, 0)
        self._highest_id = 0
        self._row_count = 0
        self._counts: dict[str, tuple[Frequency, int]] = {}
        self._used: set[str] = set()
        self._rows: OrderedDict[str, WordRows] = OrderedDict()

    def at(self, db: apsw.Connection) -> "Words":
        """The words as they are in the snapshot that `db` looks at."""
        with self._lock:
            known_change, known_id = self._newest_change, self._highest_id
        newest, row_count, last_chunk, highest_id = fetch_all(db, STATE)[0]
        _, changed = documents_changed_since(db, known_change) if newest != known_change else (newest, set[int]())
        keeps_rows = changed is not None and not _has_any_chunk(db, changed, up_to=known_id)
        with self._lock:
            # The same change with another number of rows: the full-text index was made anew.
            is_mended = newest == self._newest_change and row_count != self._row_count
            if newest > self._newest_change or is_mended:
                # Somebody else may have come further since.
                keeps_rows = keeps_rows and self._newest_change == known_change
                self._newest_change, self._highest_id, self._row_count = newest, highest_id, row_count
                rows_then, id_then = self._counted_at
                added = highest_id - id_then
                lost = added - (row_count - rows_then)
                if not keeps_rows or is_mended or added + lost > STALE_SHARE * row_count:
                    self._rows.clear()
                    self._counts.clear()
                    self._counted_at = (row_count, highest_id)
            rows_then, id_then = self._counted_at
        lost = max(highest_id - id_then - (row_count - rows_then), 0)
        return Words(self, db, row_count, last_chunk, newest, lost_chunks=lost)

    def find_count(self, expression: str, *, newest_change: int) -> Frequency | None:
        frequency, counted_at = self._counts.get(expression, (None, 0))
        if frequency is None or (frequency.chunks < FEWEST_TO_BE_SURE and counted_at != newest_change):
            return None
        return frequency

    def keep_count(self, expression: str, frequency: Frequency, *, newest_change: int) -> None:
        with self._lock:
            if newest_change == self._newest_change:
                if len(self._counts) >= MOST_COUNTS:
                    self._counts.clear()
                self._counts[expression] = frequency, newest_change

    def is_known(self, expression: str) -> bool:
        return expression in self._rows

    def note_use(self, expression: str) -> bool:
        """Returns whether it is the first."""
        with self._lock:
            if expression in self._used:
                return False
            if len(self._used) >= MOST_COUNTS:
                self._used.clear()
            self._used.add(expression)
            return True

    def find_rows(self, expression: str) -> WordRows | None:
        with self._lock:
            if expression in self._rows:
                self._rows.move_to_end(expression)
            return self._rows.get(expression)

    def keep_rows(self, expression: str, rows: WordRows, *, newest_change: int) -> None:
        """Unless the base has moved on: what an older snapshot shows is for the one who looks at it."""
        with self._lock:
            if newest_change != self._newest_change:
                return
            self._rows[expression] = rows
            self._rows.move_to_end(expression)
            size = sum(kept.size for kept in self._rows.values())
            while size > MOST_BYTES and len(self._rows) > 1:
                size -= self._rows.popitem(last=False)[1].size


@dataclass(frozen=True)
class Words:
    """The words of one snapshot."""

    index: WordIndex
    db: apsw.Connection
    row_count: int
    last_chunk: int
    newest_change: int
    lost_chunks: int
    """How many chunks have been deleted since the first of what is kept was read."""

    @property
    def planned_row_count(self) -> int:
        """How many rows to plan for: none if nearly all ids are those of chunks long gone, since tables have a place
        for each id."""
        return self.row_count if self.last_chunk <= MOST_IDS_PER_CHUNK * self.row_count else 0

    def count(self, phrase: Phrase) -> Frequency:
        expression = expression_of(phrase)
        frequency = self.index.find_count(expression, newest_change=self.newest_change)
        if frequency is None:
            frequency = _count(self.db, phrase)
            self.index.keep_count(expression, frequency, newest_change=self.newest_change)
        return frequency

    def find_term(self, first: str, beyond: str) -> str | None:
        term: str | None = self.db.execute(
            "SELECT term FROM chunks_vocabulary WHERE term >= ? AND term < ? LIMIT 1", (first, beyond)
        ).get
        return term

    def list_terms(self, first: str, beyond: str, *, shortest: int, longest: int) -> Iterator[tuple[str, int]]:
        yield from self.db.execute(
            "SELECT term, doc FROM chunks_vocabulary WHERE term >= ? AND term < ? AND length(term) BETWEEN ? AND ?",
            (first, beyond, shortest, longest),
        )

    def find_written(self, term: str) -> str | None:
        place = self.db.execute(
            "SELECT doc, col, offset FROM chunks_instances WHERE term = ? LIMIT 1", (term,)
        ).fetchone()
        if place is None:
            return None
        chunk_id, column, offset = place
        text = self.db.execute(f"SELECT {column} FROM searchable_chunks WHERE id = ?", (chunk_id,)).get
        start, end, _ = tokenize(text)[offset]
        return str(text.encode()[start:end].decode())

    def time_limited(self, seconds: float) -> AbstractContextManager[None]:
        return time_limited(self.db, seconds)

    def are_rows_due(self, expression: str) -> bool:
        """Whether it is time to read all chunks that match: they are known, or were asked about before."""
        return self.index.is_known(expression) or not self.index.note_use(expression)

    def rows(self, expression: str) -> WordRows:
        rows = self.index.find_rows(expression)
        if rows is None or rows.last_chunk < self.last_chunk:
            rows = WordRows.read(self.db, expression, last_chunk=self.last_chunk, earlier=rows)
            self.index.keep_rows(expression, rows, newest_change=self.newest_change)
        return rows


def _has_any_chunk(db: apsw.Connection, documents: Set[int], *, up_to: int) -> bool:
    if not documents:
        return False
    found = fetch_all(
        db,
        "SELECT 1 FROM chunks WHERE document_id IN (SELECT value FROM json_each(?)) AND id <= ? LIMIT 1",
        (json.dumps(list(documents)), up_to),
    )
    return bool(found)


def _count(db: apsw.Connection, phrase: Phrase) -> Frequency:
    terms = find_terms(phrase.text)
    count = _count_beginning if phrase.is_beginning else _count_chunks_with
    rarest_term = min((count(db, term) for term in terms), default=0)
    if len(terms) < 2 or rarest_term == 0:
        return Frequency(rarest_term, rarest_term)
    found = db.execute("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH ?", (expression_of(phrase),)).get
    return Frequency(found, rarest_term)


def _count_chunks_with(db: apsw.Connection, term: str) -> int:
    return db.execute("SELECT doc FROM chunks_vocabulary WHERE term = ?", (term,)).get or 0


def _count_beginning(db: apsw.Connection, term: str) -> int:
    beyond = term + LAST
    return db.execute("SELECT sum(doc) FROM chunks_vocabulary WHERE term >= ? AND term < ?", (term, beyond)).get or 0
