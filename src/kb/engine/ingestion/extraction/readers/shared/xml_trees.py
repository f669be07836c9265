"""XML from strangers: nothing outside the file is ever read, and what would grow without end is refused."""

from collections.abc import Iterator

from lxml import etree

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt

_SIGNS_OF_A_BOMB = ("amplification", "depth", "huge", "too long", "entity loop", "Maximum entity")


def parse_xml(content: bytes) -> etree._Element:
    """The root element. Comments and processing instructions are left out."""
    parser = etree.XMLParser(
        resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        # So the parser calls it when it gets no more memory.
        if "unknown error" in str(error):
            raise MemoryError from error
        if any(sign in str(error) for sign in _SIGNS_OF_A_BOMB):
            raise Unreadable(
                "extraction_limit", "The file nests or repeats its content beyond all measure. It is not safe to read."
            ) from error
        raise corrupt("Its XML cannot be read.") from error
    if root is None:
        raise corrupt("Its XML is empty.")
    return root


def local_name(element: etree._Element) -> str:
    """The element's name without its namespace; "" for what is no element."""
    tag = element.tag
    return str(tag).rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: etree._Element, name: str) -> str | None:
    """The attribute of that local name, whatever its namespace; None if there is none."""
    return next((value for key, value in attributes(element) if key.rpartition("}")[2] == name), None)


def attributes(element: etree._Element) -> Iterator[tuple[str, str]]:
    """Names, with their namespaces as "{namespace}name", and values."""
    return ((str(key), str(value)) for key, value in element.items())


def whole_number(told: str | None, default: int = 0) -> int:
    """What an attribute or a property says; the default if it is no number, or larger than any honest one."""
    return int(told) if told and told.isascii() and told.isdigit() and len(told) < 9 else default


def child(element: etree._Element, name: str) -> etree._Element | None:
    """The first child of that local name."""
    return next((below for below in element if local_name(below) == name), None)
