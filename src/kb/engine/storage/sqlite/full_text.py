"""Keeping the full-text index in one piece.

FTS5 writes what is new into pieces of its own, and merges few of them at a time: after a million chunks were added one
document after another, there are some twenty. Each word that is looked for or deleted is looked up in every piece, so
in one piece a note is rewritten four times as fast.
"""

import time

from kb.engine.storage.sqlite.database import Database
from kb.engine.storage.tables.meta import read_meta, write_meta

# Merging writes the whole index anew, so it has to have grown by a quarter since the last time.
GROWTH_TO_MERGE = 1.25
# Fewer are in few pieces anyway.
LEAST_CHUNKS = 10_000
# A step keeps other writers waiting: with so many pages of 4 KB, for 20 ms.
PAGES_PER_STEP = 500
# They get their turn between two steps.
REST_PER_WORK = 1.0

KEY = "full_text_merged"


def merge_full_text(database: Database, *, chunk_count: int) -> bool:
    """If it has become worth it. Returns false, and does nothing, if jobs are waiting to be done."""
    with database.read() as db:
        merged_at = int(read_meta(db, KEY) or 0)
        is_busy = db.execute("SELECT EXISTS (SELECT 1 FROM jobs WHERE status IN ('queued', 'running'))").get
    if chunk_count < max(LEAST_CHUNKS, GROWTH_TO_MERGE * merged_at):
        return True
    if is_busy:
        return False
    # The first step, with a negative number, is told to put all pieces together; the others go on with it.
    pages = -PAGES_PER_STEP
    while _merge(database, pages):
        pages = PAGES_PER_STEP
    with database.write() as db:
        write_meta(db, KEY, str(chunk_count))
    return True


def _merge(database: Database, pages: int) -> bool:
    """Do a step, and rest; returns whether there was anything to do."""
    began = time.monotonic()
    with database.write() as db:
        before = db.total_changes()
        db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('merge', ?)", (pages,))
        # The statement itself counts as a change.
        has_worked = db.total_changes() - before > 1
    time.sleep(REST_PER_WORK * (time.monotonic() - began))
    return has_worked
