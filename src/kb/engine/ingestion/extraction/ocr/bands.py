"""Cuts what is too long to be looked at in one go where it hurts least: through a gap between lines, or words."""

from collections.abc import Iterator

import cv2
import numpy as np

from kb.engine.ingestion.extraction.ocr.greys import Grey

# The middle of a gap of so many pixels is emptier than its edge.
_GAP_PIXELS = 9


def cut_into_bands(grey: Grey, *, longest: int, axis: int) -> Iterator[tuple[int, int]]:
    """Where each begins and ends along the axis (0: rows, 1: columns). They follow one another without a gap, and none
    is longer than `longest`."""
    length = grey.shape[axis]
    start = 0
    while length - start > longest:
        end = _find_emptiest(grey, start + max(1, longest * 2 // 3), start + longest, axis=axis)
        yield start, end
        start = end
    yield start, length


def _find_emptiest(grey: Grey, first: int, last: int, *, axis: int) -> int:
    """Print changes from dark to light along its line; paper, of whatever colour, does not."""
    window = grey[first : last + 1] if axis == 0 else grey[:, first : last + 1].T
    if window.shape[1] < 2:
        return last
    changes = cv2.absdiff(window[:, 1:], window[:, :-1]).sum(axis=1, dtype=np.float64)
    return first + int(np.argmin(cv2.blur(changes.reshape(-1, 1), (1, _GAP_PIXELS))))
