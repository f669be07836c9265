"""From the XML of a story in a DOCX file (its body, a header, a note) to running text."""

from dataclasses import dataclass, field

from lxml import etree

from kb.engine.ingestion.extraction.readers.office.docx_styles import Lists, Styles, is_on, parse_paragraph_style
from kb.engine.ingestion.extraction.readers.office.drawings import read_drawing
from kb.engine.ingestion.extraction.readers.office.flow import Flow
from kb.engine.ingestion.extraction.readers.office.media import Media, find_picture
from kb.engine.ingestion.extraction.readers.office.package import Relationship
from kb.engine.ingestion.extraction.readers.shared.archive import Archive
from kb.engine.ingestion.extraction.readers.shared.xml_trees import attribute, child, local_name

# What was deleted, the codes of fields, and properties.
_SKIPPED = {"del", "moveFrom", "delText", "instrText", "delInstrText", "ffData"} | {
    f"{name}Pr" for name in ("p", "r", "sdt", "sdtEnd", "tbl", "tr", "tc", "sect")
}
# A formula keeps its letters; "/", "^" and "_" keep apart what lies above and below one another.
_WRITTEN = {
    "tab": "\t",
    "ptab": "\t",
    "cr": "\n",
    "noBreakHyphen": "-",
    "den": "/",
    "sup": "^",
    "sub": "_",
    "rubyBase": " ",
}
_SYMBOLS = dict(
    zip(
        (*range(0x41, 0x5B), *range(0x61, 0x7B), 0xA3, 0xA5, 0xAE, 0xB1, 0xB3, 0xB4, 0xB7, 0xB9, 0xBB),
        "ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖαβχδεφγηιϕκλμνοπθρστυϖωξψζ≤∞→±≥×•≠≈",  # noqa: RUF001 - they are Greek
        strict=True,
    )
)
"""The letters of the font Symbol, which Word notes by their place in it."""
_PRIVATE_USE = 0xF000


@dataclass
class Surroundings:
    """What the elements of a story refer to."""

    archive: Archive
    relationships: dict[str, Relationship]
    styles: Styles
    lists: Lists
    notes: dict[tuple[str, str], str] = field(default_factory=dict)
    """Footnotes, endnotes and comments that nothing has referred to yet, by their reference's name and their id."""
    notes_numbered: int = 0


def read_story(root: etree._Element, around: Surroundings, media: Media | None = None) -> Flow:
    """Names the pictures too if it is given `media`: for the body, whose relationships the surroundings know."""
    story = _Story(root, around, media)
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        if event == "end":
            story.end(element)
        elif not story.begin(element):
            walk.skip_subtree()
    return story.flow


class _Story:
    def __init__(self, root: etree._Element, around: Surroundings, media: Media | None) -> None:
        self.flow = Flow()
        self._around = around
        self._media = media
        # The last paragraph of a section ends it; whether the next one begins on a new page, only that one tells.
        sections = [section for section in root.iter("{*}sectPr") if not _is_former(section)]
        self._sections_to_come = [_begins_page(section) for section in reversed(sections[1:])]

    def begin(self, element: etree._Element) -> bool:
        """Whether what lies in the element is to be read too."""
        name = local_name(element)
        if name in _WRITTEN:
            self.flow.add_text(_WRITTEN[name])
            return True
        if name in _SKIPPED or self._is_left_out(name, element):
            return False
        self._begin_block(name, element)
        self._add_inline(name, element)
        return True

    def end(self, element: etree._Element) -> None:
        match local_name(element):
            case "p":
                self.flow.end()
                properties = child(element, "pPr")
                ends_section = properties is not None and child(properties, "sectPr") is not None
                if ends_section and self._sections_to_come and self._sections_to_come.pop():
                    self.flow.begin_on_new_page()
            case "tr":
                self.flow.end_row()
            case "tbl":
                self.flow.end()

    def _is_left_out(self, name: str, element: etree._Element) -> bool:
        """Hidden text, deleted rows, and all but the first of several forms of the same content."""
        match name:
            case "r":
                properties = child(element, "rPr")
                hidden = None if properties is None else child(properties, "vanish")
                return hidden is not None and is_on(hidden)
            case "tr":
                properties = child(element, "trPr")
                return properties is not None and child(properties, "del") is not None
            case "Choice" | "Fallback":
                return element.getprevious() is not None
        return False

    def _begin_block(self, name: str, element: etree._Element) -> None:
        match name:
            case "p":
                style = self._around.styles.resolve(parse_paragraph_style(child(element, "pPr")))
                if style.begins_page:
                    self.flow.begin_on_new_page()
                mark = self._around.lists.mark(style)
                self.flow.begin_paragraph(style.heading_level, mark, is_item=bool(mark))
            case "tbl":
                self.flow.begin_table()
            case "tr":
                self.flow.begin_row()
            case "tc":
                self.flow.begin_cell()
            case "docPr":
                self.flow.add_block(_caption(attribute(element, "descr")))
            case "textpath":
                self.flow.add_block(attribute(element, "string") or "")
            case "chart" | "relIds":
                self.flow.add_block(read_drawing(self._around.archive, self._around.relationships, element))
            case "blip" | "imagedata":
                self._add_picture(element)

    def _add_picture(self, element: etree._Element) -> None:
        name = find_picture(self._around.relationships, element)
        if name and self._media and self._media.is_wanted(self._around.archive, name):
            self.flow.add_picture(name)

    def _add_inline(self, name: str, element: etree._Element) -> None:
        match name:
            case "t":
                self.flow.add_text(element.text or "")
            case "br" if attribute(element, "type") == "page":
                self.flow.break_page()
            case "br":
                self.flow.add_text("\n")
            case "lastRenderedPageBreak":
                self.flow.break_page_where_rendered()
            case "sym":
                self.flow.add_text(_symbol(element))
            case "chr":
                self.flow.add_text(attribute(element, "val") or "")
            case "footnoteReference" | "endnoteReference" | "commentReference":
                self._add_note(name, attribute(element, "id") or "")

    def _add_note(self, name: str, note_id: str) -> None:
        text = self._around.notes.pop((name, note_id), "")
        if name != "commentReference" and text:
            self._around.notes_numbered += 1
            number = f"[{self._around.notes_numbered}]"
            self.flow.add_text(number)
            text = f"{number} {text}"
        self.flow.add_block(text)


def _is_former(section: etree._Element) -> bool:
    """Whether it is kept only to tell what a tracked change has changed."""
    parent = section.getparent()
    return parent is not None and local_name(parent) == "sectPrChange"


def _begins_page(section: etree._Element) -> bool:
    kind = child(section, "type")
    return kind is None or attribute(kind, "val") not in {"continuous", "nextColumn"}


def _caption(description: str | None) -> str:
    return f"Picture: {description.strip()}" if description and description.strip() else ""


def _symbol(element: etree._Element) -> str:
    try:
        place = int(attribute(element, "char") or "", 16)
    except ValueError:
        return ""
    if 0 <= place < _PRIVATE_USE:
        return chr(place)
    is_lettered = (attribute(element, "font") or "").lower() == "symbol"
    return _SYMBOLS.get(place - _PRIVATE_USE, "") if is_lettered else ""
