"""What stands on a sheet outside its cells: comments, text boxes, the titles of charts."""

from collections.abc import Iterator

from lxml import etree

from kb.engine.ingestion.extraction.readers.office.drawings import paragraph_of_drawing
from kb.engine.ingestion.extraction.readers.office.package import find_parts, read_relationships
from kb.engine.ingestion.extraction.readers.shared.archive import Archive
from kb.engine.ingestion.extraction.readers.shared.xml_trees import parse_xml

_DRAWN = ("chart", "chartEx", "diagramData")


def read_remarks(archive: Archive, sheet: str) -> str:
    """A line for each comment, and for each paragraph of what is drawn; the same words only once."""
    relationships = read_relationships(archive, sheet)
    comments: dict[str, list[str]] = {}
    # Today's comments are repeated among those for older programs, with a remark that one should buy a newer one.
    for kind in ("threadedComment", "comments"):
        found: dict[str, list[str]] = {}
        for part in find_parts(archive, relationships, kind):
            for cell, text in _read_comments(parse_xml(archive.read(part))):
                found.setdefault(cell, []).append(text)
        comments = {**found, **comments}
    lines = [f"Comment on {cell}: {text}" for cell, texts in comments.items() for text in texts]
    for drawing in find_parts(archive, relationships, "drawing"):
        below = read_relationships(archive, drawing)
        for part in [drawing, *(part for kind in _DRAWN for part in find_parts(archive, below, kind))]:
            paragraphs = parse_xml(archive.read(part)).iter("{*}p")
            lines += (" ".join(paragraph_of_drawing(paragraph).split()) for paragraph in paragraphs)
    return "\n".join(filter(None, dict.fromkeys(lines)))


def _read_comments(root: etree._Element) -> Iterator[tuple[str, str]]:
    for comment in root.iter("{*}comment", "{*}threadedComment"):
        text = " ".join("".join(below.text or "" for below in comment.iter("{*}t", "{*}text")).split())
        if text:
            yield comment.get("ref", ""), text
