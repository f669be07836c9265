"""What a search may find, and what it finds."""

from dataclasses import dataclass, field
from datetime import date

from kb.engine.model.documents import Chunk, Document
from kb.engine.model.naming import ChunkId, DocumentId, Metadata


@dataclass(frozen=True)
class Scope:
    """What a search may find: documents by their properties, chunks by phrases they must or must not hold."""

    tags: tuple[str, ...] = ()
    format: str | None = None
    doc_type: str | None = None
    source_path: str | None = None
    created_from: date | None = None
    created_to: date | None = None
    metadata: Metadata = field(default_factory=dict)
    required: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()

    @property
    def limits_documents(self) -> bool:
        single = (self.format, self.doc_type, self.source_path, self.created_from, self.created_to)
        return bool(self.tags or self.metadata) or any(value is not None for value in single)


EVERYWHERE = Scope()


@dataclass(frozen=True)
class Match:
    """A chunk found by one method, with that method's score."""

    chunk_id: ChunkId
    document_id: DocumentId
    ordinal: int
    score: float


@dataclass(frozen=True)
class KeywordMatches:
    matches: list[Match]
    best_possible: float
    """The score a chunk would get that is about nothing but the query's words: makes scores comparable."""


@dataclass(frozen=True)
class Background:
    """The scores of all chunks that were looked at, found or not: what a good one stands out from."""

    mean: float
    deviation: float
    count: int


@dataclass(frozen=True)
class VectorMatches:
    matches: list[Match]
    background: Background


@dataclass(frozen=True)
class FoundChunk:
    chunk: Chunk
    document: Document
