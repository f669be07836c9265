"""The pictures in a DOCX, PPTX or ODT file, by the names that they have in its archive."""

from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path

from PIL import Image

from kb.engine.ingestion.extraction.readers.shared.archive import open_archive
from kb.engine.ingestion.extraction.readers.shared.pixels import decode


def open_pictures(path: Path) -> Callable[[str], Image.Image]:
    return partial(_load, path)


def _load(path: Path, name: str) -> Image.Image:
    with open_archive(path) as archive:
        content = archive.read(name)
    return decode(BytesIO(content))
