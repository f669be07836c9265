"""How things are named, and what several of them share."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PureWindowsPath
from typing import Any, Generic, NewType, TypeAlias, TypeVar
from uuid import UUID

from kb.control_characters import without_control_characters

DocumentId = NewType("DocumentId", int)
ChunkId = NewType("ChunkId", int)
JobId = NewType("JobId", int)

Ref: TypeAlias = int | UUID
"""Documents and jobs have two names, a small integer and a UUID; callers may use either."""

Metadata: TypeAlias = Mapping[str, Any]
"""JSON that belongs to the user; the engine stores and filters it but never looks inside."""

Row = TypeVar("Row")

UNNAMED = "unnamed"
C0 = re.compile(r"[\x00-\x1f]")


@dataclass(frozen=True)
class Page(Generic[Row]):
    rows: list[Row]
    total: int


def filename_in(path: str) -> str:
    """The last part of whatever path a client sent: a name for people, never a place on disk."""
    name = without_controls(PureWindowsPath(path).name).strip()
    # A name of dots alone would be a place after all.
    return name[-255:] if name.strip(".") else UNNAMED


def without_controls(name: str) -> str:
    """The name without control characters, which could make it look like another. Files on disk may have them."""
    return C0.sub("", without_control_characters(name))
