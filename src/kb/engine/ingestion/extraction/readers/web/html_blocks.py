"""What a person reads in HTML: headings, paragraphs, items, rows; in order, and spaced as a browser would.

Nothing is laid out and no style is applied, so what a page hides at first (a tab, a menu, an answer) is text as well.
Links are their words alone; of pictures their description is taken, of forms what is filled in.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from kb.engine.ingestion.extraction.readers.shared.outline import Outline
from kb.engine.ingestion.extraction.readers.web.html_tables import Table

_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset(("ul", "ol", "menu", "dir", "dl"))
_ITEMS = frozenset(("li", "option", "dt", "dd"))
_TABLE_PARTS = frozenset(("table", "tr", "td", "th"))
_VERBATIM = frozenset(("pre", "textarea", "listing", "xmp", "plaintext"))
_SHAPING = {**dict.fromkeys(_VERBATIM, "verbatim"), "svg": "svg", "a": "a", "sup": "sup"}
_BLOCKS = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "caption", "center", "desc", "details", "dialog", "div"),
        *(
            "dl",
            "fieldset",
            "figcaption",
            "figure",
            "footer",
            "foreignobject",
            "form",
            "header",
            "hgroup",
            "hr",
            "html",
        ),
        *("legend", "main", "nav", "optgroup", "p", "search", "section", "select", "summary", "text", "title"),
        *(*_HEADINGS, *_LISTS, *_ITEMS, *_TABLE_PARTS, *_VERBATIM),
    )
)
_UNSEEN = frozenset(
    (
        *("annotation", "annotation-xml", "datalist", "iframe", "metadata", "noembed", "noframes", "noscript", "rp"),
        *("script", "style", "template"),
    )
)
# A book's pages and the like by their links; people are given its table of contents.
_LISTS_FOR_PROGRAMS = frozenset(("page-list", "landmarks"))
_SAID_AROUND = {"q": ('"', '"'), "rt": ("(", ")"), "button": (" ", " ")}
_UNSAID_INPUTS = frozenset(("hidden", "password", "file", "color", "range"))
_TICKED_INPUTS = frozenset(("checkbox", "radio"))

_SPACE = re.compile(r"[ \t\n\r\f]+")
_SPACE_AT_BREAK = re.compile(r" *\n *| {2,}")
# Stands for a space that counts while text is gathered, as it does in HTML itself.
_KEPT_SPACE = "\xa0"
# The mark of a footnote would become part of the word before it.
_BEFORE_NOTE = " "
_NUMBER = re.compile(r"[0-9]{1,6}")
_DEEPEST_INDENT = 10
# A heading that somebody forgot to close goes on to the end of the text.
_LONGEST_HEADING = 300
# How many empty cells a document may ask for by spans: a few letters can ask for a million.
_MAX_EMPTY_CELLS = 100_000


@dataclass
class _Item:
    """An item of a list: its first block stands behind its mark, the others under the first."""

    mark: str
    indent: str

    def take_mark(self) -> str:
        mark, self.mark = self.mark, self.indent
        return mark


class BlockReader:
    """Is told of each element's start, text and end, in order and well nested, and fills an outline.

    `told` is what the page says of itself: its `title`, its `language`, and what stands in `meta` elements, by name.
    """

    def __init__(self, outline: Outline) -> None:
        self.told: dict[str, str] = {}
        self._outline = outline
        self._pieces: list[str] = []
        self._level: int | None = None
        self._lists: list[int | None] = []
        """For each list that is open the number of its next item, or None if it has no numbers."""
        self._items: list[_Item] = []
        self._tables: list[Table] = []
        self._empty_cells_left = _MAX_EMPTY_CELLS
        self._open: Counter[str] = Counter()
        """How many elements of each kind are open that change what is inside them."""

    def start(self, name: str, attributes: Mapping[str, str]) -> bool:
        """Whether the element's content counts; if not, nothing inside it is to be told, though its end is."""
        if name in _UNSEEN or (name == "nav" and attributes.get("epub:type") in _LISTS_FOR_PROGRAMS):
            return False
        if name in _BLOCKS:
            self._end_block(before=name)
        self._open[_SHAPING.get(name, "")] += 1
        if name in _HEADINGS:
            self._lay_row_open()
            self._level = _HEADINGS[name]
        elif name in _LISTS:
            self._begin_list(name, attributes)
        elif name in _ITEMS:
            self._begin_item(name, attributes)
        elif name in _TABLE_PARTS:
            self._begin_table_part(name, attributes)
        if attributes:
            self._note_what_is_told(name, attributes)
            self._note_role(attributes.get("role") or attributes.get("epub:type") or "", attributes)
        if self._open["a"] and self._open["sup"]:
            self._pieces.append(_BEFORE_NOTE)
        self._pieces.append(_said_by(name, attributes))
        return True

    def text(self, text: str | None) -> None:
        if not text:
            return
        if self._open["verbatim"]:
            self._pieces.append(text.replace("\r\n", "\n").replace(" ", _KEPT_SPACE))
        else:
            self._pieces.append(_SPACE.sub(" ", text))

    def end(self, name: str) -> None:
        if name in _UNSEEN:
            return
        if name in _SAID_AROUND:
            self._pieces.append(_SAID_AROUND[name][1])
        if name == "title" and self._is_title_of_page():
            self.told["title"] = self._take_block()
        elif name in _HEADINGS:
            self._end_heading()
        elif name in _BLOCKS:
            self._end_block()
        self._open[_SHAPING.get(name, "")] -= 1
        if name in _LISTS:
            self._lists.pop()
        elif name in _ITEMS:
            self._items.pop()
        elif name in _TABLE_PARTS:
            self._end_table_part(name)

    def close(self) -> None:
        """All has been told."""
        self._end_heading()

    def _is_title_of_page(self) -> bool:
        """Whether the title that ends is it: there are others in drawings and, by mistake, in the text."""
        return self._level is None and not self._open["svg"] and not self.told.get("title")

    def _end_heading(self) -> None:
        self._end_block(before="h1")

    def _end_block(self, before: str = "") -> None:
        if self._level is not None and before not in _HEADINGS and before != "table":
            # A heading is one line, however it is built.
            self._pieces.append("\n")
            return
        level, self._level = self._level, None
        block = self._take_block()
        table = self._tables[-1] if self._tables else None
        if not block.strip():
            return
        if level is not None and len(block) <= _LONGEST_HEADING:
            self._outline.add_heading(level, block)
        elif table and table.is_in_cell:
            table.add(block)
        else:
            self._lay_row_open()
            self._add_to_outline(block)

    def _take_block(self) -> str:
        block = _SPACE_AT_BREAK.sub(lambda space: "\n" if "\n" in space[0] else " ", "".join(self._pieces))
        self._pieces = []
        return block.strip(" \n").replace(_KEPT_SPACE, " ")

    def _add_to_outline(self, block: str) -> None:
        if self._items:
            item = self._items[-1]
            self._outline.add_item(item.take_mark() + block.replace("\n", "\n" + item.indent))
        else:
            self._outline.add_paragraph(block)

    def _note_what_is_told(self, name: str, attributes: Mapping[str, str]) -> None:
        language = attributes.get("lang") or attributes.get("xml:lang")
        if language and name in ("html", "body"):
            self.told.setdefault("language", language)
        elif name == "meta":
            key = attributes.get("name") or attributes.get("property") or ""
            self.told.setdefault(key.lower(), attributes.get("content") or "")

    def _note_role(self, role: str, attributes: Mapping[str, str]) -> None:
        if "noteref" in role:
            self._pieces.append(_BEFORE_NOTE)
        elif "pagebreak" in role and self._level is None and not self._tables:
            # Books tell so where the pages of the printed edition begin.
            number = _NUMBER.fullmatch(attributes.get("title") or attributes.get("aria-label") or "")
            if number:
                self._end_block()
                self._outline.begin_page(int(number[0]))

    def _begin_list(self, name: str, attributes: Mapping[str, str]) -> None:
        if not self._lists:
            self._outline.end_list()
        self._lists.append(_number(attributes.get("start")) if name == "ol" else None)

    def _begin_item(self, name: str, attributes: Mapping[str, str]) -> None:
        mark = {"dt": "", "dd": "  "}.get(name, "- ")
        if name == "li" and self._lists and self._lists[-1] is not None:
            number = _number(attributes.get("value"), otherwise=self._lists[-1])
            self._lists[-1] = number + 1
            mark = f"{number}. "
        indent = "  " * min(len(self._lists) - 1, _DEEPEST_INDENT)
        self._items.append(_Item(indent + mark, indent + " " * len(mark)))

    def _begin_table_part(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "table":
            self._lay_row_open()
            self._tables.append(Table(self._outline))
        elif self._tables and name == "tr":
            self._tables[-1].begin_row()
        elif self._tables:
            columns, rows = _number(attributes.get("colspan")) or 1, _number(attributes.get("rowspan")) or 1
            if columns * rows > self._empty_cells_left:
                columns = rows = 1
            self._empty_cells_left -= columns * rows - 1
            self._tables[-1].begin_cell(columns, rows)

    def _end_table_part(self, name: str) -> None:
        if name == "table":
            self._tables.pop().end()
        elif self._tables and name == "tr":
            self._tables[-1].end_row()
        elif self._tables:
            self._tables[-1].end_cell()

    def _lay_row_open(self) -> None:
        if self._tables:
            self._tables[-1].lay_open()


def _said_by(name: str, attributes: Mapping[str, str]) -> str:
    """What the element itself shows, apart from its content."""
    if name == "br":
        return "\n"
    if name in _SAID_AROUND:
        return _SAID_AROUND[name][0]
    said = None
    if name in ("img", "area"):
        said = attributes.get("alt")
    elif name == "optgroup":
        said = attributes.get("label")
    elif name == "input":
        said = _said_by_input(attributes)
    return f" {_SPACE.sub(' ', said)} " if said else ""


def _said_by_input(attributes: Mapping[str, str]) -> str | None:
    kind = attributes.get("type", "").lower()
    if kind in _TICKED_INPUTS:
        return "[x]" if "checked" in attributes else "[ ]"
    if kind in _UNSAID_INPUTS:
        return None
    return attributes.get("value") or attributes.get("alt") or attributes.get("placeholder")


def _number(text: str | None, otherwise: int = 1) -> int:
    found = _NUMBER.fullmatch(text.strip()) if text else None
    return int(found[0]) if found else otherwise
