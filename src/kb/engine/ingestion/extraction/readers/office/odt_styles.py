"""What an OpenDocument's styles make of a paragraph, a table, a span or a list."""

from dataclasses import dataclass, replace

from lxml import etree

from kb.engine.ingestion.extraction.readers.office.limits import MAX_ANCESTORS, MAX_MARK_CHARACTERS
from kb.engine.ingestion.extraction.readers.office.numbering import render_number
from kb.engine.ingestion.extraction.readers.shared.xml_trees import attribute, local_name, whole_number

_TITLE = "Title"
_PAGE = {"page", "even-page", "odd-page"}


@dataclass(frozen=True)
class Style:
    parent: str | None = None
    is_title: bool = False
    breaks_before: bool = False
    breaks_after: bool = False
    is_hidden: bool = False


@dataclass(frozen=True)
class ListLevel:
    format: str | None = None
    """None for a bullet; blank for neither bullet nor number."""
    prefix: str = ""
    suffix: str = ""
    start: int = 1

    def render_mark(self, count: int) -> str:
        if self.format is None:
            return "- "
        return f"{self.prefix}{render_number(count, self.format)}{self.suffix} ".lstrip() if self.format else ""


class Styles:
    def __init__(self, *roots: etree._Element | None) -> None:
        self._styles: dict[tuple[str, str], Style] = {}
        self._lists: dict[str, dict[int, ListLevel]] = {}
        for root in roots:
            for element in root.iter("{*}style", "{*}list-style") if root is not None else ():
                name = attribute(element, "name") or ""
                if local_name(element) == "list-style":
                    self._lists.setdefault(name, _parse_list_style(element))
                else:
                    self._styles.setdefault((attribute(element, "family") or "", name), _parse_style(element))

    def resolve(self, family: str, name: str | None) -> Style:
        """The style with all that it inherits; a plain one if there is none of that name."""
        resolved = Style()
        for _ in range(MAX_ANCESTORS):
            if name is None:
                break
            style = self._styles.get((family, name), Style())
            resolved = Style(
                is_title=resolved.is_title or name == _TITLE,
                breaks_before=resolved.breaks_before or style.breaks_before,
                breaks_after=resolved.breaks_after or style.breaks_after,
                is_hidden=resolved.is_hidden or style.is_hidden,
            )
            name = style.parent
        return resolved

    def list_level(self, name: str | None, level: int) -> ListLevel:
        """Levels count from 1. A list without a style has bullets."""
        return self._lists.get(name or "", {}).get(level, ListLevel())


def _parse_style(element: etree._Element) -> Style:
    # A paragraph that names a page layout begins a page of that layout.
    style = Style(attribute(element, "parent-style-name"), breaks_before=bool(attribute(element, "master-page-name")))
    for properties in element:
        if attribute(properties, "break-before") in _PAGE:
            style = replace(style, breaks_before=True)
        if attribute(properties, "break-after") in _PAGE:
            style = replace(style, breaks_after=True)
        if local_name(properties) == "text-properties" and attribute(properties, "display") == "none":
            style = replace(style, is_hidden=True)
    return style


def _parse_list_style(element: etree._Element) -> dict[int, ListLevel]:
    return {
        whole_number(attribute(level, "level"), 1): ListLevel(
            format=(attribute(level, "num-format") or "") if local_name(level).endswith("-number") else None,
            prefix=(attribute(level, "num-prefix") or "")[:MAX_MARK_CHARACTERS],
            suffix=(attribute(level, "num-suffix") or "")[:MAX_MARK_CHARACTERS],
            start=whole_number(attribute(level, "start-value"), 1),
        )
        for level in element
    }
