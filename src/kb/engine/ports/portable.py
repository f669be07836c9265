"""Whole documents, on their way from base to base."""

from datetime import datetime
from typing import Protocol

from kb.engine.model import DocumentId
from kb.engine.model.portable import Arrived, PortableDocument


class Portable(Protocol):
    def find_portable(self, *, after: DocumentId) -> PortableDocument | None:
        """The document with the next greater id and all that belongs to it, as of one moment; None if there is none."""
        ...

    def add_portable(self, document: PortableDocument, *, now: datetime) -> Arrived:
        """Add a document as it was elsewhere, or put it in the place of an earlier version of itself."""
        ...
