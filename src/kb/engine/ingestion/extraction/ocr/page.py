"""From a picture to the text on it, as a person would read it out.

Lines are found in a small copy of the picture and read in the picture itself. The longest are read first: they tell
which way is up, and how wide the print must be to be read.
"""

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import cv2
from PIL import Image

from kb.engine.ingestion.extraction.ocr.columns import split_at_gutters
from kb.engine.ingestion.extraction.ocr.detector import Detector, runs_down
from kb.engine.ingestion.extraction.ocr.greys import Grey, to_grey
from kb.engine.ingestion.extraction.ocr.layout import arrange
from kb.engine.ingestion.extraction.ocr.lines import Box, Line
from kb.engine.ingestion.extraction.ocr.orientation import find_quarter_turns, straighten, turn
from kb.engine.ingestion.extraction.ocr.reading import Reading
from kb.engine.ingestion.extraction.ocr.recogniser import Recogniser, Wording, choose_stretch

_SAMPLE_LINES = 4
_LEAST_PIXELS = 4
# Less sure lines are rather a texture or a drawing than print; a leaf or an eye passes for one letter more easily.
_LEAST_CONFIDENCE = 0.5
_SHORT_CHARACTERS = 3
_LEAST_CONFIDENCE_IF_SHORT = 0.85
# What a picture must say to have said anything: one word or number, or many characters, or some that are beyond doubt.
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f]{3,}|\d{2,}")
_FEW_CHARACTERS = 12
_LEAST_CONFIDENCE_IF_FEW = 0.95


class PageReader:
    """Loads the models once, and starts all threads: later, when a page is read, none can be started."""

    def __init__(self, *, threads: int) -> None:
        # OpenCV would start threads with the first picture, when they are refused. A page takes no longer without them.
        cv2.setNumThreads(1)
        self._detector = Detector(threads=threads)
        self._recogniser = Recogniser()
        self._pool = ThreadPoolExecutor(threads)
        # The pool starts a thread only for work that finds no idle thread. The barrier keeps all of them busy.
        all_are_there = Barrier(threads)
        list(self._pool.map(lambda _: all_are_there.wait(), range(threads)))

    def read(self, picture: Image.Image) -> Reading:
        grey = to_grey(picture)
        slanted = self._detector.find_lines(grey)
        if not slanted:
            return Reading("", 0.0)
        page, boxes = straighten(grey, slanted)
        boxes = sorted(boxes, key=lambda box: max(box.width, box.height), reverse=True)
        sample = [_crop(page, box) for box in boxes[:_SAMPLE_LINES]]
        turns, wordings = find_quarter_turns(sample, self._recogniser.read, runs_down=runs_down(slanted))
        page, boxes = turn(page, boxes, turns)
        lines = _drop_chance_finds(self._read_lines(page, boxes, dict(zip(boxes, wordings, strict=False))))
        length = sum(len(line.text) for line in lines)
        if not length:
            return Reading("", 0.0)
        return Reading(arrange(lines), sum(line.confidence * len(line.text) for line in lines) / length)

    def _read_lines(self, page: Grey, boxes: Sequence[Box], known: Mapping[Box, Wording]) -> list[Line]:
        """Those that are legible. What is known already is not read again, unless it is in doubt."""
        stretch = choose_stretch(known.values())

        def read(box: Box) -> Line:
            wording = self._recogniser.improve(known.get(box), _crop(page, box), stretch)
            return Line(box, wording.text, wording.confidence)

        return [line for line in self._pool.map(read, split_at_gutters(boxes, page)) if _is_legible(line)]


def _drop_chance_finds(lines: list[Line]) -> list[Line]:
    """The lines, unless there are so few letters, and no word among them, that a drawing or a face may look like it."""
    if sum(len(line.text) for line in lines) > _FEW_CHARACTERS or any(_WORD.search(line.text) for line in lines):
        return lines
    return [line for line in lines if len(line.text) > 1 and line.confidence >= _LEAST_CONFIDENCE_IF_FEW]


def _is_legible(line: Line) -> bool:
    is_short = len(line.text) <= _SHORT_CHARACTERS
    least = _LEAST_CONFIDENCE_IF_SHORT if is_short else _LEAST_CONFIDENCE
    return line.text != "" and line.confidence >= least


def _crop(page: Grey, box: Box) -> Grey:
    """What is in the box, and a little more if that is next to nothing."""
    height, width = page.shape
    left = min(max(0, round(box.left)), max(0, width - _LEAST_PIXELS))
    top = min(max(0, round(box.top)), max(0, height - _LEAST_PIXELS))
    return page[top : max(top + _LEAST_PIXELS, round(box.bottom)), left : max(left + _LEAST_PIXELS, round(box.right))]
