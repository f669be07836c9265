"""An SVG as it is shown to people. Its words are in the fonts of the system; where there are none, they are missing."""

from collections.abc import Sequence
from pathlib import Path

from kb.engine.ingestion.extraction.readers.pictures.svg_drawing import draw
from kb.engine.ingestion.extraction.readers.shared.paper import fit


def open_pages(path: Path) -> list["_Page"]:
    return [_Page(path)]


class _Page:
    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> str:
        """Where its words come to stand only the renderer knows."""
        return ""

    def draw(self, width: int, _stretches: Sequence[tuple[int, int]]) -> bytes:
        return draw(self._path, lambda *size: fit(size, width), skip_system_fonts=False)
