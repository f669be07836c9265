"""The text of an RTF document as its reader comes by it: from marks of ends to paragraphs, tables and pages."""

import re
from dataclasses import replace

from kb.engine.ingestion.extraction.readers.shared.outline import Outline, render_table
from kb.engine.ingestion.sections import Section

# A list that was made by hand, or by a program that knows no lists.
_TYPED_ITEM = re.compile(r"(?P<bullet>[•·◦▪‣\u2013-])\t+|(?P<number>\w{1,4}[.)])\t+")

BULLET = "- "


class Body:
    def __init__(self) -> None:
        self.written: list[str] = []
        """The paragraph that is being read; who reads adds to it."""
        self.mark = ""
        """What stands before it if it is an item of a list."""
        self._outline = Outline()
        self._page = 1
        self._expected_pages = 1
        self._is_page_due = False
        self._has_text = False
        self._cell: list[str] = []
        self._row: list[str] = []
        self._table: list[list[str]] = []
        self._notes: list[str] = []
        self._outline.begin_page(1)

    @property
    def title(self) -> str | None:
        return self._outline.title

    def end_paragraph(self, level: int | None, *, in_table: bool) -> None:
        """`level` is that of a heading; None for anything else."""
        text = join_halves("".join(self.written)).strip("\n")
        has_text = bool(text.strip())
        mark, self.mark = self.mark, ""
        self.written.clear()
        if in_table:
            self._cell.append(mark + text)
            return
        self._end_table()
        if has_text and self._is_page_due:
            self.break_page()
        self._has_text |= has_text
        if has_text and level is not None:
            self._outline.add_heading(level, text if mark == BULLET else mark + text)
        else:
            self._add(mark, text)
        self._add_notes()

    def end_cell(self) -> None:
        self.end_paragraph(None, in_table=True)
        self._row.append(" ".join(filter(None, self._cell)))
        self._cell = []

    def end_row(self) -> None:
        if self.written or self._cell:
            self.end_cell()
        if self._row:
            self._table.append(self._row)
            self._row = []

    def add_note(self, text: str, mark: str) -> None:
        """It stands after the paragraph or table that is being read."""
        note = text.strip()
        if note:
            self._notes.append(mark + note)
        if not (self.written or self._cell or self._row or self._table):
            self._add_notes()

    def break_page(self) -> None:
        self._page += 1
        self._is_page_due = False
        self._outline.begin_page(self._page)

    def expect_pages(self, number: int) -> None:
        """The program that saved it says that there are so many."""
        self._expected_pages = number

    def break_page_before_text(self) -> None:
        """As `break_page`, but only between two texts."""
        self._is_page_due = self._has_text

    def stay_on_page(self) -> None:
        self._is_page_due = False

    def sections(self) -> list[Section]:
        """All of it. A document that breaks no page, or not all of them, does not say what lies on which."""
        self.end_paragraph(None, in_table=False)
        sections = self._outline.sections()
        is_paged = self._page > 1 and self._page >= self._expected_pages
        return sections if is_paged else [replace(section, page_num=None) for section in sections]

    def _add(self, mark: str, text: str) -> None:
        typed = _TYPED_ITEM.match(text)
        if typed and not mark:
            mark = BULLET if typed["bullet"] else f"{typed['number']} "
            text = text[typed.end() :]
        if mark and text.strip():
            self._outline.add_item(mark + text)
        else:
            self._outline.add_paragraph(text)

    def _end_table(self) -> None:
        self.end_row()
        if self._table:
            self._outline.add_paragraph(render_table(self._table))
            self._table = []

    def _add_notes(self) -> None:
        for note in self._notes:
            self._outline.add_paragraph(note)
        self._notes = []


def join_halves(text: str) -> str:
    """RTF counts in units of UTF-16, so that a rare character comes in two halves."""
    return text.encode("utf-16-le", errors="surrogatepass").decode("utf-16-le", errors="replace")
