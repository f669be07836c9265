"""What checking a base comes to, whichever database keeps it."""

import json
from dataclasses import dataclass, field
from datetime import datetime

from kb.engine.model import (
    CheckCursor,
    Checked,
    CheckPart,
    Damage,
    DamageKind,
    DocumentId,
    Scrub,
    UsedOriginal,
)
from kb.engine.model.hashes import hash_of
from kb.engine.storage.tables.connection import Database, Executor
from kb.engine.storage.tables.meta import read_meta, write_meta
from kb.engine.storage.tables.rows import fetch_all, to_json, to_text


class ScrubPart:
    """The part of the store that knows how far the check in the background has come."""

    _database: Database

    def read_scrub(self) -> Scrub:
        with self._database.read() as db:
            state = read_meta(db, "scrub")
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
            write_meta(db, "scrub", state)


@dataclass
class Findings:
    checked: Checked = field(default_factory=Checked)
    damages: list[Damage] = field(default_factory=list)
    originals: list[UsedOriginal] = field(default_factory=list)

    def add(self, kind: DamageKind, document_id: int | None, message: str) -> None:
        self.damages.append(Damage(kind, None if document_id is None else DocumentId(document_id), message))


def check_document(db: Executor, document_id: int, found: Findings) -> None:
    """What can be told of a document by what it is made of."""
    ((is_note, content_hash, chunk_count, chunks, end, original, is_first, text),) = fetch_all(
        db,
        "SELECT doc_type = 'note', content_hash, chunk_count, "
        "(SELECT count(*) FROM chunks WHERE document_id = d.id), "
        "(SELECT COALESCE(max(ordinal) + 1, 0) FROM chunks WHERE document_id = d.id), original, "
        "NOT EXISTS (SELECT 1 FROM documents AS o WHERE o.original = d.original AND o.id < d.id), note_text "
        "FROM documents AS d WHERE d.id = ?",
        (document_id,),
    )
    if is_note and hash_of_text(text) != content_hash:
        found.add(DamageKind.NOTE, document_id, f"The text of note {document_id} is not the one that was stored.")
    if not chunk_count == chunks == end:
        message = f"Document {document_id} should have {chunk_count} chunks, numbered from 0, and has {chunks}."
        found.add(DamageKind.COUNT, document_id, message)
    if original is not None and is_first:
        found.originals.append(UsedOriginal(original, DocumentId(document_id)))
    found.checked += Checked(documents=1, bytes=size_of(text))


def check_job(db: Executor, job_id: int, found: Findings) -> None:
    ((payload, digest, original, is_first),) = fetch_all(
        db,
        "SELECT payload, 'sha256:' || request_digest, original, "
        "NOT EXISTS (SELECT 1 FROM documents AS d WHERE d.original = j.original) "
        "AND NOT EXISTS (SELECT 1 FROM jobs AS o WHERE o.original = j.original AND o.id < j.id) "
        "FROM jobs AS j WHERE id = ?",
        (job_id,),
    )
    if None not in (payload, digest) and hash_of_text(payload) != digest:
        found.add(DamageKind.JOB, None, f"What job {job_id} was given is not what was submitted.")
    if original is not None and is_first:
        found.originals.append(UsedOriginal(original, None))


# Where damage has struck, a text need not be one.
def hash_of_text(text: object) -> str | None:
    return hash_of(text.encode()) if isinstance(text, str) else None


def size_of(text: object) -> int:
    return len(text.encode()) if isinstance(text, str) else 0
