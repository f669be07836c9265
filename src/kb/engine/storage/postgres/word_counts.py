"""Keeping the counts of words short: whoever adds or deletes a document only ever adds rows."""

from kb.engine.storage.postgres.database import Database

# A step is a transaction, and short.
TERMS_PER_STEP = 5_000
SUM_UP = (
    "WITH several AS (SELECT term FROM word_counts GROUP BY term HAVING count(*) > 1 OR sum(chunks) = 0 LIMIT ?), "
    "gone AS (DELETE FROM word_counts WHERE term IN (SELECT term FROM several) RETURNING term, chunks), "
    "summed AS (INSERT INTO word_counts SELECT term, sum(chunks) FROM gone GROUP BY term HAVING sum(chunks) != 0 "
    "RETURNING term) SELECT count(*) FROM several"
)


def sum_up_counts(database: Database) -> None:
    """One row a term, and none of terms that are nowhere any more."""
    while True:
        with database.write() as db:
            if db.execute(SUM_UP, (TERMS_PER_STEP,)).get < TERMS_PER_STEP:
                return
