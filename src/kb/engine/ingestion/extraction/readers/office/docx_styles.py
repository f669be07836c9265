"""What a DOCX file's styles and list definitions make of a paragraph: its heading level, its number or bullet."""

import re
from dataclasses import dataclass

from lxml import etree

from kb.engine.ingestion.extraction.readers.office.limits import MAX_ANCESTORS, MAX_MARK_CHARACTERS
from kb.engine.ingestion.extraction.readers.office.numbering import render_number
from kb.engine.ingestion.extraction.readers.shared.xml_trees import attribute, child, local_name, whole_number

MAX_LIST_LEVEL = 8

# As the names stand in every language's Word; only their ids are translated.
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
_NOT_A_HEADING = 9
_PLACE = re.compile(r"%([1-9])")


@dataclass
class ParagraphStyle:
    """What a paragraph's properties say; None where they say nothing."""

    based_on: str | None = None
    outline_level: int | None = None
    list_id: str | None = None
    list_level: int | None = None
    begins_page: bool | None = None

    @property
    def heading_level(self) -> int | None:
        """As in `Outline`; a title's outline level is -1."""
        is_heading = self.outline_level is not None and self.outline_level < _NOT_A_HEADING
        return self.outline_level + 1 if is_heading and self.outline_level is not None else None


def parse_paragraph_style(properties: etree._Element | None) -> ParagraphStyle:
    style = ParagraphStyle()
    for element in properties if properties is not None else ():
        match local_name(element):
            case "pStyle":
                style.based_on = attribute(element, "val")
            case "outlineLvl":
                style.outline_level = whole_number(attribute(element, "val"))
            case "pageBreakBefore":
                style.begins_page = is_on(element)
            case "numPr":
                list_id, level = child(element, "numId"), child(element, "ilvl")
                style.list_id = None if list_id is None else attribute(list_id, "val")
                style.list_level = None if level is None else whole_number(attribute(level, "val"))
    return style


def is_on(element: etree._Element) -> bool:
    return attribute(element, "val") not in {"0", "false", "off"}


class Styles:
    def __init__(self, root: etree._Element | None) -> None:
        self._styles: dict[str, ParagraphStyle] = {}
        self._default: str | None = None
        for element in root.iter("{*}style") if root is not None else ():
            style_id = attribute(element, "styleId")
            if style_id is not None and attribute(element, "type") == "paragraph":
                self._styles[style_id] = _parse_style(element)
                if attribute(element, "default") in {"1", "true", "on"}:
                    self._default = style_id

    def resolve(self, style: ParagraphStyle) -> ParagraphStyle:
        """The style with what it inherits filled in."""
        resolved = ParagraphStyle()
        parent = style.based_on or self._default
        for _ in range(MAX_ANCESTORS):
            _fill_in(resolved, style)
            if parent is None or parent not in self._styles:
                break
            style = self._styles[parent]
            parent = style.based_on
        return resolved


@dataclass
class _ListLevel:
    format: str = "decimal"
    text: str = ""
    start: int = 1


class Lists:
    """Counts the items of each list as they come."""

    def __init__(self, root: etree._Element | None) -> None:
        self._definitions: dict[str, str] = {}
        self._levels: dict[str, dict[int, _ListLevel]] = {}
        self._counted_as: dict[str, str] = {}
        self._counts: dict[str, list[int | None]] = {}
        for element in root if root is not None else ():
            if local_name(element) == "abstractNum":
                self._levels[attribute(element, "abstractNumId") or ""] = {
                    whole_number(attribute(level, "ilvl")): _parse_level(level)
                    for level in element.iterchildren("{*}lvl")
                }
            elif local_name(element) == "num":
                definition = child(element, "abstractNumId")
                told = None if definition is None else attribute(definition, "val")
                list_id = attribute(element, "numId") or ""
                self._definitions[list_id] = told or ""
                # Lists of one definition count on from one another, but for those that say where they start.
                starts_anew = next(element.iter("{*}startOverride"), None) is not None
                self._counted_as[list_id] = f"list {list_id}" if starts_anew else self._definitions[list_id]

    def mark(self, style: ParagraphStyle) -> str:
        """What stands before the text of the next paragraph in this style: "- ", "2.1 ", or nothing."""
        list_id = style.list_id or ""
        if list_id not in self._definitions:
            return ""
        at = min(style.list_level or 0, MAX_LIST_LEVEL)
        levels = self._levels.get(self._definitions[list_id], {})
        counts = self._counts.setdefault(self._counted_as[list_id], [None] * (MAX_LIST_LEVEL + 1))
        level = levels.get(at, _ListLevel())
        count = counts[at]
        counts[at] = level.start if count is None else count + 1
        counts[at + 1 :] = [None] * (MAX_LIST_LEVEL - at)
        indent = "  " * at
        if level.format == "bullet":
            return f"{indent}- "
        if level.format == "none" or not level.text:
            return ""

        def render_place(place: re.Match[str]) -> str:
            of = int(place[1]) - 1
            above = levels.get(of, _ListLevel())
            return render_number(counts[of] or above.start, above.format)

        return f"{indent}{_PLACE.sub(render_place, level.text).strip()} "


def _parse_style(element: etree._Element) -> ParagraphStyle:
    style = parse_paragraph_style(child(element, "pPr"))
    based_on, name = child(element, "basedOn"), child(element, "name")
    style.based_on = None if based_on is None else attribute(based_on, "val")
    told = "" if name is None else attribute(name, "val") or ""
    heading = _HEADING.fullmatch(told)
    if told.lower() == "title":
        style.outline_level = -1
    elif heading and style.outline_level is None:
        style.outline_level = int(heading[1]) - 1
    return style


def _fill_in(resolved: ParagraphStyle, style: ParagraphStyle) -> None:
    if resolved.outline_level is None:
        resolved.outline_level = style.outline_level
    if resolved.list_id is None:
        resolved.list_id = style.list_id
    if resolved.list_level is None:
        resolved.list_level = style.list_level
    if resolved.begins_page is None:
        resolved.begins_page = style.begins_page


def _parse_level(element: etree._Element) -> _ListLevel:
    level = _ListLevel()
    for below in element:
        match local_name(below):
            case "numFmt":
                level.format = attribute(below, "val") or level.format
            case "lvlText":
                level.text = (attribute(below, "val") or "")[:MAX_MARK_CHARACTERS]
            case "start":
                level.start = whole_number(attribute(below, "val"))
    return level
