"""Making anew what is derived, while others go on searching."""

from collections.abc import Collection
from datetime import datetime
from typing import Protocol

from kb.engine.model import Claim, DocumentId, IndexedText, IndexSource, Job


class Reindexing(Protocol):
    def adopt_model(self, *, now: datetime) -> bool:
        """Make this store's model the one that all workers must have, and see to it that every document gets vectors
        of it: by a job, unless all have them, which is what is returned."""
        ...

    def add_reindex(self, *, now: datetime) -> Job:
        """Queue a job that makes everything derived anew, or return the one that is doing it."""
        ...

    def has_whole_vectors(self) -> bool:
        """Whether it can search by vectors: all documents have once had some of this store's model, and they are at
        hand."""
        ...

    def list_documents_to_index(self, source: IndexSource, *, after: DocumentId, limit: int) -> list[DocumentId]:
        """The documents with greater ids that such a job has to do, by id."""
        ...

    def count_documents_to_index(self, source: IndexSource, *, after: DocumentId) -> int: ...

    def replace_text(self, claim: Claim, document_id: DocumentId, text: IndexedText, *, expected_version: int) -> None:
        """Give a document new chunks without changing it; the job need not come back to it."""
        ...

    def complete_reindex(self, claim: Claim, *, unreadable: Collection[DocumentId], now: datetime) -> bool:
        """Complete the job and search by vectors from now on; False, and no change, if documents are left to do
        other than those that are unreadable."""
        ...
