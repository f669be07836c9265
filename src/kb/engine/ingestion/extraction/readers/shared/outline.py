"""From a document's headings and paragraphs, in the order they are read, to sections that know page and heading."""

import re
from collections.abc import Iterable

from kb.engine.ingestion.extraction.cleaning import clean
from kb.engine.ingestion.extraction.extracted import Picture
from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.titles import MAX_HEADING_CHARACTERS, render_path, shorten

MAX_LEVEL = 10
"""The deepest that any format knows; what claims to lie deeper lies there too."""

# It shows only at the end of a line, and inside a word it hides the word from search.
_SOFT_HYPHEN = "\xad"
_BLANK_LINES = re.compile(r"\n{3,}")


class Outline:
    """Takes headings, paragraphs, items and pages as they come; blank ones are passed over, all text is tidied.

    As in Markdown, a heading begins a section, and stands in its text too. One with nothing between it and its
    first sub-heading begins the sub-heading's section: by itself it would be a chunk that says nothing.
    """

    def __init__(self) -> None:
        self._content: list[Section | Picture] = []
        self._pictures: list[Picture] = []
        self._path: list[tuple[int, str]] = []
        self._top: tuple[int, str] | None = None
        self._blocks: list[list[str]] = []
        self._page_num: int | None = None
        self._follows_heading = False
        self._follows_item = False

    @property
    def title(self) -> str | None:
        """The first heading of level 1 or above, else the first of all."""
        return self._top[1] if self._top else None

    def add_heading(self, level: int, text: str) -> None:
        """Levels count from 1, the highest; 0 is the title of the whole document."""
        line = " ".join(tidy(text).split())
        if not line:
            return
        level = min(level, MAX_LEVEL)
        is_first_below = self._follows_heading and self._path[-1][0] < level
        if not is_first_below:
            self._end_section()
        heading = (level, shorten(line, MAX_HEADING_CHARACTERS))
        self._path = [*(above for above in self._path if above[0] < level), heading]
        if self._top is None or level <= 1 < self._top[0]:
            self._top = heading
        self._add_block(line)
        self._follows_heading = True

    def add_paragraph(self, text: str) -> None:
        """A paragraph, or a whole table (`render_table`), which stands between blank lines."""
        self._add_block(tidy(text))

    def add_item(self, text: str) -> None:
        """An item of a list: a line of its own, with no blank line between it and the item before."""
        item = tidy(text)
        if item and self._follows_item:
            self._blocks[-1].append(item)
        elif item:
            self._add_block(item)
            self._follows_item = True

    def end_list(self) -> None:
        """The next item belongs to another list, and a blank line stands between the two."""
        self._follows_item = False

    def begin_page(self, page_num: int) -> None:
        """What follows lies on this page; no section lies on two."""
        if page_num != self._page_num:
            self._end_section()
            self._page_num = page_num

    def add_picture(self, name: str, page_num: int | None, *, is_page: bool) -> None:
        """Follows the section that it stands in: cut at each picture, a manual would fall into mere lines."""
        self._pictures.append(Picture(name, page_num, self._heading, is_page))

    def content(self) -> list[Section | Picture]:
        """All that was added so far."""
        self._end_section()
        return self._content

    def sections(self) -> list[Section]:
        """The same without the pictures."""
        return [item for item in self.content() if isinstance(item, Section)]

    @property
    def _heading(self) -> str | None:
        return render_path(title for _, title in self._path)

    def _add_block(self, block: str) -> None:
        if block:
            self._blocks.append([block])
            self._follows_heading = self._follows_item = False

    def _end_section(self) -> None:
        if self._blocks:
            text = "\n\n".join("\n".join(lines) for lines in self._blocks)
            self._content.append(Section(text, self._heading, self._page_num))
        self._content += self._pictures
        self._blocks, self._pictures = [], []
        self._follows_heading = self._follows_item = False


def render_table(rows: Iterable[Iterable[str]]) -> str:
    """A row a line, its cells between bars; empty cells at the end of a row and empty rows are left out."""
    return "\n".join(filter(None, map(_render_row, rows)))


def section_of_margins(texts: Iterable[str]) -> list[Section]:
    """The section with what headers and footers say, each once; none if they hold nothing but page numbers."""
    telling = [text for text in dict.fromkeys(map(tidy, texts)) if any(map(str.isalpha, text))]
    return [Section("\n\n".join(telling))] if telling else []


def tidy(text: str) -> str:
    """The text as `clean` leaves it, with no blanks at the ends of lines, no runs of blank lines, no soft hyphens."""
    lines = clean(text).replace(_SOFT_HYPHEN, "").split("\n")
    return _BLANK_LINES.sub("\n\n", "\n".join(line.rstrip() for line in lines)).strip("\n")


def _render_row(cells: Iterable[str]) -> str:
    texts = [" ".join(tidy(cell).split()) for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return " | ".join(texts)
