"""Judged sets: documents, questions, and which pieces answer which question.

A set is a folder with `corpus.jsonl`, `queries.jsonl` and `qrels.tsv`, each plain or gzipped. What is judged is an
*item*, a row of the corpus. Usually an item is a document, which our own chunker cuts. A row with `session` is a turn
of a conversation and a row with `doc` a stretch of a text; there the longer thing becomes the document and each item
a section of it, so that an item has neighbours, as it would in a real base. Where rows and queries have a `group`, a
query is asked only of its own.
"""

import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb.cli.evaluating.measures import Judgments
from kb.engine.search.hybrid import Grouping

CORPUS, QUERIES, JUDGMENTS = "corpus.jsonl", "queries.jsonl", "qrels.tsv"

# The field that names what an item is a part of, and the field that is then the title of the whole.
TITLES_OF_WHOLES = {"session": "date", "doc": "doc"}

Row = dict[str, Any]  # a line of JSON as the set's makers wrote it


@dataclass(frozen=True)
class Item:
    id: str
    text: str
    heading: str | None = None


@dataclass(frozen=True)
class JudgedDocument:
    title: str
    items: list[Item]
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class JudgedQuery:
    text: str
    judgments: Judgments[str]
    tags: tuple[str, ...]
    """Search only documents with these tags."""
    language: str | None


@dataclass(frozen=True)
class JudgedSet:
    name: str
    documents: list[JudgedDocument]
    queries: list[JudgedQuery]
    """In the order of their ids, so that figures of two runs can be compared query by query."""
    grouping: Grouping
    """Whether an item is a whole document or a part of one."""


def find_sets(data: Path) -> list[Path]:
    """The folders in `data` that hold a set, by name."""
    names = (CORPUS, QUERIES, JUDGMENTS)
    return sorted(path for path in data.iterdir() if all(_find_file(path, name).exists() for name in names))


def load_set(folder: Path) -> JudgedSet:
    """A query of which nothing was judged relevant is left out: no ranking could answer it."""
    judgments = _read_judgments(folder)
    queries = [
        JudgedQuery(row["text"], judgments[str(row["id"])], _tags_of(row), row.get("lang"))
        for row in sorted(read_rows(folder, QUERIES), key=lambda row: str(row["id"]))
        if any(grade > 0 for grade in judgments.get(str(row["id"]), {}).values())
    ]
    rows_of_wholes: dict[tuple[object, ...], list[Row]] = {}
    for row in read_rows(folder, CORPUS):
        rows_of_wholes.setdefault(_whole_of(row), []).append(row)
    documents = [_assemble(rows) for rows in rows_of_wholes.values()]
    has_parts = any(field in TITLES_OF_WHOLES for field, *_ in rows_of_wholes)
    return JudgedSet(folder.name, documents, queries, Grouping.CHUNK if has_parts else Grouping.DOCUMENT)


def read_rows(folder: Path, name: str) -> Iterator[Row]:
    return map(json.loads, read_lines(folder, name))


def read_lines(folder: Path, name: str) -> Iterator[str]:
    """The lines of the file of that name, plain or gzipped, less those that are blank."""
    path = _find_file(folder, name)
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        yield from (line.rstrip("\n") for line in lines if line.strip())


def _find_file(folder: Path, name: str) -> Path:
    plain = folder / name
    return plain if plain.exists() else folder / f"{name}.gz"


def _read_judgments(folder: Path) -> dict[str, dict[str, int]]:
    judgments: dict[str, dict[str, int]] = {}
    _, *lines = read_lines(folder, JUDGMENTS)
    for line in lines:
        query_id, item_id, grade = line.split("\t")
        judgments.setdefault(query_id, {})[item_id] = int(grade)
    return judgments


def _tags_of(row: Row) -> tuple[str, ...]:
    return (str(row["group"]),) if "group" in row else ()


def _whole_of(row: Row) -> tuple[object, ...]:
    """What the row is a part of, or itself: the naming field, and what tells it from all others."""
    field = next((field for field in TITLES_OF_WHOLES if field in row), "id")
    return field, row.get("group"), row[field]


def _assemble(rows: Sequence[Row]) -> JudgedDocument:
    """The document of these rows. Who speaks is the heading of a turn."""
    field, *_ = _whole_of(rows[0])
    title = rows[0].get(TITLES_OF_WHOLES.get(str(field), "title"))
    items = [Item(str(row["id"]), row["text"], row.get("speaker")) for row in rows]
    return JudgedDocument(title or "", items, _tags_of(rows[0]))
