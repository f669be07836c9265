"""What a check of the base goes through, and what it finds."""

import operator
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from kb.engine.model.naming import DocumentId


class DamageKind(StrEnum):
    STRUCTURE = "structure"
    DOCUMENT = "document"
    NOTE = "note"
    REVISION = "revision"
    JOB = "job"
    ORIGINAL = "original"
    CHUNK = "chunk"
    COUNT = "count"
    VECTOR = "vector"
    FULL_TEXT = "full_text"


DERIVED = frozenset({DamageKind.CHUNK, DamageKind.COUNT, DamageKind.VECTOR, DamageKind.FULL_TEXT})


@dataclass(frozen=True)
class Damage:
    kind: DamageKind
    document_id: DocumentId | None
    message: str
    """A sentence for a person. It holds no text of any document."""

    @property
    def is_derived(self) -> bool:
        """Whether it can be made anew from what is whole."""
        return self.kind in DERIVED


@dataclass(frozen=True)
class Checked:
    """How much was looked at."""

    documents: int = 0
    chunks: int = 0
    vectors: int = 0
    revisions: int = 0
    originals: int = 0
    bytes: int = 0
    """Of originals, texts and vectors."""

    def __add__(self, other: "Checked") -> "Checked":
        return Checked(*map(operator.add, vars(self).values(), vars(other).values()))


class CheckPart(StrEnum):
    """What is gone through one after the other, in this order."""

    STRUCTURE = "structure"
    DOCUMENTS = "documents"
    CHUNKS = "chunks"
    REVISIONS = "revisions"
    JOBS = "jobs"


@dataclass(frozen=True)
class CheckCursor:
    """Where a check goes on. By itself, where it begins."""

    part: CheckPart = CheckPart.STRUCTURE
    after: int = 0


@dataclass(frozen=True)
class UsedOriginal:
    name: str
    document_id: DocumentId | None
    """None if so far only a job refers to it."""


@dataclass(frozen=True)
class CheckedBatch:
    following: CheckCursor | None
    """None if this was the last."""
    checked: Checked
    damages: list[Damage]
    originals: list[UsedOriginal] = field(default_factory=list)
    """Those that these rows refer to and no earlier document does: still to be checked."""


@dataclass(frozen=True)
class Scrub:
    """How far the check in the background has come, and what the last one that came to its end has found."""

    cursor: CheckCursor | None = None
    """None if none is under way."""
    found: int = 0
    """By the one that is under way."""
    finished_at: datetime | None = None
    damage_count: int = 0
