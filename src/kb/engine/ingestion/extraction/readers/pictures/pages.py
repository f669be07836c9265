"""Picture files as they are shown to people: upright, no larger than they are, and a TIFF page by page."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image

from kb.engine.ingestion.extraction.readers.pictures.frames import FRAME_FORMATS, list_pages
from kb.engine.ingestion.extraction.readers.shared.paper import fit, render_png
from kb.engine.ingestion.extraction.readers.shared.pixels import open_picture, take_pixels


def open_pages(path: Path) -> "_Pages":
    with open_picture(path, FRAME_FORMATS) as picture:
        return _Pages(path, list_pages(picture))


class _Pages:
    def __init__(self, path: Path, names: list[str]) -> None:
        self._path = path
        self._names = names

    def __len__(self) -> int:
        return len(self._names)

    def __getitem__(self, index: int) -> "_Page":
        return _Page(self._path, frame=int(self._names[index]) - 1)


class _Page:
    def __init__(self, path: Path, frame: int) -> None:
        self._path = path
        self._frame = frame

    def read(self) -> str:
        """Where its words stand nobody has kept."""
        return ""

    def draw(self, width: int, _stretches: Sequence[tuple[int, int]]) -> bytes:
        with open_picture(self._path, FRAME_FORMATS) as picture:
            picture.seek(self._frame)
            # A photograph is decoded no larger than it will be shown, whichever of its sides lies across.
            picture.draft(None, (width, width))
            pixels = take_pixels(picture)
        size = fit(pixels.size, min(width, pixels.width))
        return render_png(pixels if size == pixels.size else pixels.resize(size, Image.Resampling.LANCZOS))
