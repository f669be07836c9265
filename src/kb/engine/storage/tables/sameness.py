"""Which document is the same as one that comes."""

from contextlib import suppress

from kb.engine.errors import DocumentNotFound
from kb.engine.model import OCR_FORCED, DocumentId, NewDocument
from kb.engine.storage.tables.connection import Connection
from kb.engine.storage.tables.rows import lock_document, to_metadata


def find_same_document(db: Connection, new: NewDocument) -> tuple[DocumentId | None, bool]:
    """Which document this content belongs to, and whether that document holds just this content.

    A source path names one document. Without one there, a file is the same as a file of the same bytes
    that has no path of its own, and an upload without a path is the same as any; two notes never are.
    If all its pages are to be recognised, a document of which not all were does not hold it yet.
    """
    columns = "SELECT id, content_hash, metadata FROM documents"
    row = db.execute(f"{columns} WHERE source_path = ? ORDER BY id LIMIT 1", (new.source_path,)).fetchone()
    if row is None and new.note_text is None:
        of_any_path = "" if new.source_path is None else "AND source_path IS NULL"
        row = db.execute(
            f"{columns} WHERE content_hash = ? AND doc_type != 'note' {of_any_path} "
            "ORDER BY source_path IS NOT NULL, id LIMIT 1",
            (new.content_hash,),
        ).fetchone()
    if row is None:
        return None, False
    found, content_hash, metadata = row
    is_read_as_wished = new.metadata.get(OCR_FORCED) is not True or _was_forced(metadata)
    return DocumentId(found), content_hash == new.content_hash and is_read_as_wished


def _was_forced(metadata: str) -> bool:
    try:
        return to_metadata(metadata).get(OCR_FORCED) is True
    except ValueError:
        # Damaged. It is read anew.
        return False


def find_same_to_change(db: Connection, new: NewDocument) -> tuple[DocumentId | None, bool]:
    """The same, and nobody else changes that document, or adds another, before this transaction ends."""
    # Two notes are never the same, and what has no path names nothing by it.
    path = [] if new.source_path is None else [f"path {new.source_path}"]
    content = [] if new.note_text is not None else [f"content {new.content_hash}"]
    db.lock(*path, *content)
    locked: DocumentId | None = None
    while True:
        same, holds_it = find_same_document(db, new)
        if same is None or same == locked:
            return same, holds_it
        # It may have changed, or be gone, before it could be locked.
        with suppress(DocumentNotFound):
            lock_document(db, same)
            locked = same
