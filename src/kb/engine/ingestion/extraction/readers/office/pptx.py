"""PPTX: a part a slide, with its title as heading, its shapes in their order, its comments and its speaker notes.

Pictures follow the text of their slide. Those of layouts and masters are decoration.
"""

from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.extracted import Extracted, Picture
from kb.engine.ingestion.extraction.readers.office.drawings import paragraph_of_drawing, read_drawing
from kb.engine.ingestion.extraction.readers.office.media import Media, find_picture, find_size, is_background
from kb.engine.ingestion.extraction.readers.office.package import (
    Relationship,
    find_main_part,
    find_parts,
    read_relationships,
    relationship_id,
)
from kb.engine.ingestion.extraction.readers.office.properties import read_office_properties
from kb.engine.ingestion.extraction.readers.shared.archive import Archive, open_archive
from kb.engine.ingestion.extraction.readers.shared.outline import Outline, render_table
from kb.engine.ingestion.extraction.readers.shared.refusals import corrupt
from kb.engine.ingestion.extraction.readers.shared.xml_trees import (
    attribute,
    child,
    local_name,
    parse_xml,
    whole_number,
)
from kb.engine.ingestion.sections import Section

_TITLES = {"title", "ctrTitle"}
_LEFT_OUT_OF_SLIDES = {"sldNum"}
_LEFT_OUT_OF_NOTES = {"sldNum", "sldImg", "hdr", "ftr", "dt"}
# Scans have margins, and need not have the shape of a slide.
_MOST_OF_A_SLIDE = 0.5


def read(path: Path) -> Extracted:
    with open_archive(path) as archive:
        main = find_main_part(archive)
        presentation = parse_xml(archive.read(main))
        if local_name(presentation) != "presentation":
            raise corrupt("Its main part is not a presentation.")
        parts = _list_slides(presentation, read_relationships(archive, main))
        slides = _Slides(path, parts, _area(presentation))
        properties = read_office_properties(archive)
    return Extracted(
        parts=slides,
        title=properties.title or slides.title,
        metadata={**properties.metadata, "slides": len(slides)},
        unit="slide",
    )


class _Slides:
    """Opens the file anew for each slide, so that a damaged one spoils no other."""

    def __init__(self, path: Path, parts: list[str], area: int) -> None:
        self._path = path
        self._parts = parts
        self._area = area
        self._media = Media()

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, index: int) -> list[Section | Picture]:
        part, number = self._parts[index], index + 1
        with open_archive(self._path) as archive:
            relationships = read_relationships(archive, part)
            shapes = _Shapes(archive, relationships, left_out=_LEFT_OUT_OF_SLIDES)
            shapes.read(parse_xml(archive.read(part)))
            sections = _read_sections(archive, relationships, shapes, number)
            pictures: dict[str, bool] = {}
            for blip in shapes.blips:
                name = find_picture(relationships, blip)
                if name and self._media.is_wanted(archive, name, place=number):
                    pictures[name] = pictures.get(name, False) or self._fills_slide(blip)
        heading = sections[0].heading if sections else None
        return sections + [
            Picture(name, number, heading, is_page=fills_slide and not shapes.has_words)
            for name, fills_slide in pictures.items()
        ]

    def _fills_slide(self, blip: etree._Element) -> bool:
        width, height = find_size(blip) or (0, 0)
        return is_background(blip) or width * height > _MOST_OF_A_SLIDE * self._area > 0

    @property
    def title(self) -> str | None:
        """That of the first slide."""
        try:
            return next((section.heading for section in self[0]), None) if self else None
        except Unreadable:
            return None


def _list_slides(presentation: etree._Element, relationships: dict[str, Relationship]) -> list[str]:
    """In the order of the show, in which the files' names need not be; hidden ones too."""
    listed = child(presentation, "sldIdLst")
    ids = [] if listed is None else [relationship_id(slide) for slide in listed]
    return list(dict.fromkeys(relationships[id].part for id in ids if id in relationships))


def _area(presentation: etree._Element) -> int:
    """That of a slide; 0 if it is not told."""
    size = child(presentation, "sldSz")
    width, height = (0 if size is None else whole_number(attribute(size, side)) for side in ("cx", "cy"))
    return width * height


def _read_sections(
    archive: Archive, relationships: dict[str, Relationship], shapes: "_Shapes", number: int
) -> list[Section]:
    outline = Outline()
    outline.begin_page(number)
    outline.add_heading(1, shapes.title)
    for block in shapes.blocks:
        outline.add_paragraph(block)
    for comments in find_parts(archive, relationships, "comments"):
        for comment in _read_comments(parse_xml(archive.read(comments))):
            outline.add_paragraph(f"Comment: {comment}")
    for notes_part in find_parts(archive, relationships, "notesSlide"):
        notes = _Shapes(archive, read_relationships(archive, notes_part), left_out=_LEFT_OUT_OF_NOTES)
        notes.read(parse_xml(archive.read(notes_part)))
        if notes.blocks:
            outline.add_paragraph("Notes: " + "\n\n".join(notes.blocks))
    return outline.sections()


class _Shapes:
    """The words in the shapes of a slide: a block a shape, or a table; and where it refers to pictures."""

    def __init__(self, archive: Archive, relationships: dict[str, Relationship], *, left_out: set[str]) -> None:
        self.title = ""
        self.blocks: list[str] = []
        self.blips: list[etree._Element] = []
        self.has_words = False
        """Other than those that describe a picture."""
        self._archive = archive
        self._relationships = relationships
        self._left_out = left_out
        self._lines: list[str] = []
        self._rows: list[list[list[str]]] | None = None

    def read(self, root: etree._Element) -> None:
        walk = etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            if event == "end":
                self._end(element)
            elif not self._begin(element):
                walk.skip_subtree()

    def _begin(self, element: etree._Element) -> bool:
        """Whether what lies in the element is to be read too."""
        match local_name(element):
            case "sp":
                return _placeholder(element) not in self._left_out
            case "Choice" | "Fallback":
                # Several forms of the same content: the first is for the newest programs.
                return element.getprevious() is None
            case "p":
                into = self._rows[-1][-1] if self._rows and self._rows[-1] else self._lines
                into.append(paragraph_of_drawing(element))
                return False
            case "tbl":
                self._rows = []
            case "tr" if self._rows is not None:
                self._rows.append([])
            case "tc" if self._rows:
                self._rows[-1].append([])
            case "cNvPr" if description := (attribute(element, "descr") or "").strip():
                self.blocks.append(f"Picture: {description}")
            case "blip":
                self.blips.append(element)
            case "chart" | "relIds":
                self._add(read_drawing(self._archive, self._relationships, element))
        return True

    def _end(self, element: etree._Element) -> None:
        match local_name(element):
            case "sp":
                text, self._lines = "\n".join(filter(None, self._lines)), []
                if _placeholder(element) in _TITLES and not self.title:
                    self.title = text
                    self.has_words |= bool(text)
                else:
                    self._add(text)
            case "tbl":
                rows, self._rows = self._rows or [], None
                self._add(render_table([" ".join(cell) for cell in row] for row in rows))

    def _add(self, block: str) -> None:
        if block.strip():
            self.blocks.append(block)
            self.has_words = True


def _placeholder(shape: etree._Element) -> str | None:
    """What the shape holds the place of; None for a shape of its own."""
    for names in shape.iterchildren("{*}nvSpPr"):
        for placeholder in names.iter("{*}ph"):
            return attribute(placeholder, "type") or "obj"
    return None


def _read_comments(root: etree._Element) -> Iterator[str]:
    """Of older files (plain text) and of newer ones (paragraphs)."""
    for comment in root.iter("{*}text", "{*}txBody"):
        text = comment.text if local_name(comment) == "text" else "\n".join(map(paragraph_of_drawing, comment))
        if text and text.strip():
            yield text.strip()
