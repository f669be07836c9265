"""From the bytes of an HTML page to its text."""

import re
from collections import Counter
from dataclasses import dataclass
from html import unescape

from lxml import etree

from kb.engine.ingestion.extraction.cleaning import clean
from kb.engine.ingestion.extraction.readers.shared.charsets import decode_as
from kb.engine.ingestion.extraction.readers.shared.outline import Outline
from kb.engine.ingestion.extraction.readers.shared.xml_trees import attributes, local_name
from kb.engine.ingestion.extraction.readers.web.html_blocks import BlockReader
from kb.engine.ingestion.sections import Section

_CHARSET = re.compile(rb"""<(?:meta|\?xml)\s[^<>]*?(?:charset|encoding)\s*+=\s*+["']?\s*+([\w.:-]+)""", re.IGNORECASE)
_LOOKED_AT_BYTES = 4096
# Possessive: what gives back no letter takes no longer than the text is long.
_TAG = re.compile(r"<!--|<[!?][^<>]*+>|<(?P<closes>/?)(?P<name>[a-zA-Z][^\s/<>]*+)[^<>]*+>")
_CLOSING = {
    "<!--": re.compile("-->"),
    "script": re.compile(r"</script[^<>]*>", re.IGNORECASE),
    "style": re.compile(r"</style[^<>]*>", re.IGNORECASE),
}
_VOID = frozenset(
    ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr")
)


@dataclass(frozen=True)
class Page:
    sections: list[Section]
    heading: str | None
    """Its first heading, of the highest level."""
    told: dict[str, str]
    """What it says of itself: `title`, `language`, and its `meta` elements by name."""


def read_html(content: bytes, charset: str | None = None) -> Page:
    """The page; `charset` is what whoever sent it says of its encoding."""
    found = _CHARSET.search(content, 0, _LOOKED_AT_BYTES)
    text = clean(decode_as(content, charset or (found[1].decode("ascii") if found else None)))
    outline = Outline()
    reader = BlockReader(outline)
    # From here on it is UTF-8, whatever the page claims.
    parser = etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(text.encode(), parser) if text.strip() else None
    except etree.XMLSyntaxError as error:
        # An error without a name is what it reports when it gets no more memory.
        if "unknown error" in str(error):
            raise MemoryError from error
        raise
    if any(entry.level == etree.ErrorLevels.FATAL for entry in parser.error_log):
        # Nested deeper than the parser goes; what it has read so far is not all.
        _read_tags(text, reader)
    elif root is not None:
        read_tree(root, reader)
    return Page(outline.sections(), outline.title, reader.told)


def read_tree(root: etree._Element, reader: BlockReader) -> None:
    """Tell the reader all that is inside the element, the element itself included."""
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        name = local_name(element).lower()
        if event == "end":
            reader.end(name)
            if element is not root:
                reader.text(element.tail)
        elif reader.start(name, dict(attributes(element))):
            reader.text(element.text)
        else:
            walk.skip_subtree()
    reader.close()


def _read_tags(text: str, reader: BlockReader) -> None:
    """Tell the reader all that is in the page, tag by tag, to any depth; attributes are passed over."""
    tags = _Tags(reader)
    position = 0
    while tag := _TAG.search(text, position):
        tags.text(unescape(text[position : tag.start()]))
        name = (tag["name"] or "").lower()
        if tag["closes"]:
            tags.end(name)
        elif name:
            tags.start(name)
        # What stands in these is no markup.
        closing = None if tag["closes"] else _CLOSING.get(name or tag[0])
        closed = closing.search(text, tag.end()) if closing else tag
        position = closed.end() if closed else len(text)
        if closing and name:
            tags.end(name)
    tags.text(unescape(text[position:]))
    tags.end_all()
    reader.close()


class _Tags:
    """Closes what a page leaves open, and opens nothing that is not there."""

    def __init__(self, reader: BlockReader) -> None:
        self._reader = reader
        self._open: list[str] = []
        self._times_open: Counter[str] = Counter()
        self._unseen_at: int | None = None
        """How many elements were open when one began whose content does not count, itself included."""

    def start(self, name: str) -> None:
        self._open.append(name)
        self._times_open[name] += 1
        if self._unseen_at is None and not self._reader.start(name, {}):
            self._unseen_at = len(self._open)
        if name in _VOID:
            self._end_last()

    def text(self, text: str) -> None:
        if self._unseen_at is None:
            self._reader.text(text)

    def end(self, name: str) -> None:
        if self._times_open[name]:
            while self._end_last() != name:
                pass

    def end_all(self) -> None:
        while self._open:
            self._end_last()

    def _end_last(self) -> str:
        if self._unseen_at == len(self._open):
            self._unseen_at = None
        name = self._open.pop()
        self._times_open[name] -= 1
        if self._unseen_at is None:
            self._reader.end(name)
        return name
