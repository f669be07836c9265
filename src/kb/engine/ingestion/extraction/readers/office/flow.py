"""The running text of a word processor's document, built up as its elements open and close.

Paragraphs, tables and notes lie inside one another in any way: a text box in a paragraph, a table in a cell. What
stands inside a paragraph comes after it; a table in a table too, so that the rows of both stay rows.
"""

from dataclasses import dataclass, field

from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.shared.outline import Outline, render_table
from kb.engine.ingestion.extraction.readers.shared.properties import Properties
from kb.engine.ingestion.sections import Section


@dataclass(frozen=True)
class Block:
    text: str
    page: int
    level: int | None = None
    """That of a heading; None for anything else."""
    is_item: bool = False
    is_table: bool = False
    picture: str | None = None
    """The name of the one that stands here instead of text."""


@dataclass
class _Paragraph:
    level: int | None
    mark: str
    is_item: bool
    pieces: list[tuple[int, list[str]]] = field(default_factory=list)
    """Its text by page."""
    after: list[Block] = field(default_factory=list)


@dataclass
class _Table:
    rows: list[list[list[Block]]] = field(default_factory=list)
    row_began_on: int = 1
    row_ended_on: int = 1

    @property
    def cell(self) -> list[Block]:
        """The one that was begun last; what stands outside of all cells opens one, lest it be lost."""
        if not self.rows:
            self.rows.append([])
        if not self.rows[-1]:
            self.rows[-1].append([])
        return self.rows[-1][-1]


class Flow:
    """Every paragraph and table that is begun is to be ended."""

    def __init__(self) -> None:
        self.page = 1
        self.has_rendered_breaks = False
        self.has_words = False
        """Whether any paragraph has; what describes a picture does not count."""
        self.blocks: list[Block] = []
        self._open: list[_Paragraph | _Table] = []
        self._pictures: set[str] = set()
        self._is_empty = True
        self._follows_hard_break = False

    @property
    def text(self) -> str:
        """All of it on one line."""
        return " ".join(" ".join(block.text.split()) for block in self.blocks)

    def begin_paragraph(self, level: int | None = None, mark: str = "", *, is_item: bool = False) -> None:
        """`mark` stands before its text if it has any: a bullet, a number, "Comment:"."""
        self._open.append(_Paragraph(level, mark, is_item))

    def add_text(self, text: str) -> None:
        """What stands outside of all paragraphs is white space, and is passed over."""
        paragraph = self._open[-1] if self._open else None
        if not isinstance(paragraph, _Paragraph) or not text:
            return
        if not paragraph.pieces or paragraph.pieces[-1][0] != self.page:
            paragraph.pieces.append((self.page, []))
        paragraph.pieces[-1][1].append(text)
        if not text.isspace():
            self._follows_hard_break = False
            self.has_words = True

    def add_block(self, text: str) -> None:
        """A note, or the words of a picture: after the paragraph that it belongs to."""
        if text.strip():
            self._deliver([Block(text, self.page)])

    def add_picture(self, name: str) -> None:
        """After the paragraph that it stands in; only the first time that it is shown."""
        self._follows_hard_break = False
        if name not in self._pictures:
            self._pictures.add(name)
            self._deliver([Block("", self.page, picture=name)])

    def begin_table(self) -> None:
        self._open.append(_Table())

    def begin_row(self) -> None:
        if table := self._table():
            table.rows.append([])
            table.row_began_on = table.row_ended_on = self.page

    def begin_cell(self) -> None:
        """The cells of a row stand side by side: each begins on the row's first page, and may run on to the next."""
        if table := self._table():
            if not table.rows:
                self.begin_row()
            table.row_ended_on = max(table.row_ended_on, self.page)
            self.page = table.row_began_on
            table.rows[-1].append([])

    def end_row(self) -> None:
        if table := self._table():
            self.page = max(table.row_ended_on, self.page)

    def end(self) -> None:
        """Ends the paragraph or table that was begun last."""
        ended = self._open.pop()
        self._is_empty = False
        self._deliver(_blocks_of_table(ended) if isinstance(ended, _Table) else _blocks_of_paragraph(ended))

    def break_page(self) -> None:
        """A break that the author made."""
        self.page += 1
        self._follows_hard_break = True

    def begin_on_new_page(self) -> None:
        """As `break_page`; at the very beginning of the document it does nothing."""
        if not self._is_empty:
            self.break_page()

    def break_page_where_rendered(self) -> None:
        """A break that the program noted where a page ended; it notes those again that the author made."""
        self.has_rendered_breaks = True
        if not self._follows_hard_break:
            self.page += 1
        self._follows_hard_break = False

    def _table(self) -> _Table | None:
        table = self._open[-1] if self._open else None
        return table if isinstance(table, _Table) else None

    def _deliver(self, blocks: list[Block]) -> None:
        around = self._open[-1] if self._open else None
        if isinstance(around, _Paragraph):
            around.after.extend(blocks)
        elif isinstance(around, _Table):
            around.cell.extend(blocks)
        else:
            self.blocks.extend(blocks)


def extract(flow: Flow, margins: list[Section], properties: Properties, *, is_paged: bool) -> Extracted:
    """The document that the flow is the text of; `is_paged` says whether its pages are known."""
    outline = Outline()
    for block in flow.blocks:
        page_num = block.page if is_paged else None
        if block.picture:
            outline.add_picture(block.picture, page_num, is_page=not flow.has_words)
            continue
        if page_num:
            outline.begin_page(page_num)
        if block.level is not None:
            outline.add_heading(block.level, block.text)
        elif block.is_item:
            outline.add_item(block.text)
        else:
            outline.add_paragraph(block.text)
    return Extracted(
        parts=[[*outline.content(), *margins]],
        title=properties.title or outline.title,
        metadata={**properties.metadata, **({"pages": flow.page} if is_paged else {})},
    )


def _blocks_of_paragraph(paragraph: _Paragraph) -> list[Block]:
    pieces = [(page, _strip_lines("".join(texts))) for page, texts in paragraph.pieces]
    blocks = [Block(text, page, is_item=paragraph.is_item) for page, text in pieces if text]
    if blocks:
        first = blocks[0]
        blocks[0] = Block(paragraph.mark + first.text, first.page, paragraph.level, first.is_item)
    return blocks + paragraph.after


def _strip_lines(text: str) -> str:
    return "\n".join(line.strip() for line in text.split("\n")).strip()


def _blocks_of_table(table: _Table) -> list[Block]:
    if len(table.rows) == 1 and len(table.rows[0]) == 1:
        # A frame around text, not a table.
        return table.rows[0][0]
    blocks: list[Block] = []
    inner: list[Block] = []
    page, lines = 0, list[list[str]]()
    for row in table.rows:
        in_row = [block for cell in row for block in cell]
        inner.extend(block for block in in_row if block.is_table or block.picture)
        row_page = next((block.page for block in in_row), page)
        if row_page != page and lines:
            blocks.append(Block(render_table(lines), page, is_table=True))
            lines = []
        page = row_page
        lines.append([" ".join(block.text for block in cell if block.text and not block.is_table) for cell in row])
    blocks.append(Block(render_table(lines), page, is_table=True))
    return [block for block in blocks if block.text] + inner
