"""Checking that what SQLite keeps is what was written into it.

SQLite's own check looks at the structure of the file; within a row it takes any bytes for good. So each row of content
is held against the checksum or hash that was written with it, and whatever is derived against what it is derived from.

SQLite's check is one query, which takes as long as it takes to read the file (10 s for 500 MB): the log cannot be
emptied before it ends. The rows are gone through in batches, each a short transaction, and read one by one: a row whose
text is no longer UTF-8 cannot be read at all, but its neighbours can.
"""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import apsw

from kb.engine.model import (
    CheckCursor,
    Checked,
    CheckedBatch,
    CheckPart,
    Damage,
    DamageKind,
    DocumentId,
    Scrub,
    UsedOriginal,
)
from kb.engine.storage.sqlite.checksums import register_checksum
from kb.engine.storage.sqlite.chunks import empty_full_text, spaced_or_none
from kb.engine.storage.sqlite.database import Database, open_untouched, translated_errors
from kb.engine.storage.sqlite.rows import fetch_all, to_json, to_text

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


class IntegrityRows:
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

    def read_scrub(self) -> Scrub:
        with self._database.read() as db:
            state = db.execute("SELECT value FROM meta WHERE key = 'scrub'").get
        if state is None:
            return Scrub()
        part, after, found, finished_at, damage_count = json.loads(state)
        return Scrub(
            None if part is None else CheckCursor(CheckPart(part), after),
            found,
            None if finished_at is None else datetime.fromisoformat(finished_at),
            damage_count,
        )

    def write_scrub(self, scrub: Scrub) -> None:
        place = (None, 0) if scrub.cursor is None else (scrub.cursor.part, scrub.cursor.after)
        finished_at = None if scrub.finished_at is None else to_text(scrub.finished_at)
        state = to_json([*place, scrub.found, finished_at, scrub.damage_count])
        with self._database.write() as db:
            db.execute("INSERT OR REPLACE INTO meta VALUES ('scrub', ?)", (state,))


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


@dataclass
class _Findings:
    checked: Checked = field(default_factory=Checked)
    damages: list[Damage] = field(default_factory=list)
    originals: list[UsedOriginal] = field(default_factory=list)

    def add(self, kind: DamageKind, document_id: int | None, message: str) -> None:
        self.damages.append(Damage(kind, None if document_id is None else DocumentId(document_id), message))


def _check_rows(db: apsw.Connection, cursor: CheckCursor) -> CheckedBatch:
    table, kind, check_row, following = _CHECKS[cursor.part]
    found = _Findings()
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


def _check_document(db: apsw.Connection, document_id: int, found: _Findings) -> None:
    (row,) = fetch_all(
        db,
        "SELECT c.kept = c.computed, doc_type = 'note', content_hash, title, search_title, chunk_count, "
        "(SELECT count(*) FROM chunks WHERE document_id = d.id), "
        "(SELECT COALESCE(max(ordinal) + 1, 0) FROM chunks WHERE document_id = d.id), original, "
        "NOT EXISTS (SELECT 1 FROM documents AS o WHERE o.original = d.original AND o.id < d.id), note_text "
        "FROM documents AS d JOIN document_checksums AS c ON c.id = d.id WHERE d.id = ?",
        (document_id,),
    )
    is_whole, is_note, content_hash, title, search_title, chunk_count, chunks, end, original, is_first, text = row
    if not is_whole:
        message = f"The properties of document {document_id} are not those that were stored."
        found.add(DamageKind.DOCUMENT, document_id, message)
    elif search_title != spaced_or_none(title):
        message = f"The title of document {document_id} is not indexed as it reads."
        found.add(DamageKind.FULL_TEXT, document_id, message)
    if is_note and _hash_of(text) != content_hash:
        found.add(DamageKind.NOTE, document_id, f"The text of note {document_id} is not the one that was stored.")
    if not chunk_count == chunks == end:
        message = f"Document {document_id} should have {chunk_count} chunks, numbered from 0, and has {chunks}."
        found.add(DamageKind.COUNT, document_id, message)
    if original is not None and is_first:
        found.originals.append(UsedOriginal(original, DocumentId(document_id)))
    found.checked += Checked(documents=1, bytes=_size_of(text))


def _check_chunk(db: apsw.Connection, chunk_id: int, found: _Findings) -> None:
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
    found.checked += Checked(chunks=1, vectors=vectors, bytes=_size_of(text) + (vector_bytes or 0))


def _check_revision(db: apsw.Connection, row_id: int, found: _Findings) -> None:
    ((document_id, version, text, content_hash, is_row_whole, is_current),) = fetch_all(
        db,
        "SELECT r.document_id, r.version, r.text, r.content_hash, r.checksum = "
        "checksum(r.document_id, r.version, r.title, r.title_is_given, r.content_hash, r.created_at), "
        "(SELECT d.title = r.title AND d.content_hash = r.content_hash FROM documents AS d WHERE d.id = r.document_id) "
        "FROM note_revisions AS r WHERE r.rowid = ?",
        (row_id,),
    )
    # The newest revision has no text of its own: it is what the note says now.
    is_text_whole = is_current if text is None else _hash_of(text) == content_hash
    if not (is_row_whole and is_text_whole):
        message = f"Version {version} of note {document_id} is not what the note said then."
        found.add(DamageKind.REVISION, document_id, message)
    found.checked += Checked(revisions=1, bytes=_size_of(text))


def _check_job(db: apsw.Connection, job_id: int, found: _Findings) -> None:
    ((payload, digest, original, is_first),) = fetch_all(
        db,
        "SELECT payload, 'sha256:' || request_digest, original, "
        "NOT EXISTS (SELECT 1 FROM documents AS d WHERE d.original = j.original) "
        "AND NOT EXISTS (SELECT 1 FROM jobs AS o WHERE o.original = j.original AND o.id < j.id) "
        "FROM jobs AS j WHERE id = ?",
        (job_id,),
    )
    if None not in (payload, digest) and _hash_of(payload) != digest:
        found.add(DamageKind.JOB, None, f"What job {job_id} was given is not what was submitted.")
    if original is not None and is_first:
        found.originals.append(UsedOriginal(original, None))


# Where damage has struck, a text need not be one.
def _hash_of(text: object) -> str | None:
    return f"sha256:{hashlib.sha256(text.encode()).hexdigest()}" if isinstance(text, str) else None


def _size_of(text: object) -> int:
    return len(text.encode()) if isinstance(text, str) else 0


_RowCheck = Callable[[apsw.Connection, int, _Findings], None]
_CHECKS: dict[CheckPart, tuple[str, DamageKind, _RowCheck, CheckCursor | None]] = {
    CheckPart.DOCUMENTS: ("documents", DamageKind.DOCUMENT, _check_document, CheckCursor(CheckPart.CHUNKS)),
    CheckPart.CHUNKS: ("chunks", DamageKind.CHUNK, _check_chunk, CheckCursor(CheckPart.REVISIONS)),
    CheckPart.REVISIONS: ("note_revisions", DamageKind.REVISION, _check_revision, CheckCursor(CheckPart.JOBS)),
    CheckPart.JOBS: ("jobs", DamageKind.JOB, _check_job, None),
}
"""Of each part: its table, what an unreadable row of it is, how a row is checked, and what comes after the table."""
