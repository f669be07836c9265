"""Tables in HTML: rows of data, or a page's layout; which of the two, each row shows by what is in it."""

from kb.engine.ingestion.extraction.readers.shared.outline import Outline, render_table

# A row of several paragraphs that is longer than a chunk: nobody reads it as a row.
_LONGEST_ROW = 1_000


class Table:
    """Takes rows and cells as they come, and gives the outline its rows: as lines, or as the paragraphs in them."""

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._rows: list[list[str]] = []
        self._row: list[list[str]] = []
        self._cell: list[str] | None = None
        self._is_layout = False
        self._rows_spanned: dict[int, int] = {}
        """How many further rows each column is taken in, by a cell above."""

    @property
    def is_in_cell(self) -> bool:
        return self._cell is not None

    def begin_row(self) -> None:
        self.end_row()
        self._is_layout = False

    def begin_cell(self, columns: int, rows: int) -> None:
        """A cell that spans so many columns and rows; what it does not fill is empty."""
        if self._is_layout:
            return
        self._pass_spanned()
        start = len(self._row)
        self._cell = []
        self._row += [self._cell, *([] for _ in range(columns - 1))]
        if rows > 1:
            self._rows_spanned.update(dict.fromkeys(range(start, start + columns), rows - 1))

    def add(self, block: str) -> None:
        """A block of text in the cell that was begun."""
        if self._cell is not None:
            self._cell.append(block)

    def end_cell(self) -> None:
        self._cell = None

    def end_row(self) -> None:
        self.end_cell()
        if not self._row:
            return
        self._pass_spanned()
        beyond = [column for column in self._rows_spanned if column >= len(self._row)]
        for column in beyond:
            self._take_spanned(column)
        is_text = sum(len(block) for cell in self._row for block in cell) > _LONGEST_ROW
        if is_text and any(len(cell) > 1 for cell in self._row):
            self.lay_open()
        else:
            self._rows.append([" ".join(cell) for cell in self._row])
            self._row = []

    def end(self) -> None:
        self.end_row()
        self._give_rows()

    def lay_open(self) -> None:
        """What comes is no data (a heading, a table): the row is layout, and each block in it stands by itself."""
        self._give_rows()
        for cell in self._row:
            for block in cell:
                self._outline.add_paragraph(block)
        self._row = []
        self._cell = None
        self._is_layout = True

    def _give_rows(self) -> None:
        self._outline.add_paragraph(render_table(self._rows))
        self._rows = []

    def _pass_spanned(self) -> None:
        while len(self._row) in self._rows_spanned:
            self._take_spanned(len(self._row))
            self._row.append([])

    def _take_spanned(self, column: int) -> None:
        self._rows_spanned[column] -= 1
        if not self._rows_spanned[column]:
            del self._rows_spanned[column]
