"""Keeping the counts of words short: whoever adds or deletes a document only ever adds rows."""

from kb.engine.storage.postgres.chunks import CHUNKS, WORD_COUNTS
from kb.engine.storage.postgres.database import Database
from kb.engine.storage.tables.rows import fetch_all

# A step is a transaction, and short.
TERMS_PER_STEP = 5_000
# With more of them searches become slow; with fewer it is not worth going through all terms while others still come.
MOST_WAITING = 1_000

SUM_UP = (
    "WITH step AS (SELECT term, count(*) > 1 OR sum(chunks) = 0 AS is_long FROM word_counts WHERE term >= ? "
    "GROUP BY term ORDER BY term LIMIT ?), "
    "gone AS (DELETE FROM word_counts WHERE term IN (SELECT term FROM step WHERE is_long) RETURNING term, chunks), "
    "summed AS (INSERT INTO word_counts SELECT term, sum(chunks) FROM gone GROUP BY term HAVING sum(chunks) != 0 "
    "RETURNING term) SELECT count(*), max(term) FROM step"
)


def count_waiting(database: Database) -> int:
    """How many changes of documents are not summed up yet: each has counted chunks."""
    with database.read() as db:
        rows: int = db.execute("SELECT count(*) FROM word_counts WHERE term = ?", (CHUNKS,)).get
    return max(rows - 1, 0)


def sum_up_counts(database: Database) -> None:
    """One row a term, and none of terms that are nowhere any more."""
    count, first = TERMS_PER_STEP, ""
    while count == TERMS_PER_STEP:
        with database.write() as db:
            db.lock(WORD_COUNTS)
            # The last of a step is the first of the next: that costs nothing, and what comes after it has no name yet.
            ((count, first),) = fetch_all(db, SUM_UP, (first, TERMS_PER_STEP))
