"""All vectors of one moment, as a search uses them: those in files, if there are any, and those in memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from kb.engine.model import NO_BACKGROUND, Ids, LoadedVectors, Mask, Matches, Vector, VectorMatches, Vectors
from kb.engine.storage.sqlite.vectors.coded import CodedRows
from kb.engine.storage.sqlite.vectors.exact import ExactRows
from kb.engine.storage.sqlite.vectors.nearest import join_backgrounds

SomeRows: TypeAlias = CodedRows | ExactRows

NO_VECTORS = np.empty((0, 0), np.float32)


@dataclass(frozen=True)
class Snapshot:
    coded: CodedRows | None
    exact: ExactRows

    @property
    def parts(self) -> tuple[SomeRows, ...]:
        return (self.exact,) if self.coded is None else (self.coded, self.exact)

    def search(self, vector: Vector, allow: Callable[[SomeRows], Mask], *, limit: int) -> VectorMatches:
        """The nearest of the allowed rows, best first; equal ones by chunk."""
        background = NO_BACKGROUND
        found: list[tuple[npt.NDArray[Any], ...]] = []
        for part in self.parts:
            nearest = part.find_nearest(vector, allow(part), limit=limit)
            names = (part.chunk_ids, part.document_ids, part.ordinals)
            found.append((*(column[nearest.rows] for column in names), nearest.scores))
            background = join_backgrounds(background, nearest.background)
        chunk_ids, document_ids, ordinals, scores = map(np.concatenate, zip(*found, strict=True))
        order = np.lexsort((chunk_ids, -scores))[:limit]
        matches = Matches(chunk_ids[order], document_ids[order], ordinals[order], scores[order].astype(np.float64))
        return VectorMatches(matches, background)

    def load(self, chunk_ids: Ids) -> LoadedVectors:
        """The vectors of just these chunks, in this order; those without one are left out."""
        places, vectors = list[Ids](), list[Vectors]()
        for part in self.parts:
            rows = np.searchsorted(part.chunk_ids, chunk_ids)
            known = rows < part.count
            known[known] &= (part.chunk_ids[rows[known]] == chunk_ids[known]) & part.is_alive[rows[known]]
            if known.any():
                places.append(np.flatnonzero(known))
                vectors.append(part.read(rows[known]))
        if not vectors:
            return LoadedVectors(chunk_ids[:0], NO_VECTORS)
        if len(vectors) == 1:
            # Nearly always; they need not be copied.
            return LoadedVectors(chunk_ids[places[0]], vectors[0])
        order = np.argsort(np.concatenate(places))
        return LoadedVectors(chunk_ids[np.concatenate(places)[order]], np.concatenate(vectors)[order])
