"""An EPUB's package: which files the book is made of, in which order, and what it says of itself."""

import posixpath
from dataclasses import dataclass
from urllib.parse import unquote

from lxml import etree

from kb.engine.ingestion.extraction.readers.shared.archive import Archive
from kb.engine.ingestion.extraction.readers.shared.properties import Properties, make_properties
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt, encrypted
from kb.engine.ingestion.extraction.readers.shared.xml_trees import local_name, parse_xml

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
SVG = "image/svg+xml"
_WITH_TEXT = (
    *("application/xhtml+xml", "text/html", SVG, "application/x-dtbook+xml", "text/x-oeb1-document"),
    *("application/xml", "text/xml"),
)
_NCX = "application/x-dtbncx+xml"
_TOLD = {
    "title": "title",
    "creator": "author",
    "description": "subject",
    "subject": "keywords",
    "language": "language",
    "publisher": "publisher",
    "date": "created",
    "dcterms:modified": "modified",
}


@dataclass(frozen=True)
class Item:
    """A file of the book, by its name in the archive."""

    name: str
    media_type: str


@dataclass(frozen=True)
class Package:
    chapters: list[Item]
    """The files to be read, in the order of the book; each once."""
    contents: str | None
    """The name of its table of contents: an XHTML file, or the NCX file of older books."""
    properties: Properties


def read_package(archive: Archive) -> Package:
    """Raises `Unreadable` if the book cannot be read without a key of its shop."""
    name = _find_package(archive)
    root = parse_xml(archive.read(name))
    items: dict[str, Item] = {}
    order: list[str] = []
    contents: str | None = None
    for element in root.iter(etree.Element):
        kind = local_name(element)
        if kind == "item":
            item = Item(resolve(name, element.get("href", "")), element.get("media-type", ""))
            items[element.get("id", "")] = item
            if "nav" in element.get("properties", "").split() or (item.media_type == _NCX and contents is None):
                contents = item.name
        elif kind == "itemref":
            order.append(element.get("idref", ""))
    chapters = [items[id] for id in order or items if id in items and items[id].media_type in _WITH_TEXT]
    package = Package(list(dict.fromkeys(chapters)), contents, _read_properties(root))
    _refuse_encrypted(archive, package)
    return package


def resolve(base: str, link: str) -> str:
    """The name in the archive of what the file `base` links to. It may name nothing, but never what lies outside."""
    target = unquote(link.partition("#")[0].partition("?")[0])
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), target)).lstrip("/") if target else base


def _find_package(archive: Archive) -> str:
    if _CONTAINER in archive:
        for element in parse_xml(archive.read(_CONTAINER)).iter(etree.Element):
            if local_name(element) == "rootfile":
                return resolve("", element.get("full-path", ""))
    named = next((name for name in archive.names if name.endswith(".opf")), None)
    if named is None:
        raise corrupt("It does not tell which files the book is made of.")
    return named


def _read_properties(root: etree._Element) -> Properties:
    told: dict[str, list[str]] = {}
    for element in root.iter(etree.Element):
        name = _TOLD.get(element.get("property") or local_name(element))
        if name and element.text:
            told.setdefault(name, []).append(element.text.strip())
    joined = {"author": "; ", "keywords": ", "}
    return make_properties(
        {name: joined[name].join(said) if name in joined else said[0] for name, said in told.items()}
    )


def _refuse_encrypted(archive: Archive, package: Package) -> None:
    """Fonts may be encrypted: they are in many books that anybody can read."""
    if _ENCRYPTION not in archive:
        return
    links = (
        element.get("URI", "")
        for element in parse_xml(archive.read(_ENCRYPTION)).iter(etree.Element)
        if local_name(element) == "CipherReference"
    )
    if {resolve("", link) for link in links} & {chapter.name for chapter in package.chapters}:
        raise encrypted(
            "The book is locked by the shop that sold it (DRM). Only programs of that shop can open it; "
            "if you have a copy without this protection, add that."
        )
