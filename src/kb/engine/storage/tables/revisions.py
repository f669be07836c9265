"""What notes said before. The text of the newest revision is the note's own, and kept here once replaced."""

from datetime import datetime
from typing import Any

from kb.engine.errors import NotANote, NotFound
from kb.engine.model import Document, DocumentId, NoteRevision, Page, Ref
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.rows import count_fitting, document_id_of, fetch_all, load_document, to_text

OF_NOTE = "FROM note_revisions AS r JOIN documents AS d ON d.id = r.document_id WHERE r.document_id = ?1"
REVISIONS = (
    "SELECT r.version, r.title, r.title_is_given, COALESCE(r.text, d.note_text), r.content_hash, r.created_at, "
    f"r.text IS NULL {OF_NOTE}"
)


class RevisionsPart:
    """The part of the store that keeps the history of notes."""

    _database: Database

    def list_revisions(self, ref: Ref, *, limit: int, offset: int) -> Page[NoteRevision]:
        with self._database.read() as db:
            note_id = _note_id_of(db, ref)
            total = db.execute("SELECT count(*) FROM note_revisions WHERE document_id = ?", (note_id,)).get
            sizes = fetch_all(
                db,
                "SELECT 200 + octet_length(r.title) + octet_length(COALESCE(r.text, d.note_text)) "
                f"{OF_NOTE} ORDER BY r.version DESC LIMIT ?2 OFFSET ?3",
                (note_id, limit, offset),
            )
            fitting = count_fitting(size for (size,) in sizes)
            rows = db.execute(f"{REVISIONS} ORDER BY r.version DESC LIMIT ?2 OFFSET ?3", (note_id, fitting, offset))
            return Page([_to_revision(row) for row in rows], total)

    def get_revision(self, ref: Ref, version: int) -> NoteRevision:
        with self._database.read() as db:
            note = load_document(db, _note_id_of(db, ref))
            if not 1 <= version <= note.version:
                raise _no_such_version(note, version)
            row = db.execute(
                f"{REVISIONS} AND r.version <= ?2 ORDER BY r.version DESC LIMIT 1", (note.id, version)
            ).fetchone()
        if row is None:
            raise _no_such_version(note, version)
        return _to_revision(row)


def begin_revision(db: Connection, note: Document, created_at: datetime) -> None:
    """Note that what the note says now is a revision of its own."""
    db.execute(
        "INSERT INTO note_revisions (document_id, version, title, title_is_given, content_hash, created_at) "
        "VALUES (?, ?, ?, ?, ?, ?)",
        (note.id, note.version, note.title, note.title_is_given, note.content_hash, to_text(created_at)),
    )


def end_revision(db: Connection, note_id: DocumentId) -> None:
    """Keep what the note says, which is about to change. Does nothing for a document that is not a note."""
    db.execute(
        "UPDATE note_revisions SET text = (SELECT note_text FROM documents WHERE id = ?1) "
        "WHERE document_id = ?1 AND text IS NULL",
        (note_id,),
    )


def _note_id_of(db: Connection, ref: Ref) -> DocumentId:
    document_id = document_id_of(db, ref)
    if not db.execute("SELECT note_text IS NOT NULL FROM documents WHERE id = ?", (document_id,)).get:
        raise NotANote(f"Document {document_id} is not a note; only notes have revisions.")
    return document_id


def _no_such_version(note: Document, version: int) -> NotFound:
    return NotFound(
        f"Note {note.id} has no version {version}. GET /notes/{note.id}/revisions lists those it has.",
        current_version=note.version,
    )


def _to_revision(row: tuple[Any, ...]) -> NoteRevision:
    version, title, title_is_given, text, content_hash, created_at, is_current = row
    return NoteRevision(
        version, title, bool(title_is_given), text, content_hash, datetime.fromisoformat(created_at), bool(is_current)
    )
