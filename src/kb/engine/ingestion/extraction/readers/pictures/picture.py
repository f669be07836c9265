"""JPEG, PNG, TIFF and WEBP: what a picture file tells of itself. The text in it is read by others."""

from pathlib import Path

from PIL import Image, ImageFile
from PIL.TiffImagePlugin import TiffImageFile

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Extracted, Picture
from kb.engine.ingestion.extraction.readers.pictures.camera import read_shot, render_time
from kb.engine.ingestion.extraction.readers.pictures.captions import read_captions
from kb.engine.ingestion.extraction.readers.pictures.colours import name_colours
from kb.engine.ingestion.extraction.readers.pictures.description import describe
from kb.engine.ingestion.extraction.readers.pictures.frames import FRAME_FORMATS, MAX_PAGES, list_pages
from kb.engine.ingestion.extraction.readers.shared.pixels import (
    DAMAGE,
    check_size,
    open_picture,
    orientation,
    take_pixels,
)
from kb.engine.ingestion.extraction.readers.shared.properties import make_properties
from kb.engine.ingestion.sections import Section

# To decode a larger one only for its colours takes too long.
_MAX_PIXELS_FOR_COLOURS = 25_000_000
_ENOUGH_FOR_COLOURS = (512, 512)
_PROPERTIES = {"title": "title", "description": "subject", "keywords": "keywords", "author": "author"}


def read(path: Path) -> Extracted:
    with open_picture(path, FRAME_FORMATS) as picture:
        check_size(picture)
        pages = _list_pages(picture)
        size = _size_as_seen(picture)
        exif = _find_exif(picture)
        shot = read_shot(exif)
        # The pages of a scan are paper, and if the first is damaged the others may be whole.
        colours = _find_colours(picture) if len(pages) == 1 else []
        # A PNG may tell them at its end.
        captions = read_captions(picture, exif)
        is_tiff, kind = isinstance(picture, TiffImageFile), str(picture.format)
    told = {name: captions[caption] for caption, name in _PROPERTIES.items() if caption in captions}
    properties = make_properties(told)
    metadata = {
        "width": size[0],
        "height": size[1],
        "pages": len(pages) if is_tiff else None,
        "taken": render_time(shot.taken) if shot.taken else None,
        "camera": shot.camera,
        "position": shot.position,
        "colours": colours or None,
        **properties.metadata,
    }
    text = describe(kind, size, pages=len(pages), shot=shot, colours=colours, captions=captions)
    parts: list[list[Section | Picture]] = [
        [Picture(name, page_num=number, is_page=True)] for number, name in enumerate(pages, 1)
    ]
    parts[0].append(Section(text, page_num=1))
    known = {name: value for name, value in metadata.items() if value is not None}
    return Extracted(parts, properties.title, known, processing_method="image_analysis")


def _list_pages(picture: ImageFile.ImageFile) -> list[str]:
    pages = list_pages(picture)
    if len(pages) > MAX_PAGES:
        raise Unreadable(
            "extraction_limit",
            f"The file has more than {MAX_PAGES:,} pages. Split it into several files and add those.",
        )
    return pages


def _size_as_seen(picture: ImageFile.ImageFile) -> tuple[int, int]:
    width, height = picture.size
    # That of a TIFF is so from the beginning.
    is_on_its_side = orientation(picture) >= 5 and not isinstance(picture, TiffImageFile)
    return (height, width) if is_on_its_side else (width, height)


def _find_exif(picture: ImageFile.ImageFile) -> Image.Exif:
    try:
        return picture.getexif()
    except DAMAGE:
        return Image.Exif()


def _find_colours(picture: ImageFile.ImageFile) -> list[str]:
    picture.draft(None, _ENOUGH_FOR_COLOURS)
    # Of a number that is no byte nobody knows how light it is meant to be.
    is_known = picture.mode not in ("I", "F") and not picture.mode.startswith("I;16")
    if picture.width * picture.height > _MAX_PIXELS_FOR_COLOURS or not is_known:
        return []
    return name_colours(take_pixels(picture))
