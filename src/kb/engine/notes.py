"""Changing a note in place (E17) and bringing back what it said before (E18): synchronous, and all or nothing."""

from collections.abc import Callable
from datetime import datetime

from kb.engine.errors import NotANote, VersionConflict
from kb.engine.ingestion.indexing import index_text
from kb.engine.ingestion.markdown import sections_of_markdown
from kb.engine.ingestion.note_text import describe_note
from kb.engine.model import Document, DocumentDetail, NoteContent, Ref
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

    A title that was derived from the text follows it; one that somebody gave stays.
    """

    def revise(note: Document) -> NoteContent:
        return _compose(text, title or (note.title if note.title_is_given else None), tags)

    return _replace(store, embedder, ref, revise, expected_version=expected_version, now=now)


def revert_note(
    store: Store, embedder: Embedder, ref: Ref, version: int, *, expected_version: int | None, now: datetime
) -> DocumentDetail:
    """Make text and title again what they were in that version. This is a change like any other: nothing is lost."""
    revision = store.get_revision(ref, version)
    content = _compose(revision.text, revision.title if revision.title_is_given else None, None)
    return _replace(store, embedder, ref, lambda note: content, expected_version=expected_version, now=now)


def _replace(
    store: Store,
    embedder: Embedder,
    ref: Ref,
    revise: Callable[[Document], NoteContent],
    *,
    expected_version: int | None,
    now: datetime,
) -> DocumentDetail:
    """All that can fail slowly (the embedding) happens before the store is touched; if the note has changed
    meanwhile, it is all done again, unless the caller named the version that it must be."""
    while True:
        note = store.get_document(ref)
        # Also checked in the transaction, where it counts; here it saves the embedding.
        if note.doc_type != "note":
            raise NotANote(f"Document {note.id} is not a note; only notes can be rewritten in place.")
        if expected_version is not None and expected_version != note.version:
            raise VersionConflict(note.version)
        content = revise(note)
        indexed = index_text([sections_of_markdown(content.text)], content.title, embedder)
        try:
            return store.replace_note(ref, content, indexed, expected_version=note.version, now=now)
        except VersionConflict:
            if expected_version is not None:
                raise


def _compose(text: str, given_title: str | None, tags: tuple[str, ...] | None) -> NoteContent:
    described = describe_note(text, given_title)
    return NoteContent(
        text=text,
        title=described.title,
        title_is_given=given_title is not None,
        filename=described.filename,
        size_bytes=described.size_bytes,
        content_hash=described.content_hash,
        tags=tags,
    )
