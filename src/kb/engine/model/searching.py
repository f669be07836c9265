"""What a search may find, and what it finds."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Self

import numpy as np

from kb.engine.model.arrays import Ids, Scores, Vectors
from kb.engine.model.documents import Chunk, Document
from kb.engine.model.naming import Metadata


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


@dataclass(frozen=True, eq=False)
class Matches:
    """Chunks found by one method, with its scores: best first, equal ones by chunk.

    A chunk is a place in each of the arrays. There are hundreds in every search, of which a page is wanted.
    """

    chunk_ids: Ids
    document_ids: Ids
    ordinals: Ids
    scores: Scores

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[Any, ...]]) -> Self:
        """Of rows with the id of a chunk, that of its document, its ordinal and its score."""
        chunk_ids, document_ids, ordinals, scores = tuple(zip(*rows, strict=True)) or ((), (), (), ())
        return cls(
            np.array(chunk_ids, np.int64),
            np.array(document_ids, np.int64),
            np.array(ordinals, np.int64),
            np.array(scores, np.float64),
        )

    def __len__(self) -> int:
        return len(self.chunk_ids)


NO_MATCHES = Matches.of_rows([])


@dataclass(frozen=True)
class KeywordMatches:
    matches: Matches
    best_possible: float
    """The score a chunk would get that is about nothing but the query's words: makes scores comparable."""


@dataclass(frozen=True)
class Background:
    """The scores of all chunks that were looked at, found or not: what a good one stands out from."""

    mean: float
    deviation: float
    count: int


NO_BACKGROUND = Background(mean=0.0, deviation=0.0, count=0)


@dataclass(frozen=True)
class VectorMatches:
    matches: Matches
    background: Background


@dataclass(frozen=True, eq=False)
class LoadedVectors:
    """Chunks, and in the same places the vectors they have."""

    chunk_ids: Ids
    matrix: Vectors


@dataclass(frozen=True)
class FoundChunk:
    chunk: Chunk
    document: Document
