"""What is kept, and what notes said before."""

from datetime import datetime
from typing import Protocol

from kb.engine.model import (
    Cleared,
    DeletedDocument,
    Document,
    DocumentChange,
    DocumentDetail,
    DocumentQuery,
    IndexedText,
    NoteContent,
    NoteRevision,
    Page,
    Ref,
)


class Documents(Protocol):
    def get_document(self, ref: Ref) -> Document: ...

    def read_document(
        self, ref: Ref, *, chunk_limit: int | None = None, chunk_offset: int = 0, max_bytes: int | None = None
    ) -> DocumentDetail:
        """The document with its chunks from `chunk_offset` on: as many as fit into `max_bytes`, but at least one."""
        ...

    def list_documents(self, query: DocumentQuery) -> Page[Document]:
        """The requested documents, as many as one answer has room for, but at least one."""
        ...

    def replace_note(
        self,
        ref: Ref,
        revision: NoteContent,
        text: IndexedText,
        *,
        expected_version: int | None,
        now: datetime,
    ) -> DocumentDetail:
        """Give a note new content; what it said before stays among its revisions."""
        ...

    def list_revisions(self, ref: Ref, *, limit: int, offset: int) -> Page[NoteRevision]:
        """The note's present and earlier texts, newest first: as many as one answer has room for, but at least one."""
        ...

    def get_revision(self, ref: Ref, version: int) -> NoteRevision:
        """What the note said when it was this version."""
        ...

    def update_document(
        self,
        ref: Ref,
        change: DocumentChange,
        *,
        expected_version: int | None,
        now: datetime,
    ) -> Document:
        """A change that changes nothing is not one. Raises `Conflict` if another document has the source path."""
        ...

    def delete_document(self, ref: Ref, *, expected_version: int | None, now: datetime) -> DeletedDocument: ...

    def delete_everything(self, *, now: datetime) -> Cleared:
        """Delete all documents, cancel all unfinished jobs and forget what any job was given.

        A large base may be cleared in several transactions, each of which deletes whole documents; documents
        that are added before the last transaction are deleted too.
        """
        ...

    def is_original_in_use(self, original: str) -> bool: ...
