"""Checking that what SQLite keeps is what was written into it.

SQLite's own check looks at the structure of the file; within a row it takes any bytes for good. So each row of content
is held against the checksum or hash that was written with it, and whatever is derived against what it is derived from.

SQLite's check is one query, which takes as long as it takes to read the file (10 s for 500 MB): the log cannot be
emptied before it ends. The rows are gone through in batches, each a short transaction, and read one by one: a row whose
text is no longer UTF-8 cannot be read at all, but its neighbours can.
"""

from collections.abc import Callable
from pathlib import Path

import apsw

from kb.engine.model import (
    CheckCursor,
    Checked,
    CheckedBatch,
    CheckPart,
    Damage,
    DamageKind,
)
from kb.engine.storage.sqlite.checksums import register_checksum
from kb.engine.storage.sqlite.chunks import empty_full_text
from kb.engine.storage.sqlite.database import Database, open_untouched, translated_errors
from kb.engine.storage.tables.chunks import spaced_or_none
from kb.engine.storage.tables.integrity import Findings, ScrubPart, check_document, check_job, hash_of_text, size_of
from kb.engine.storage.tables.rows import fetch_all

ROWS_PER_BATCH = 500
# SQLite's own check can find something on every page; the first findings tell enough.
MAX_STRUCTURE_FINDINGS = 100
# Comparing the full-text index with the text keeps writers out for 0.14 s per 10,000 chunks, and they wait ten seconds.
MAX_CHUNKS_TO_COMPARE = 300_000
# Bases with an older schema have no checksums.
CHECKSUMS_SINCE_SCHEMA = 4

DAMAGED = (apsw.CorruptError, apsw.NotADBError)
# FTS5 says of some damage only that there is an error in SQL.
DAMAGED_OR_ODD = (*DAMAGED, apsw.SQLError)


class IntegrityPart(ScrubPart):
    """The part of the store that checks the others."""

    _database: Database

    def check_batch(self, cursor: CheckCursor) -> CheckedBatch:
        if cursor.part is CheckPart.STRUCTURE:
            return CheckedBatch(CheckCursor(CheckPart.DOCUMENTS), Checked(), self._find_structural_damage())
        with self._database.read() as db:
            return _check_rows(db, cursor)

    def _find_structural_damage(self) -> list[Damage]:
        with self._database.read() as db:
            damages = _check_structure(db)
            if damages or _is_too_large_to_compare(db):
                return damages
        with self._database.write() as db:
            return _check_full_text(db)

    def mend_full_text(self) -> None:
        with self._database.write() as db:
            # Counting takes a few milliseconds; comparing, and making it anew still more, keeps writers out for long.
            if not _is_too_large_to_compare(db) and _check_full_text(db):
                empty_full_text(db)
                db.execute(
                    "INSERT INTO chunks_fts (rowid, title, heading, body) "
                    "SELECT id, title, heading, body FROM searchable_chunks ORDER BY id"
                )


def check_base(path: Path) -> list[Damage]:
    """Everything that is wrong with a base that nobody else has open, a copy for example; not with its originals.

    Changes nothing in it, but must be able to. Raises `Unavailable` if the file cannot be opened at all.
    """
    with translated_errors(), open_untouched(path) as db:
        try:
            register_checksum(db)
            version = db.pragma("user_version")
            if version == 0:
                return [Damage(DamageKind.STRUCTURE, None, "The file is not a base of kb, or an empty one.")]
            db.execute("BEGIN")
            damages = _check_structure(db)
            if version < CHECKSUMS_SINCE_SCHEMA:
                return damages
            if not damages:
                damages += _check_full_text(db)
            cursor: CheckCursor | None = CheckCursor(CheckPart.DOCUMENTS)
            while cursor is not None:
                batch = _check_rows(db, cursor)
                damages += batch.damages
                cursor = batch.following
        except DAMAGED_OR_ODD as error:
            return [_unreadable(error)]
        return damages


def _check_structure(db: apsw.Connection) -> list[Damage]:
    try:
        # FTS5 remembers how its index was laid out when this connection last used it, and forgets that, if others have
        # changed it, only when a query begins. The check is none: it would take the new layout for damage.
        fetch_all(db, "SELECT rowid FROM chunks_fts LIMIT 1")
        findings = [row[0] for row in fetch_all(db, f"PRAGMA integrity_check({MAX_STRUCTURE_FINDINGS})")]
        dangling = fetch_all(db, "PRAGMA foreign_key_check")
    except DAMAGED_OR_ODD as error:
        return [_unreadable(error)]
    damages = [
        Damage(
            DamageKind.FULL_TEXT if "chunks_fts" in finding else DamageKind.STRUCTURE,
            None,
            f"The structure of the base's file is damaged: {finding}.",
        )
        for finding in findings
        if finding != "ok"
    ]
    for table, row_id, parent, _ in dangling[:MAX_STRUCTURE_FINDINGS]:
        sentence = f"Row {row_id} of {table} belongs to a row of {parent} that is not there."
        damages.append(Damage(DamageKind.STRUCTURE, None, sentence))
    return damages


def _is_too_large_to_compare(db: apsw.Connection) -> bool:
    return bool(db.execute("SELECT count(*) > ? FROM chunks", (MAX_CHUNKS_TO_COMPARE,)).get)


def _check_full_text(db: apsw.Connection) -> list[Damage]:
    try:
        db.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)")
    except DAMAGED_OR_ODD:
        return [Damage(DamageKind.FULL_TEXT, None, "The full-text index does not fit the text that it was made from.")]
    return []


def _unreadable(error: apsw.Error) -> Damage:
    return Damage(DamageKind.STRUCTURE, None, f"The base's file cannot be read as a whole: {error}.")


def _check_rows(db: apsw.Connection, cursor: CheckCursor) -> CheckedBatch:
    table, kind, check_row, following = _CHECKS[cursor.part]
    found = Findings()
    try:
        row_ids = fetch_all(
            db, f"SELECT rowid FROM {table} WHERE rowid > ? ORDER BY rowid LIMIT ?", (cursor.after, ROWS_PER_BATCH)
        )
    except DAMAGED as error:
        # There is no way to the rows behind the damage.
        return CheckedBatch(following, Checked(), [_unreadable(error)])
    for (row_id,) in row_ids:
        try:
            check_row(db, row_id, found)
        except (*DAMAGED, UnicodeDecodeError):
            found.add(kind, row_id if kind is DamageKind.DOCUMENT else None, f"Row {row_id} of {table} is unreadable.")
    if len(row_ids) == ROWS_PER_BATCH:
        following = CheckCursor(cursor.part, row_ids[-1][0])
    return CheckedBatch(following, found.checked, found.damages, found.originals)


def _check_document(db: apsw.Connection, document_id: int, found: Findings) -> None:
    ((is_whole, title, search_title),) = fetch_all(
        db,
        "SELECT c.kept = c.computed, title, search_title "
        "FROM documents AS d JOIN document_checksums AS c ON c.id = d.id WHERE d.id = ?",
        (document_id,),
    )
    if not is_whole:
        message = f"The properties of document {document_id} are not those that were stored."
        found.add(DamageKind.DOCUMENT, document_id, message)
    elif search_title != spaced_or_none(title):
        message = f"The title of document {document_id} is not indexed as it reads."
        found.add(DamageKind.FULL_TEXT, document_id, message)
    check_document(db, document_id, found)


def _check_chunk(db: apsw.Connection, chunk_id: int, found: Findings) -> None:
    (row,) = fetch_all(
        db,
        "SELECT c.document_id, c.checksum = checksum(uuid, c.document_id, ordinal, text, heading, page_num), "
        "text, search_text, heading, search_heading, e.checksum = checksum(chunk_id, vector), length(vector), "
        "(SELECT vector_model != '' FROM documents WHERE id = c.document_id) "
        "FROM chunks AS c LEFT JOIN embeddings AS e ON e.chunk_id = c.id WHERE c.id = ?",
        (chunk_id,),
    )
    document_id, is_whole, text, search_text, heading, search_heading, is_vector_whole, vector_bytes, is_embedded = row
    if not is_whole:
        found.add(DamageKind.CHUNK, document_id, f"Chunk {chunk_id} is not the one that was stored.")
    elif (search_text, search_heading) != (spaced_or_none(text), spaced_or_none(heading)):
        found.add(DamageKind.FULL_TEXT, document_id, f"Chunk {chunk_id} is not indexed as it reads.")
    if vector_bytes is None and is_embedded:
        found.add(DamageKind.COUNT, document_id, f"Chunk {chunk_id} has no vector.")
    elif vector_bytes is not None and not is_vector_whole:
        found.add(DamageKind.VECTOR, document_id, f"The vector of chunk {chunk_id} is not the one that was stored.")
    vectors = 0 if vector_bytes is None else 1
    found.checked += Checked(chunks=1, vectors=vectors, bytes=size_of(text) + (vector_bytes or 0))


def _check_revision(db: apsw.Connection, row_id: int, found: Findings) -> None:
    ((document_id, version, text, content_hash, is_row_whole, is_current),) = fetch_all(
        db,
        "SELECT r.document_id, r.version, r.text, r.content_hash, r.checksum = "
        "checksum(r.document_id, r.version, r.title, r.title_is_given, r.content_hash, r.created_at), "
        "(SELECT d.title = r.title AND d.content_hash = r.content_hash FROM documents AS d WHERE d.id = r.document_id) "
        "FROM note_revisions AS r WHERE r.rowid = ?",
        (row_id,),
    )
    # The newest revision has no text of its own: it is what the note says now.
    is_text_whole = is_current if text is None else hash_of_text(text) == content_hash
    if not (is_row_whole and is_text_whole):
        message = f"Version {version} of note {document_id} is not what the note said then."
        found.add(DamageKind.REVISION, document_id, message)
    found.checked += Checked(revisions=1, bytes=size_of(text))


_RowCheck = Callable[[apsw.Connection, int, Findings], None]
_CHECKS: dict[CheckPart, tuple[str, DamageKind, _RowCheck, CheckCursor | None]] = {
    CheckPart.DOCUMENTS: ("documents", DamageKind.DOCUMENT, _check_document, CheckCursor(CheckPart.CHUNKS)),
    CheckPart.CHUNKS: ("chunks", DamageKind.CHUNK, _check_chunk, CheckCursor(CheckPart.REVISIONS)),
    CheckPart.REVISIONS: ("note_revisions", DamageKind.REVISION, _check_revision, CheckCursor(CheckPart.JOBS)),
    CheckPart.JOBS: ("jobs", DamageKind.JOB, check_job, None),
}
"""Of each part: its table, what an unreadable row of it is, how a row is checked, and what comes after the table."""
