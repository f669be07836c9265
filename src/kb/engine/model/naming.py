"""How things are named, and what several of them share."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NewType, TypeAlias, TypeVar
from uuid import UUID

import numpy as np
import numpy.typing as npt

DocumentId = NewType("DocumentId", int)
ChunkId = NewType("ChunkId", int)
JobId = NewType("JobId", int)

Ref: TypeAlias = int | UUID
"""Documents and jobs have two names, a small integer and a UUID; callers may use either."""

Vector: TypeAlias = npt.NDArray[np.float32]
Vectors: TypeAlias = npt.NDArray[np.float32]
Metadata: TypeAlias = Mapping[str, Any]
"""JSON that belongs to the user; the engine stores and filters it but never looks inside."""

Row = TypeVar("Row")


@dataclass(frozen=True)
class Page(Generic[Row]):
    rows: list[Row]
    total: int
