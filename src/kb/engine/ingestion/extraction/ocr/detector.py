"""Finds the lines of print in a picture, whichever way they run.

How large the print is, is not known before some is found. So the first look at a large picture is at the busiest part
of it: the lines there tell how small a copy of the whole will do. If the lines in that are tiny or huge nevertheless,
another look is at a copy in which they are not. A copy is looked at in bands, so that no picture takes more memory than
another, and is only so large that all of it is looked at.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import cv2
import numpy as np

from kb.engine.ingestion.extraction.ocr.bands import cut_into_bands
from kb.engine.ingestion.extraction.ocr.greys import Grey
from kb.engine.ingestion.extraction.ocr.models import DETECTION, open_model

# The shorter side of a copy that shows print of common size: A4 then has 116 dots per inch.
_FIRST_SIDE = 960
# The busiest part has a side of so many blocks, each of so many pixels.
_BLOCK = 32
_BUSY_BLOCKS = 16
# Fewer may be chance, and in a large copy large letters elsewhere are overlooked.
_ENOUGH_LINES = 3
# About 0.4 seconds and 300 MB.
_BAND_PIXELS = 1_500_000
# A band may be a third shorter than it could be: so many are enough for a copy of so many pixels, unless it is thin as
# a hair, and nearly all margin.
_MOST_BANDS = 40
_MOST_PIXELS = 25 * _BAND_PIXELS
# Shades that paper may differ by.
_BLANK = 16
# On more paper the network overlooks a few words.
_PAPER_AROUND = 64
_LEAST_SIDE = 6
_SMALL_SIDE = 120
_MOST_ENLARGED = 2.0
# Letters as large as the picture are only seen in a copy that is so much smaller.
_AFAR = 4
# Of lines, as they are seen. Those that are too high are seen as several, or not at all.
_TINY_HEIGHT, _GOOD_HEIGHT, _HUGE_HEIGHT = 11, 18, 200
_MARGIN = 32
_STRIDE = 32

# How sure the network must be of a pixel, and of those of a line on average.
_SURE_OF_PIXEL = 0.3
_SURE_OF_LINE = 0.5
_THINNEST = 3
# The network marks the heart of a line. Its area by its circumference, so many times, is what is missing around.
_MISSING_AROUND = 1.6
# More than a page of a newspaper has; patterns and foliage may look like more.
_MOST_LINES = 4_000


@dataclass(frozen=True)
class Slanted:
    """A rectangle around a line, in pixels of the picture."""

    x: float
    y: float
    """Its middle."""
    width: float
    height: float
    angle: float
    """In degrees, from -45 to 45; positive if it falls to the right."""

    @property
    def is_tall(self) -> bool:
        return self.height > self.width * 1.5

    @property
    def length(self) -> float:
        return max(self.width, self.height)


def runs_down(lines: Sequence[Slanted]) -> bool:
    """Whether most of the print runs down or up the picture, not across."""
    down = sum(line.length for line in lines if line.is_tall)
    return down > sum(line.length for line in lines) / 2


def _find_tallness(lines: Sequence[Slanted]) -> float:
    return float(np.median([min(line.width, line.height) for line in lines]))


class Detector:
    def __init__(self, *, threads: int) -> None:
        self._model = open_model(DETECTION, threads=threads)

    def find_lines(self, grey: Grey) -> list[Slanted]:
        height, width = grey.shape
        if min(height, width) < _LEAST_SIDE:
            return []
        largest = _find_largest_scale(grey)
        across = 0 if height >= width else 1
        for scale in self._choose_scales(grey, largest):
            lines = self._look(grey, scale, axis=across)
            if lines:
                break
        else:
            return []
        tallness = scale * _find_tallness(lines)
        if _TINY_HEIGHT <= tallness <= _HUGE_HEIGHT:
            return lines
        better = min(largest, scale * _GOOD_HEIGHT / tallness)
        return self._look(grey, better, axis=1 if runs_down(lines) else 0) or lines

    def _choose_scales(self, grey: Grey, largest: float) -> list[float]:
        """Those of the copies to look at, one after the other, until one shows print."""
        shorter = min(grey.shape)
        if shorter <= _FIRST_SIDE:
            scale = min(largest, 1.0 if shorter > _SMALL_SIDE else _MOST_ENLARGED)
            return [scale, scale / _AFAR]
        scale = _FIRST_SIDE / shorter
        lines = self._look_at_band(_find_busiest(grey), 1.0, 0, 0)
        near = max(scale, min(1.0, largest, _GOOD_HEIGHT / _find_tallness(lines))) if lines else scale
        first = near if len(lines) >= _ENOUGH_LINES else scale
        return [*sorted({first, near}), scale / _AFAR]

    def _look(self, grey: Grey, scale: float, *, axis: int) -> list[Slanted]:
        longest = max(1, int(_BAND_PIXELS / _to_canvas(grey.shape[1 - axis], scale) / scale))
        lines: list[Slanted] = []
        for start, end in islice(cut_into_bands(grey, longest=longest, axis=axis), _MOST_BANDS):
            band = grey[start:end] if axis == 0 else grey[:, start:end]
            rows, columns = _find_marked(band)
            if rows.stop == 0:
                continue
            left, top = (0, start) if axis == 0 else (start, 0)
            lines += self._look_at_band(band[rows, columns], scale, left + columns.start, top + rows.start)
            if len(lines) > _MOST_LINES:
                return lines[:_MOST_LINES]
        return lines

    def _look_at_band(self, band: Grey, scale: float, left: int, top: int) -> list[Slanted]:
        canvas = _put_on_canvas(band, scale)
        seen = canvas.astype(np.float32) / 127.5 - 1
        certainty = self._model.run(None, {"x": np.broadcast_to(seen, (1, 3, *seen.shape))})[0][0, 0]
        return [
            Slanted(
                left + (line.x - _MARGIN) / scale,
                top + (line.y - _MARGIN) / scale,
                line.width / scale,
                line.height / scale,
                line.angle,
            )
            for line in _outline(certainty)
        ]


def _find_largest_scale(grey: Grey) -> float:
    """Up to which all of the picture is looked at."""
    height, width = (length + 2 * _MARGIN + _STRIDE for length in grey.shape)
    return min(_MOST_ENLARGED, math.sqrt(_MOST_PIXELS / (height * width)))


def _find_busiest(grey: Grey) -> Grey:
    """The part in which light and dark change most: where the print is smallest, if there is any."""
    rows, columns = (length // _BLOCK for length in grey.shape)
    changes = cv2.absdiff(grey[:, 1:], grey[:, :-1])
    blocks = cv2.resize(changes, (columns, rows), interpolation=cv2.INTER_AREA).astype(np.float32)
    around = cv2.blur(blocks, (_BUSY_BLOCKS, _BUSY_BLOCKS), borderType=cv2.BORDER_REFLECT)
    row, column = np.unravel_index(np.argmax(around), around.shape)
    top, left = (max(0, (int(block) - _BUSY_BLOCKS // 2) * _BLOCK) for block in (row, column))
    side = _BUSY_BLOCKS * _BLOCK
    return grey[top : top + side, left : left + side]


def _find_marked(band: Grey) -> tuple[slice, slice]:
    """The rows and columns of all that is not mere paper, and a little around it; none of a blank band."""
    left, top, width, height = cv2.boundingRect((band <= int(band.max()) - _BLANK).astype(np.uint8))
    if width == 0:
        return slice(0, 0), slice(0, 0)
    rows = slice(max(0, top - _PAPER_AROUND), top + height + _PAPER_AROUND)
    return rows, slice(max(0, left - _PAPER_AROUND), left + width + _PAPER_AROUND)


def _put_on_canvas(band: Grey, scale: float) -> Grey:
    """Scaled, with a margin of the picture's own colour: letters at the very edge are overlooked."""
    height = max(1, round(band.shape[0] * scale))
    width = max(1, round(band.shape[1] * scale))
    edge = np.concatenate([band[0], band[-1], band[:, 0], band[:, -1]])
    canvas = np.full([_to_canvas(length, scale) for length in band.shape], np.median(edge), dtype=np.uint8)
    by = cv2.INTER_AREA if scale < 1 else cv2.INTER_CUBIC
    canvas[_MARGIN : _MARGIN + height, _MARGIN : _MARGIN + width] = cv2.resize(band, (width, height), interpolation=by)
    return canvas


def _to_canvas(length: int, scale: float) -> int:
    return math.ceil((length * scale + 2 * _MARGIN) / _STRIDE) * _STRIDE


def _outline(certainty: np.ndarray) -> list[Slanted]:
    marked = cv2.dilate((certainty > _SURE_OF_PIXEL).astype(np.uint8), np.ones((2, 2), dtype=np.uint8))
    outlines, _ = cv2.findContours(marked, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    lines = []
    for outline in outlines:
        (x, y), (width, height), angle = cv2.minAreaRect(outline)
        if min(width, height) < _THINNEST or _mean_inside(certainty, outline) < _SURE_OF_LINE:
            continue
        around = _MISSING_AROUND * width * height / (width + height)
        width, height, angle = _lay_flat(width + around, height + around, angle)
        lines.append(Slanted(x, y, width, height, angle))
    return lines


def _mean_inside(certainty: np.ndarray, outline: np.ndarray) -> float:
    left, top, width, height = cv2.boundingRect(outline)
    inside = np.zeros((height, width), dtype=np.uint8)
    cv2.drawContours(inside, [outline - (left, top)], 0, 1, thickness=cv2.FILLED)
    return cv2.mean(certainty[top : top + height, left : left + width], mask=inside)[0]


def _lay_flat(width: float, height: float, angle: float) -> tuple[float, float, float]:
    """The same rectangle, told by an angle from -45 to 45 degrees. Which one the library tells is not promised."""
    angle = (angle + 90) % 180 - 90
    if angle > 45:
        return height, width, angle - 90
    if angle < -45:
        return height, width, angle + 90
    return width, height, angle
