"""Stands a page upright: the quarter of a turn that it was laid down by, and the few degrees that it was skewed."""

import math
from collections.abc import Callable, Sequence

import numpy as np
from PIL import Image

from kb.engine.ingestion.extraction.ocr.detector import Slanted
from kb.engine.ingestion.extraction.ocr.greys import Grey
from kb.engine.ingestion.extraction.ocr.lines import Box
from kb.engine.ingestion.extraction.ocr.recogniser import Wording

# Less does not make a line leave its box, and to turn a page blurs it.
_LEAST_SKEW = 0.3
_PAPER = 255
# Upright print is read with 0.95 and more, the same upside down with 0.7.
_SURE = 0.85
_LEGIBLE = 0.6


def find_skew(lines: Sequence[Slanted]) -> float:
    """The angle of the page in degrees: that of its lines' median, in which long ones count for more."""
    weights = np.array([line.length**2 for line in lines])
    angles = np.array([line.angle for line in lines])
    order = np.argsort(angles)
    middle = np.searchsorted(np.cumsum(weights[order]), weights.sum() / 2)
    return float(angles[order][min(int(middle), len(lines) - 1)])


def straighten(grey: Grey, lines: Sequence[Slanted]) -> tuple[Grey, list[Box]]:
    """The page without its skew, larger so that no corner is lost, and its lines' boxes there."""
    skew = find_skew(lines)
    if abs(skew) < _LEAST_SKEW:
        return grey, [_bound(line, line.x, line.y, line.angle) for line in lines]
    straight = np.asarray(Image.fromarray(grey).rotate(skew, Image.Resampling.BICUBIC, expand=True, fillcolor=_PAPER))
    sine, cosine = math.sin(math.radians(skew)), math.cos(math.radians(skew))
    boxes = []
    for line in lines:
        x, y = line.x - grey.shape[1] / 2, line.y - grey.shape[0] / 2
        right, down = x * cosine + y * sine, y * cosine - x * sine
        boxes.append(_bound(line, right + straight.shape[1] / 2, down + straight.shape[0] / 2, line.angle - skew))
    return straight, boxes


def _bound(line: Slanted, x: float, y: float, angle: float) -> Box:
    sine, cosine = abs(math.sin(math.radians(angle))), abs(math.cos(math.radians(angle)))
    across = (line.width * cosine + line.height * sine) / 2
    down = (line.width * sine + line.height * cosine) / 2
    return Box(x - across, y - down, x + across, y + down)


def find_quarter_turns(
    crops: Sequence[Grey], read: Callable[[Grey], Wording], *, runs_down: bool
) -> tuple[int, list[Wording]]:
    """How often these lines must be turned to the left by a quarter to be read with most confidence, and what they say
    then. What their direction speaks against is tried only if they make no sense otherwise."""
    best, best_turns, best_wordings = -1.0, 0, []
    for both_ways in ((1, 3), (0, 2)) if runs_down else ((0, 2), (1, 3)):
        for turns in both_ways:
            wordings = [read(np.rot90(crop, turns)) for crop in crops]
            confidence = sum(wording.confidence for wording in wordings) / len(wordings)
            if confidence > best:
                best, best_turns, best_wordings = confidence, turns, wordings
            if best >= _SURE:
                return best_turns, best_wordings
        if best >= _LEGIBLE:
            break
    return best_turns, best_wordings


def turn(grey: Grey, boxes: Sequence[Box], quarters: int) -> tuple[Grey, list[Box]]:
    """Both, turned to the left."""
    turned = list(boxes)
    for done in range(quarters):
        width = grey.shape[1 - done % 2]
        turned = [Box(box.top, width - box.right, box.bottom, width - box.left) for box in turned]
    return np.ascontiguousarray(np.rot90(grey, quarters)), turned
