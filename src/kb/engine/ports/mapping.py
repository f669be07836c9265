"""Where documents lie on the map."""

from typing import Protocol

from kb.engine.model import DocumentId, Ids, Layout, Map, Placement, Vector


class DocumentMap(Protocol):
    def read_map(self, *, limit: int) -> Map:
        """Those documents that have a place on it, most recent first."""
        ...

    def read_layout(self) -> Layout: ...

    def load_document_vectors(self, document_ids: Ids) -> dict[DocumentId, Vector]:
        """Of those that have vectors: the direction in which their chunks lie on the whole, a unit vector each."""
        ...

    def place_documents(self, placement: Placement) -> None:
        """Write down where documents lie; those that are gone, or have other vectors by now, are left out.

        Does nothing if they have been laid out by somebody else meanwhile.
        """
        ...
