"""A document's text as it was read, before it is cut into chunks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Rows:
    """Makes each line of a section's text one row of a table."""

    header: str
    """Stands at the head of every chunk that is cut from the table; may be blank."""
    numbers: tuple[int, ...]
    """The number of each line's row in its sheet or file, from 1."""


@dataclass(frozen=True)
class Section:
    """A stretch of text that lies on one page, under one heading; cut into chunks by its length."""

    text: str
    heading: str | None = None
    """The path to it, "Chapter > Part"."""
    page_num: int | None = None
    rows: Rows | None = None
