"""The pictures in a picture file: one, or the pages of a TIFF. Their names are their numbers, from 1."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PIL import Image, ImageFile
from PIL.TiffImagePlugin import TiffImageFile

from kb.engine.ingestion.extraction.readers.shared.pixels import DAMAGE, open_picture, take_pixels

FRAME_FORMATS = ("JPEG", "PNG", "TIFF", "WEBP")
MAX_PAGES = 5000

_SUBFILE_TYPE = 254
# Smaller copies of a page, and masks.
_NO_PAGE = 0b101


def open_pictures(path: Path) -> Callable[[str], Image.Image]:
    return partial(_load, path)


def list_pages(picture: ImageFile.ImageFile) -> list[str]:
    """The names of the frames that are pages, at most one more than may be read; of what moves, the first alone.

    Where the chain of pages is broken stands one more, which cannot be loaded: so it is told that some are missing.
    """
    if not isinstance(picture, TiffImageFile):
        return ["1"]
    pages: list[str] = []
    frame = 0
    # A chain that leads back to its beginning Pillow takes to end there.
    while frame <= MAX_PAGES:
        if not picture.tag_v2.get(_SUBFILE_TYPE, 0) & _NO_PAGE:
            pages.append(str(frame + 1))
        frame += 1
        try:
            picture.seek(frame)
        except EOFError:
            break
        except DAMAGE:
            pages.append(str(frame + 1))
            break
    picture.seek(0)
    return pages or ["1"]


def _load(path: Path, name: str) -> Image.Image:
    with open_picture(path, FRAME_FORMATS) as picture:
        picture.seek(int(name) - 1)
        return take_pixels(picture)
