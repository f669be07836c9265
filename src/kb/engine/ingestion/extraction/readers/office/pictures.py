"""The pictures in a DOCX, PPTX or ODT file, by the names that they have in its archive."""

from io import BytesIO
from pathlib import Path

from PIL import Image

from kb.engine.ingestion.extraction.readers.shared.archive import open_archive
from kb.engine.ingestion.extraction.readers.shared.pixels import decode


class ArchivedPictures:
    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self, name: str) -> Image.Image:
        """Raises `Unreadable` if there is no such picture, or it is damaged or too large."""
        with open_archive(self._path) as archive:
            content = archive.read(name)
        return decode(BytesIO(content))


def open_pictures(path: Path) -> ArchivedPictures:
    return ArchivedPictures(path)
