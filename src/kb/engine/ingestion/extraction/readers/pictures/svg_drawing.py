"""An SVG as a picture, for its letters may be drawn as shapes, or stand in pictures within it.

What it is drawn from holds nothing but shapes and the pictures that the file itself brings: the renderer would read any
file that the drawing names.
"""

import base64
import binascii
import math
import re
from collections.abc import Callable
from functools import partial
from io import BytesIO
from pathlib import Path

import resvg_py
from lxml import etree
from PIL import Image

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.shared.pixels import check_pixels, decode, open_picture
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt
from kb.engine.ingestion.extraction.readers.shared.xml_trees import attributes, local_name, parse_xml

# A page in small print is legible. What the file itself asks for may be anything.
_LONG_SIDE = 3000
# What is seen of a drawing that says nothing of its size, as on a screen.
_SCREEN = (0.0, 0.0, 1000.0, 1000.0)
_NUMBER = re.compile(
    r"\s*([+-]?(?:\d{1,9}\.?\d{0,9}|\.\d{1,9})(?:e[+-]?\d)?)(?:px|pt|mm|cm|in|pc|q)?\s*", re.IGNORECASE
)
_BITMAP = re.compile(r"\s*data:image/(?:png|jpe?g|gif|webp);base64,", re.IGNORECASE)
# An element without its filter is drawn as it is, and one whose filter is missing not at all.
_FILTER_IN_STYLE = re.compile(r"\bfilter\s*:[^;}]*", re.IGNORECASE)


def open_pictures(path: Path) -> Callable[[str], Image.Image]:
    return partial(_load, path)


def _load(path: Path, _name: str) -> Image.Image:
    """There is one picture, whatever the name. Words that are no shapes were read, and need not be seen."""
    return decode(BytesIO(draw(path, _large, skip_system_fonts=True)), ("PNG",))


def draw(path: Path, choose_size: Callable[[float, float], tuple[int, int]], *, skip_system_fonts: bool) -> bytes:
    """A PNG. `choose_size` is told how wide and how high the drawing is, and tells how many pixels it is to have.

    Without the fonts of the system words are not drawn.
    """
    root = parse_xml(path.read_bytes())
    etree.strip_tags(root, etree.Entity)
    _drop_foreign_pictures(root)
    _drop_filters(root)
    _fit(root, choose_size)
    try:
        return resvg_py.svg_to_bytes(
            svg_string=etree.tostring(root, encoding="unicode"), background="white", skip_system_fonts=skip_system_fonts
        )
    except ValueError as error:
        raise corrupt("It cannot be drawn.") from error


def _drop_foreign_pictures(root: etree._Element) -> None:
    for element in root.iter():
        if local_name(element) in ("image", "feImage"):
            for key, value in list(attributes(element)):
                is_link = key.rpartition("}")[2] == "href"
                if is_link and not (value.startswith("#") or _is_sane_bitmap(value)):
                    del element.attrib[key]


def _drop_filters(root: etree._Element) -> None:
    """A filter tells no words, and may take minutes."""
    for element in root.iter():
        if local_name(element) == "style" and element.text:
            element.text = _FILTER_IN_STYLE.sub("", element.text)
        for key, value in list(attributes(element)):
            if key == "filter":
                del element.attrib[key]
            elif key == "style":
                element.attrib[key] = _FILTER_IN_STYLE.sub("", value)


def _is_sane_bitmap(link: str) -> bool:
    found = _BITMAP.match(link)
    if found is None:
        return False
    try:
        with open_picture(BytesIO(base64.b64decode(link[found.end() :]))) as bitmap:
            # The renderer decodes a JPEG at its full size, as any other.
            check_pixels(*bitmap.size)
    except (binascii.Error, Unreadable):
        return False
    return True


def _large(width: float, height: float) -> tuple[int, int]:
    scale = _LONG_SIDE / max(width, height)
    return max(1, math.ceil(width * scale)), max(1, math.ceil(height * scale))


def _fit(root: etree._Element, choose_size: Callable[[float, float], tuple[int, int]]) -> None:
    """Give it a size that can be drawn, and leave its proportions as they are."""
    left, top, width, height = _shown(root)
    across, down = choose_size(width, height)
    root.set("viewBox", f"{left} {top} {width} {height}")
    root.set("width", str(across))
    root.set("height", str(down))


def _shown(root: etree._Element) -> tuple[float, float, float, float]:
    box = [_number(part) for part in root.get("viewBox", "").replace(",", " ").split()[:5]]
    if len(box) != 4:
        box = [0.0, 0.0, _number(root.get("width", "")), _number(root.get("height", ""))]
    left, top, width, height = box
    return (left, top, width, height) if width > 0 and height > 0 else _SCREEN


def _number(told: str) -> float:
    found = _NUMBER.fullmatch(told)
    return float(found[1]) if found else 0.0
