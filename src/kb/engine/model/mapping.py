"""Where documents lie on the map of the base."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from kb.engine.model.arrays import Ids, Mask, Places
from kb.engine.model.naming import DocumentId


class MappedDocument(NamedTuple):
    """A document as a point of the map. A tuple, since there are thousands of them in an answer."""

    id: DocumentId
    uuid: UUID
    title: str
    doc_type: str
    format: str
    tags: tuple[str, ...]
    x: float
    y: float
    chunk_count: int
    created_at: datetime
    updated_at: datetime | None


@dataclass(frozen=True)
class Map:
    documents: list[MappedDocument]
    total: int
    """How many documents there are, placed or not."""
    placed: int
    is_whole: bool
    """Whether every document that has vectors has a place."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The documents that have vectors, by id, and in the same places of each array what the map knows of them."""

    number: int
    """Rises each time that all are laid out; 0 if they never were."""
    document_ids: Ids
    marks: Ids
    """Of the vectors that each has: with others it has another mark."""
    chunk_counts: Ids
    places: Places
    """NaN for one that has none."""
    is_current: Mask
    """Whether its place belongs to this layout and to the vectors that it has."""
    is_laid_out: Mask
    """Whether it is current and was found together with the others, not beside them."""


@dataclass(frozen=True, eq=False)
class Placement:
    """Places to be written down: each for the document with that mark."""

    layout: int
    document_ids: Ids
    marks: Ids
    places: Places
    is_laid_out: bool
