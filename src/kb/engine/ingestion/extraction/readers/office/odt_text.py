"""From the XML of an OpenDocument text to running text."""

import posixpath
import re
from dataclasses import dataclass

from lxml import etree

from kb.engine.ingestion.extraction.readers.office.flow import Flow
from kb.engine.ingestion.extraction.readers.office.media import Media
from kb.engine.ingestion.extraction.readers.office.odt_styles import Styles
from kb.engine.ingestion.extraction.readers.shared.archive import Archive
from kb.engine.ingestion.extraction.readers.shared.xml_trees import (
    attribute,
    child,
    local_name,
    parse_xml,
    whole_number,
)

MAX_REPEATED_CELLS = 64
MAX_SPACES = 64

_SKIPPED = {"tracked-changes", "note-citation", "forms", "creator-initials"}
# What a chart or formula looks like, for programs that cannot draw it; its words are read from itself.
_LOOKS_OF_OBJECTS = "ObjectReplacements/"
_SPACE = re.compile(r"[ \t\r\n]+")
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"


@dataclass
class _List:
    style: str | None
    level: int
    count: int


def read_text_flow(root: etree._Element, styles: Styles, archive: Archive, media: Media | None = None) -> Flow:
    """Names the pictures too if it is given `media`."""
    text = _Text(styles, archive, media)
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            text.end(element)
            text.flow.add_text(_SPACE.sub(" ", element.tail or ""))
        elif text.begin(element):
            text.flow.add_text(_SPACE.sub(" ", element.text or ""))
        else:
            walk.skip_subtree()
    return text.flow


class _Text:
    def __init__(self, styles: Styles, archive: Archive, media: Media | None) -> None:
        self.flow = Flow()
        self._media = media
        self._styles = styles
        self._archive = archive
        self._mark = ""
        """What stands before the next paragraph: a bullet, or what makes it a note."""
        self._lists: list[_List] = []
        self._counts: dict[tuple[str | None, int], int] = {}
        self._objects_read: set[str] = set()

    def begin(self, element: etree._Element) -> bool:
        """Whether what lies in the element is to be read too."""
        name = local_name(element)
        if self._is_left_out(name, element):
            return False
        self._begin_block(name, element)
        self._begin_item(name, element)
        self._add_inline(name, element)
        return True

    def end(self, element: etree._Element) -> None:
        match local_name(element):
            case "p" | "h":
                self.flow.end()
                if self._styles.resolve("paragraph", attribute(element, "style-name")).breaks_after:
                    self.flow.break_page()
            case "table-cell" | "covered-table-cell":
                # What is repeated is left empty: the columns stay in line, and a bomb stays small.
                repeated = whole_number(attribute(element, "number-columns-repeated"), 1)
                for _ in range(min(repeated, MAX_REPEATED_CELLS) - 1):
                    self.flow.begin_cell()
            case "table-row":
                self.flow.end_row()
            case "table":
                self.flow.end()
            case "list" if self._lists:
                ended = self._lists.pop()
                self._counts[ended.style, ended.level] = ended.count
            case "list-item" | "annotation" | "note":
                self._mark = ""

    def _is_left_out(self, name: str, element: etree._Element) -> bool:
        """What was deleted or is hidden, what tells how an index is made, and what the walk takes from above."""
        if name in _SKIPPED or name.endswith("-source") or str(element.tag).startswith((_DUBLIN_CORE, _SVG)):
            return True
        return name == "span" and self._styles.resolve("text", attribute(element, "style-name")).is_hidden

    def _begin_block(self, name: str, element: etree._Element) -> None:
        match name:
            case "p" | "h":
                self._begin_paragraph(name, element)
            case "table":
                if self._styles.resolve("table", attribute(element, "style-name")).breaks_before:
                    self.flow.begin_on_new_page()
                self.flow.begin_table()
            case "table-row":
                self.flow.begin_row()
            case "table-cell" | "covered-table-cell":
                self.flow.begin_cell()
            case "frame":
                told = [child(element, "title"), child(element, "desc")]
                words = " ".join(below.text for below in told if below is not None and below.text)
                self.flow.add_block(f"Picture: {words}" if words.strip() else "")
            case "object":
                self._add_object(attribute(element, "href") or "")
            case "image":
                self._add_picture(posixpath.normpath(attribute(element, "href") or ""))

    def _begin_paragraph(self, name: str, element: etree._Element) -> None:
        style = self._styles.resolve("paragraph", attribute(element, "style-name"))
        if style.breaks_before:
            self.flow.begin_on_new_page()
        level = whole_number(attribute(element, "outline-level"), 1) if name == "h" else 0 if style.is_title else None
        self.flow.begin_paragraph(level, self._mark, is_item=bool(self._lists))
        self._mark = ""

    def _begin_item(self, name: str, element: etree._Element) -> None:
        match name:
            case "list":
                outer = self._lists[-1] if self._lists else None
                style = attribute(element, "style-name") or (outer.style if outer else None)
                level = outer.level + 1 if outer else 1
                goes_on = attribute(element, "continue-numbering") == "true" or attribute(element, "continue-list")
                before = self._styles.list_level(style, level).start - 1
                count = self._counts.get((style, level), before) if goes_on else before
                self._lists.append(_List(style, level, count))
            case "list-item" if self._lists:
                current = self._lists[-1]
                current.count = whole_number(attribute(element, "start-value"), current.count + 1)
                mark = self._styles.list_level(current.style, current.level).render_mark(current.count)
                self._mark = "  " * (current.level - 1) + mark
            case "note":
                citation = child(element, "note-citation")
                label = f"[{'' if citation is None else ''.join(map(str, citation.itertext()))}]"
                self.flow.add_text(label)
                self._mark = f"{label} "
            case "annotation":
                creator = child(element, "creator")
                author = "" if creator is None else (creator.text or "").strip()
                self._mark = f"Comment ({author}): " if author else "Comment: "

    def _add_inline(self, name: str, element: etree._Element) -> None:
        match name:
            case "s":
                self.flow.add_text(" " * min(whole_number(attribute(element, "c"), 1), MAX_SPACES))
            case "tab":
                self.flow.add_text("\t")
            case "line-break":
                self.flow.add_text("\n")
            case "soft-page-break":
                self.flow.break_page_where_rendered()

    def _add_picture(self, name: str) -> None:
        if self._media and not name.startswith(_LOOKS_OF_OBJECTS) and self._media.is_wanted(self._archive, name):
            self.flow.add_picture(name)

    def _add_object(self, reference: str) -> None:
        """The letters of a formula, the words and figures of a chart: each is a document of its own in the file."""
        part = posixpath.normpath(f"{reference}/content.xml")
        if part not in self._archive or part in self._objects_read:
            return
        self._objects_read.add(part)
        root = parse_xml(self._archive.read(part))
        # A formula is noted a second time, as it was typed.
        etree.strip_elements(root, "{*}annotation", with_tail=False)
        words = " ".join(" ".join(map(str, root.itertext())).split())
        if local_name(root) == "math":
            self.flow.add_text(words)
        else:
            self.flow.add_block(words)
