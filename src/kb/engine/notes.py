"""The in-place note update (SPEC E17): synchronous, and all or nothing."""

from datetime import datetime

from kb.engine.errors import NotANote, VersionConflict
from kb.engine.ingestion.indexing import index_text
from kb.engine.ingestion.note_text import describe_note, sections_of_note
from kb.engine.model import Document, DocumentDetail, IndexedText, NoteRevision, Ref
from kb.engine.ports import Embedder, Store


def rewrite_note(
    store: Store,
    embedder: Embedder,
    ref: Ref,
    *,
    text: str,
    title: str | None,
    tags: tuple[str, ...] | None,
    expected_version: int | None,
    now: datetime,
) -> DocumentDetail:
    """Give a note a new text, split and embedded as at ingestion; title and tags stay unless given.

    A title that was derived from the text follows it; one that somebody gave stays. All that can fail
    slowly (the embedding) happens before the store is touched; if the note has changed meanwhile, it is all
    done again, unless the caller named the version that it must be.
    """
    while True:
        note = store.get_document(ref)
        # Also checked in the transaction, where it counts; here it saves the embedding.
        if note.doc_type != "note":
            raise NotANote(f"Document {note.id} is not a note; only notes can be rewritten in place.")
        if expected_version is not None and expected_version != note.version:
            raise VersionConflict(note.version)
        revision, indexed = _revise(note, text, title, tags, embedder)
        try:
            return store.replace_note(ref, revision, indexed, expected_version=note.version, now=now)
        except VersionConflict:
            if expected_version is not None:
                raise


def _revise(
    note: Document, text: str, title: str | None, tags: tuple[str, ...] | None, embedder: Embedder
) -> tuple[NoteRevision, IndexedText]:
    given_title = title or (note.title if note.title_is_given else None)
    described = describe_note(text, given_title)
    revision = NoteRevision(
        text=text,
        title=described.title,
        title_is_given=given_title is not None,
        filename=described.filename,
        size_bytes=described.size_bytes,
        content_hash=described.content_hash,
        tags=tags,
    )
    return revision, index_text(sections_of_note(text), described.title, embedder)
