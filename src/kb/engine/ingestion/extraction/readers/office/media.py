"""The pictures in office documents: which of them may hold words, and how large they are shown."""

from itertools import islice

from lxml import etree

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.office.package import Relationship, relationship_id
from kb.engine.ingestion.extraction.readers.shared.archive import Archive
from kb.engine.ingestion.extraction.readers.shared.picture_sizes import MAX_PICTURES, Size, is_large_picture, reaches
from kb.engine.ingestion.extraction.readers.shared.xml_trees import attribute, local_name, whole_number

MAX_NAME_CHARACTERS = 200

# What is smaller is an icon, a bullet or a line. Office measures in 1/360,000 cm.
_SHOWN_AT_LEAST = (540_000, 288_000)
_PIXELS_AT_LEAST = (80, 30)


class Media:
    """The pictures of one document. Each belongs to the first place that shows it: a logo stands on every slide."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._left_out: set[str] = set()

    def is_wanted(self, archive: Archive, name: str, place: int = 1) -> bool:
        """Whether it is to be read, and here."""
        if name not in self._places and name not in self._left_out:
            if len(self._places) < MAX_PICTURES and _may_hold_words(archive, name):
                self._places[name] = place
            else:
                self._left_out.add(name)
        return self._places.get(name) == place


def find_picture(relationships: dict[str, Relationship], element: etree._Element) -> str | None:
    """The name of what a `blip` or `imagedata` shows; None if it lies elsewhere, or is shown too small for words."""
    found = relationships.get(relationship_id(element, "embed" if local_name(element) == "blip" else "id"))
    if found is None or _is_ornament(element):
        return None
    size = find_size(element)
    return found.part if size is None or reaches(size, _SHOWN_AT_LEAST) else None


def find_size(element: etree._Element) -> Size | None:
    """How large the drawing around a `blip` is shown; None if it does not say, or in the measure of its group alone."""
    fill, holder = element.getparent(), _holder(element)
    if fill is None or holder is None or next(holder.iterancestors("{*}grpSp", "{*}wgp"), None) is not None:
        return None
    # Only where the format has it: with pictures enough in one place, to look all around each would take for ever.
    properties = fill.getnext() if local_name(holder) == "pic" else holder
    transform = None if properties is None else next(iter(properties), None)
    for extent in () if transform is None else islice(transform, 2):
        size = (whole_number(attribute(extent, "cx")), whole_number(attribute(extent, "cy")))
        if all(size):
            return size
    return None


def is_background(element: etree._Element) -> bool:
    holder = _holder(element)
    return holder is not None and local_name(holder) == "bgPr"


def _holder(blip: etree._Element) -> etree._Element | None:
    """What the picture fills."""
    fill = blip.getparent()
    return None if fill is None else fill.getparent()


def _is_ornament(blip: etree._Element) -> bool:
    """Whether it is a pattern that is repeated, or the bullets of a list."""
    fill = blip.getparent()
    is_bullet = fill is not None and local_name(fill) == "buBlip"
    return is_bullet or any(local_name(beside) == "tile" for beside in islice(blip.itersiblings(), 2))


def _may_hold_words(archive: Archive, name: str) -> bool:
    """A part that is missing, or cannot be unpacked, holds none."""
    if len(name) > MAX_NAME_CHARACTERS or not name.isprintable():
        return False
    try:
        return is_large_picture(archive.read(name), _PIXELS_AT_LEAST)
    except Unreadable:
        return False
