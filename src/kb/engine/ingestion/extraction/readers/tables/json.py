"""JSON and JSON Lines as a person would read them.

Objects with the same few plain values are rows of a table, and other objects of an array are records, a section each.
Everything else is a line for each value, behind the way to it (`json_lines.py`). What is no JSON after all (cut off, or
with comments in it), nests too deep or is too much to hold is read as the plain text that it also is.
"""

import json
import re
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby, repeat
from pathlib import Path
from typing import Any

from kb.engine.ingestion.extraction.cleaning import clean
from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.shared.properties import make_properties
from kb.engine.ingestion.extraction.readers.tables.json_lines import is_plain, render_lines, render_scalar
from kb.engine.ingestion.extraction.readers.tables.rows import (
    MAX_HEADER_CHARACTERS,
    Head,
    Table,
    TableParts,
    cut_into_sections,
    make_row,
    part_of,
)
from kb.engine.ingestion.extraction.readers.text import plain_text
from kb.engine.ingestion.sections import Section
from kb.engine.ingestion.titles import render_path

# An object is a tuple of pairs, so that a key given twice is kept; numbers stay as they are written.
_DECODER = json.JSONDecoder(object_pairs_hook=tuple, parse_float=str, parse_int=str, parse_constant=str, strict=False)
_SPACE = re.compile(r"\s*")
_AFTER_ITEM = re.compile(r"\s*(?:,|(?P<end>\]))\s*")
# More columns are a heap, no table, and a longer cell is a text that wants its paragraphs.
_MAX_COLUMNS = 50
_LONGEST_CELL = 1_000


def read(path: Path) -> Extracted:
    text = plain_text.read_text(path)
    try:
        return _read_json(text)
    except (ValueError, RecursionError, MemoryError):
        return Extracted([[Section(text)]])


def _read_json(text: str) -> Extracted:
    """Raises ValueError if any of it is no JSON. Of many items, only one is in memory at a time."""
    columns = _Columns()
    first, count = None, 0
    for count, item in enumerate(_items(text), start=1):
        first = item if count == 1 else first
        columns.add(item)
    if count == 1 and not _is_array(text):
        return _read_document(first)
    table = Table(lambda: _read_items(_items(text), columns), range(part_of(count) + 1))
    return Extracted(TableParts([table]), unit="part")


def _read_document(document: Any) -> Extracted:
    entries = document if isinstance(document, tuple) else (("", document),)
    rows = 1 + sum(len(value) if isinstance(value, list) else 1 for _, value in entries)
    told = {key: value for key, value in reversed(entries) if isinstance(value, str)}
    # A number is a count of seconds, which may look like a date without its dashes.
    dates = {key: told[key] for key in ("created", "modified") if key in told and not told[key].isdigit()}
    properties = make_properties({"title": told.get("title", ""), "author": told.get("author", ""), **dates})
    return Extracted(
        TableParts([Table(partial(_read_entries, entries), range(part_of(rows) + 1))]),
        title=properties.title or make_properties({"title": told.get("name", "")}).title,
        metadata=properties.metadata,
        unit="part",
    )


def _items(text: str) -> Iterator[Any]:
    """The items of the array that the text is, or else the values that stand in it one after another."""
    position = _skip_space(text, 0)
    if _is_array(text):
        yield from _items_of_array(text, _skip_space(text, position + 1))
        return
    while position < len(text):
        item, position = _DECODER.raw_decode(text, position)
        yield item
        position = _skip_space(text, position)


def _items_of_array(text: str, position: int) -> Iterator[Any]:
    if text.startswith("]", position):
        return
    while True:
        item, position = _DECODER.raw_decode(text, position)
        yield item
        after = _AFTER_ITEM.match(text, position)
        if after is None or (after["end"] and after.end() < len(text)):
            raise ValueError("The array does not end where the text does.")
        if after["end"]:
            return
        position = after.end()


def _is_array(text: str) -> bool:
    return text.startswith("[", _skip_space(text, 0))


def _skip_space(text: str, position: int) -> int:
    space = _SPACE.match(text, position)
    return space.end() if space else position


class _Columns:
    """The columns of the table that some items make, in the order they are met, as long as they make one."""

    def __init__(self, items: Iterable[Any] = ()) -> None:
        self.names: dict[str, None] = {}
        self.are_a_table = True
        for item in items:
            self.add(item)

    def add(self, item: Any) -> None:
        if self.are_a_table:
            names = dict.fromkeys(key for key, _ in item) if _is_row(item) else {}
            self.names |= names
            is_short = len(self.names) <= _MAX_COLUMNS and sum(map(len, self.names)) <= MAX_HEADER_CHARACTERS
            self.are_a_table = bool(names) and len(names) == len(item) and is_short


def _is_row(item: Any) -> bool:
    return isinstance(item, tuple) and all(
        not isinstance(value, tuple | list)
        and not (isinstance(value, str) and ("\n" in value or len(value) > _LONGEST_CELL))
        for _, value in item
    )


def _read_entries(entries: tuple[tuple[str, Any], ...]) -> Iterator[tuple[int, Section]]:
    """The plain values of a document first, and then what is below each of its other keys."""
    lines = [line for key, value in entries if is_plain(value) for line in render_lines(key, value)]
    if lines:
        yield 1, Section("\n".join(lines))
    position = 1
    for key, value in entries:
        if is_plain(value):
            continue
        heading = render_path([clean(key)])
        if isinstance(value, list):
            for number, section in _read_items(value, _Columns(value), heading):
                yield position + number, section
            position += len(value)
        else:
            position += 1
            yield position, Section("\n".join([key, *render_lines("", value)]).strip(), heading)


def _read_items(items: Iterable[Any], columns: _Columns, heading: str | None = None) -> Iterator[tuple[int, Section]]:
    if columns.are_a_table:
        head = Head(clean(" | ".join(" ".join(name.split()) for name in columns.names)), heading)
        cells = ({key: "" if value is None else render_scalar(value) for key, value in item} for item in items)
        rows = (make_row(number, map(row.get, columns.names, repeat(""))) for number, row in enumerate(cells, start=1))
        return cut_into_sections((head, row) for row in rows if row.cells)
    return _read_records(items, heading)


def _read_records(items: Iterable[Any], heading: str | None) -> Iterator[tuple[int, Section]]:
    """Objects are sections; other items are lines of one, as far as they follow one another in the same part."""
    numbered = enumerate(items, start=1)
    for (is_object, _), group in groupby(numbered, lambda item: (isinstance(item[1], tuple), part_of(item[0]))):
        if is_object:
            for number, item in group:
                path = f"{heading} > record {number}" if heading else f"record {number}"
                yield number, Section("\n".join(render_lines("", item)), path)
        else:
            others = list(group)
            yield (
                others[0][0],
                Section("\n".join(line for _, item in others for line in render_lines("", item)), heading),
            )
