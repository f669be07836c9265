"""Reads one line of print.

The network sees a line 48 pixels high and gives, for every 8 pixels of its width, the likeliest character, or none. It
takes time by the pixel, and a character needs about one and a half such steps: with more, time is wasted, and with
less, letters are lost. So a page's own print tells how much its lines are squeezed or stretched.

Several lines at a time are not faster (with one thread: they leave the processor's cache) and take more memory.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

import cv2
import numpy as np

from kb.engine.ingestion.extraction.ocr.bands import cut_into_bands
from kb.engine.ingestion.extraction.ocr.greys import Grey
from kb.engine.ingestion.extraction.ocr.models import RECOGNITION, open_model

_HEIGHT = 48
_STEP = 8
_NARROWEST = 32
# About 0.4 seconds and 400 MB.
_WIDEST = 4_000
# Some 1,200 characters. What is longer yet is rather a rule than a line, and is squeezed.
_MOST_PIECES = 4
_NONE = 0

# For each character. With 1.45, two words in a hundred of blurred print were lost; with 1.6, none.
_ENOUGH_STEPS = 1.6
_TOO_FEW_STEPS = 1.4
# Ideographs take as many at their natural width, and have more in them than letters.
_IDEOGRAPHIC_STEPS = 3.0
_MOST_SQUEEZED, _MOST_STRETCHED = 0.6, 1.5
_UNSURE = 0.9
_STRETCHED_FURTHER = 1.3


@dataclass(frozen=True)
class Wording:
    text: str
    confidence: float
    steps: float
    """That the network had for each character."""

    @property
    def is_doubtful(self) -> bool:
        return self.text != "" and (self.confidence < _UNSURE or self.steps < _TOO_FEW_STEPS)


def choose_stretch(sample: Iterable[Wording]) -> float:
    """For the lines of a page of which these were read at their natural width."""
    steps = [wording.steps for wording in sample if wording.confidence >= _UNSURE]
    if not steps or median(steps) > _IDEOGRAPHIC_STEPS:
        return 1.0
    return min(_MOST_STRETCHED, max(_MOST_SQUEEZED, _ENOUGH_STEPS / median(steps)))


class Recogniser:
    """May be used by several threads at once: each reads a line, which is faster than all reading the same."""

    def __init__(self) -> None:
        self._model = open_model(RECOGNITION, threads=1)
        characters = self._model.get_modelmeta().custom_metadata_map["character"].split("\n")
        self._characters = np.array(["", *characters, " "])

    def read(self, line: Grey, stretch: float = 1.0) -> Wording:
        """The line is upright, and not empty."""
        width = min(round(line.shape[1] * stretch * _HEIGHT / line.shape[0]), _MOST_PIECES * _WIDEST)
        if width <= _WIDEST:
            return self._read(line, width)
        longest = max(1, line.shape[1] * _WIDEST // width)
        pieces = [
            self._read(line[:, start:end], _WIDEST * (end - start) // longest)
            for start, end in cut_into_bands(line, longest=longest, axis=1)
        ]
        return _join(pieces)

    def improve(self, wording: Wording | None, line: Grey, stretch: float) -> Wording:
        """What it is already known to say; or, if that is nothing or in doubt, the surest of what it says."""
        wording = wording or self.read(line, stretch)
        if not wording.is_doubtful:
            return wording
        return max(wording, self.read(line, max(1.0, stretch) * _STRETCHED_FURTHER), key=lambda read: read.confidence)

    def _read(self, line: Grey, width: int) -> Wording:
        width = max(_NARROWEST, width)
        by = cv2.INTER_AREA if line.shape[0] > _HEIGHT else cv2.INTER_CUBIC
        seen = cv2.resize(line, (width, _HEIGHT), interpolation=by).astype(np.float32) / 127.5 - 1
        likelihoods = self._model.run(None, {"x": np.broadcast_to(seen, (1, 3, _HEIGHT, width))})[0][0]
        likeliest = likelihoods.argmax(axis=1)
        # The same twice in a row is one character: between two there is a step with none.
        begins = np.flatnonzero((likeliest != _NONE) & (np.diff(likeliest, prepend=_NONE) != 0))
        if begins.size == 0:
            return Wording("", 0.0, 0.0)
        text = "".join(self._characters[likeliest[begins]]).strip()
        confidence = float(likelihoods[begins, likeliest[begins]].mean())
        return Wording(text, confidence, width / _STEP / begins.size)


def _join(pieces: list[Wording]) -> Wording:
    pieces = [piece for piece in pieces if piece.text]
    length = sum(len(piece.text) for piece in pieces)
    if not length:
        return Wording("", 0.0, 0.0)
    return Wording(
        " ".join(piece.text for piece in pieces),
        sum(piece.confidence * len(piece.text) for piece in pieces) / length,
        sum(piece.steps * len(piece.text) for piece in pieces) / length,
    )
