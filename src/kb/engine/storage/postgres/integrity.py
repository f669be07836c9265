"""Checking that what PostgreSQL keeps is what was written into it.

PostgreSQL has a checksum for each of its pages, so a flipped bit is an error when it is read. What is checked here is
what no page can tell: that texts are what their hashes say, and that what is derived fits what it is derived from.
"""

from collections.abc import Callable

from kb.engine.model import CheckCursor, Checked, CheckedBatch, CheckPart, Damage, DamageKind
from kb.engine.storage.postgres.chunks import CHUNKS, read_title_terms
from kb.engine.storage.postgres.connection import PostgresConnection
from kb.engine.storage.postgres.database import Database
from kb.engine.storage.postgres.terms import find_chunk_terms, to_token
from kb.engine.storage.tables.integrity import Findings, ScrubPart, check_document, check_job, hash_of_text, size_of
from kb.engine.storage.tables.rows import fetch_all

ROWS_PER_BATCH = 500
# To make the words of more anew takes minutes, in which nobody can write.
MAX_CHUNKS_TO_COMPARE = 300_000


class IntegrityPart(ScrubPart):
    """The part of the store that checks the others."""

    _database: Database

    def check_batch(self, cursor: CheckCursor) -> CheckedBatch:
        with self._database.read() as db:
            if cursor.part is CheckPart.STRUCTURE:
                return CheckedBatch(CheckCursor(CheckPart.DOCUMENTS), Checked(), _check_pages(db))
            return _check_rows(db, cursor)

    def mend_full_text(self) -> None:
        with self._database.read() as db:
            count: int = db.execute("SELECT count(*) FROM chunks").get
            if count > MAX_CHUNKS_TO_COMPARE or _do_words_fit(db, count):
                return
        with self._database.write() as db:
            db.index_all_words()


def _check_pages(db: PostgresConnection) -> list[Damage]:
    failures = db.execute(
        "SELECT COALESCE(sum(checksum_failures), 0)::bigint FROM pg_stat_database WHERE datname = current_database()"
    ).get
    if not failures:
        return []
    sentence = f"PostgreSQL has met {failures} damaged pages of this database. Restore it from a backup; "
    sentence += "pg_stat_reset() has it forget them."
    return [Damage(DamageKind.STRUCTURE, None, sentence)]


def _check_rows(db: PostgresConnection, cursor: CheckCursor) -> CheckedBatch:
    table, key, check_row, following = _CHECKS[cursor.part]
    found = Findings()
    row_ids = fetch_all(
        db, f"SELECT {key} FROM {table} WHERE {key} > ? ORDER BY {key} LIMIT ?", (cursor.after, ROWS_PER_BATCH)
    )
    for (row_id,) in row_ids:
        check_row(db, row_id, found)
    if len(row_ids) == ROWS_PER_BATCH:
        following = CheckCursor(cursor.part, row_ids[-1][0])
    return CheckedBatch(following, found.checked, found.damages, found.originals)


def _check_chunk(db: PostgresConnection, chunk_id: int, found: Findings) -> None:
    ((document_id, heading, text, has_vector, is_embedded, tokens, pairs),) = fetch_all(
        db,
        "SELECT c.document_id, c.heading, c.text, e.chunk_id IS NOT NULL, "
        "(SELECT vector_model != '' FROM documents WHERE id = c.document_id), w.tokens, w.pairs "
        "FROM chunks AS c LEFT JOIN embeddings AS e ON e.chunk_id = c.id "
        "LEFT JOIN chunk_words AS w ON w.chunk_id = c.id WHERE c.id = ?",
        (chunk_id,),
    )
    terms = find_chunk_terms(read_title_terms(db, document_id), heading, text)
    are_pairs_whole = set(pairs or ()) == {to_token(pair) for pair in terms.pairs}
    if tokens != [to_token(term) for term in terms.all] or not are_pairs_whole:
        found.add(DamageKind.FULL_TEXT, document_id, f"Chunk {chunk_id} is not indexed as it reads.")
    if is_embedded and not has_vector:
        found.add(DamageKind.COUNT, document_id, f"Chunk {chunk_id} has no vector.")
    found.checked += Checked(chunks=1, vectors=int(has_vector), bytes=size_of(text))


def _check_revision(db: PostgresConnection, row_id: int, found: Findings) -> None:
    ((document_id, version, text, content_hash, is_current),) = fetch_all(
        db,
        "SELECT r.document_id, r.version, r.text, r.content_hash, "
        "(SELECT d.title = r.title AND d.content_hash = r.content_hash FROM documents AS d WHERE d.id = r.document_id) "
        "FROM note_revisions AS r WHERE r.row_id = ?",
        (row_id,),
    )
    # The newest revision has no text of its own: it is what the note says now.
    if not (is_current if text is None else hash_of_text(text) == content_hash):
        message = f"Version {version} of note {document_id} is not what the note said then."
        found.add(DamageKind.REVISION, document_id, message)
    found.checked += Checked(revisions=1, bytes=size_of(text))


def _do_words_fit(db: PostgresConnection, chunk_count: int) -> bool:
    if db.execute("SELECT sum(chunks) FROM word_counts WHERE term = ?", (CHUNKS,)).get != chunk_count:
        return False
    cursor: CheckCursor | None = CheckCursor(CheckPart.CHUNKS)
    while cursor is not None and cursor.part is CheckPart.CHUNKS:
        batch = _check_rows(db, cursor)
        if any(damage.kind is DamageKind.FULL_TEXT for damage in batch.damages):
            return False
        cursor = batch.following
    return True


_RowCheck = Callable[[PostgresConnection, int, Findings], None]
_CHECKS: dict[CheckPart, tuple[str, str, _RowCheck, CheckCursor | None]] = {
    CheckPart.DOCUMENTS: ("documents", "id", check_document, CheckCursor(CheckPart.CHUNKS)),
    CheckPart.CHUNKS: ("chunks", "id", _check_chunk, CheckCursor(CheckPart.REVISIONS)),
    CheckPart.REVISIONS: ("note_revisions", "row_id", _check_revision, CheckCursor(CheckPart.JOBS)),
    CheckPart.JOBS: ("jobs", "id", check_job, None),
}
"""Of each part: its table, what its rows are known by, how a row is checked, and what comes after the table."""
