"""Rows of facts: a table on a terminal, lines with tabs in a pipe."""

from collections.abc import Collection, Sequence

from rich.console import Console
from rich.text import Text

from kb.cli.render.terminal import one_line

_GAP = "  "
_LEAST_COLUMNS = 12


def print_table(
    console: Console, header: Sequence[str], rows: Sequence[Sequence[Text]], *, right: Collection[str] = ()
) -> None:
    """As wide as the terminal at most: what is too long in the last column is cut there."""
    cells = [[Text(name, "dim") for name in header], *([cell.copy() for cell in row] for row in rows)]
    widths = [max(cell.cell_len for cell in column) for column in zip(*cells, strict=True)]
    room = max(console.width - sum(widths[:-1]) - len(_GAP) * (len(widths) - 1), _LEAST_COLUMNS)
    for row in cells:
        for name, cell, width in zip(header, row[:-1], widths, strict=False):
            cell.align("right" if name in right else "left", width)
        row[-1].truncate(room, overflow="ellipsis")
        console.print(Text(_GAP).join(row))


def print_row(*cells: object) -> None:
    """For scripts: one line, and nothing in a cell that could be taken for the next one."""
    print("\t".join(one_line(str(cell)) for cell in cells))
