"""SVG: the words in a drawing, in the order of the file. Only one without any is drawn, by others, to be looked at."""

from collections.abc import Sequence
from pathlib import Path

from lxml import etree

from kb.engine.ingestion.extraction.extracted import Extracted, Picture
from kb.engine.ingestion.extraction.readers.shared.outline import Outline
from kb.engine.ingestion.extraction.readers.shared.properties import make_properties
from kb.engine.ingestion.extraction.readers.shared.xml_trees import child, local_name, parse_xml
from kb.engine.ingestion.extraction.readers.web.html_blocks import BlockReader
from kb.engine.ingestion.extraction.readers.web.html_pages import Page, read_tree
from kb.engine.ingestion.sections import Section

_TEXTS = frozenset(("text", "title", "desc"))
_UNSEEN = frozenset(("style", "script", "metadata"))
_TOLD = {
    "title": "title",
    "creator": "author",
    "date": "created",
    "description": "subject",
    "language": "language",
    "publisher": "publisher",
}
_PROGRAM = "Matplotlib v"


def read(path: Path) -> Extracted:
    drawing = read_svg(path.read_bytes())
    properties = make_properties(drawing.told)
    # Its letters may be shapes, or stand in a picture within it.
    seen: Sequence[Section | Picture] = drawing.sections or [Picture("drawing", is_page=True)]
    return Extracted([seen], properties.title, {**properties.metadata})


def read_svg(content: bytes) -> Page:
    root = parse_xml(content)
    etree.strip_tags(root, etree.Entity)
    outline = Outline()
    last = ""
    walk = etree.iterwalk(root, events=("start",))
    for _, element in walk:
        name = local_name(element)
        # A program that cannot show HTML shows what stands beside it, the same in plain letters.
        foreign = element if name == "foreignObject" else child(element, "foreignObject") if name == "switch" else None
        said = _text_of(element) if name in _TEXTS else element.get("aria-label", "")
        if name in _UNSEEN or name in _TEXTS or foreign is not None:
            walk.skip_subtree()
        if foreign is not None:
            read_tree(foreign, BlockReader(outline))
        # Programs give a shape a title that is the same as its text.
        if said != last and name not in _UNSEEN:
            outline.add_item(said)
            last = said or last
    return Page(outline.sections(), None, _read_properties(root))


def _text_of(element: etree._Element) -> str:
    """The words of a text and the spans in it; a span with a place of its own is a line, or at least a word."""
    pieces: list[str] = []
    line = element.get("y")
    for event, part in etree.iterwalk(element, events=("start", "end")):
        is_note = part is not element and local_name(part) in _TEXTS
        if event == "end":
            pieces += ["\n" if is_note else "", (part.tail or "") if part is not element else ""]
            continue
        if is_note:
            pieces.append("\n")
        elif part is not element and part.get("x"):
            is_same_line = part.get("y", line) == line and not part.get("dy")
            pieces.append(" " if is_same_line else "\n")
            line = part.get("y", line)
        pieces.append(" ".join((part.text or "").split("\n")))
    lines = (" ".join(line.split()) for line in "".join(pieces).split("\n"))
    return "\n".join(filter(None, lines))


def _read_properties(root: etree._Element) -> dict[str, str]:
    told: dict[str, str] = {}
    title = child(root, "title")
    if title is not None:
        told["title"] = _text_of(title)
    metadata = child(root, "metadata")
    for work in metadata.iter("{*}Work") if metadata is not None else ():
        for element in work:
            if name := _TOLD.get(local_name(element)):
                told.setdefault(name, " ".join(_text_of(element).split()))
    if told.get("author", "").startswith(_PROGRAM):
        del told["author"]
    return told
