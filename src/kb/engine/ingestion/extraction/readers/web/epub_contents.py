"""An EPUB's table of contents: what each of its files is called, and which part of the book it belongs to."""

from lxml import etree

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.shared.archive import Archive
from kb.engine.ingestion.extraction.readers.shared.xml_trees import attribute, local_name, parse_xml
from kb.engine.ingestion.extraction.readers.web.epub_package import resolve

_ENTRIES = frozenset(("li", "navPoint"))
_LABELS = frozenset(("a", "span", "text"))
_DEEPEST = 6


def read_contents(archive: Archive, name: str | None) -> dict[str, list[str]]:
    """For each file the titles on the way to it, its own last; none at all if the table is missing or damaged."""
    titles_of: dict[str, list[str]] = {}
    if name is None:
        return titles_of
    try:
        content = archive.read(name)
    except Unreadable:
        return titles_of
    titles: list[str] = []
    depth = 0
    walk = etree.iterwalk(_find_table(_parse(content)), events=("start", "end"))
    for event, element in walk:
        kind = local_name(element)
        if kind in _ENTRIES:
            depth += 1 if event == "start" else -1
        elif event == "start" and depth:
            if kind in _LABELS:
                titles[depth - 1 :] = [" ".join("".join(element.itertext()).split())]
                walk.skip_subtree()
            if link := element.get("href") or element.get("src"):
                titles_of.setdefault(resolve(name, link), [title for title in titles[-_DEEPEST:] if title])
    return titles_of


def _parse(content: bytes) -> etree._Element:
    try:
        return parse_xml(content)
    except Unreadable:
        return etree.fromstring(b"<html>" + content, etree.HTMLParser(encoding="utf-8"))


def _find_table(root: etree._Element) -> etree._Element:
    """The list of chapters, for there may be others in the file: of pages, of pictures."""
    tables = [element for element in root.iter(etree.Element) if local_name(element) == "nav"]
    return next((table for table in tables if "toc" in str(attribute(table, "type") or table.get("epub:type"))), root)
