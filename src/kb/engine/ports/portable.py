"""Whole documents, on their way from base to base."""

from datetime import datetime
from typing import Protocol

from kb.engine.model import DocumentId, Vectors
from kb.engine.model.portable import Arrived, PortableChunk, PortableDocument, PortableHead, PortableRevision


class Portable(Protocol):
    def find_portable(self, *, after: DocumentId) -> PortableHead | None:
        """The document with the next greater id; None if there is none."""
        ...

    def list_portable_revisions(self, document_id: DocumentId, *, after: int) -> list[PortableRevision]:
        """The next revisions after that version, in order; few enough for the memory."""
        ...

    def list_portable_chunks(self, document_id: DocumentId, *, offset: int) -> list[PortableChunk]:
        """The next chunks, in order; few enough for the memory."""
        ...

    def read_portable_vectors(self, document_id: DocumentId, *, offset: int) -> Vectors:
        """The vectors of the next chunks, in order; few enough for the memory."""
        ...

    def add_portable(self, document: PortableDocument, *, now: datetime) -> Arrived:
        """Add a document as it was elsewhere, or put it in the place of an earlier version of itself."""
        ...
