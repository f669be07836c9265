"""Judged sets: documents, questions, and which pieces answer which question.

A set is a folder with `corpus.jsonl.gz`, `queries.jsonl.gz` and `qrels.tsv`. What is judged is an *item*. In
most sets an item is a document, which our own chunker cuts. In two it is a piece of something longer, a turn
of a conversation or a stretch of a text; there the longer thing becomes the document and each item a section
of it, so that an item has neighbours, as it would in a real base.
"""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from evaluation.metrics import Judgments
from kb.engine.search.hybrid import Grouping

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
    judgments: Judgments
    tags: tuple[str, ...]
    """Search only documents with these tags."""
    language: str | None


@dataclass(frozen=True)
class JudgedSet:
    name: str
    documents: list[JudgedDocument]
    queries: list[JudgedQuery]
    grouping: Grouping
    """Whether an item is a whole document or a part of one."""


def load_set(folder: Path) -> JudgedSet:
    assemble, grouping = _SHAPES[folder.name]
    judgments: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        query_id, item_id, grade = line.split("\t")
        judgments.setdefault(query_id, {})[item_id] = int(grade)
    queries = [
        JudgedQuery(row["text"], judgments[row["id"]], _tags_of(row), row.get("lang"))
        for row in read_rows(folder / "queries.jsonl.gz")
    ]
    documents = list(assemble(read_rows(folder / "corpus.jsonl.gz")))
    return JudgedSet(folder.name, documents, queries, grouping)


def read_rows(path: Path) -> Iterator[Row]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _tags_of(row: Row) -> tuple[str, ...]:
    return (row["group"],) if "group" in row else ()


def _each_row_a_document(rows: Iterable[Row]) -> Iterator[JudgedDocument]:
    for row in rows:
        yield JudgedDocument(row["title"], [Item(row["id"], row["text"])])


def _stretches_of_documents(rows: Iterable[Row]) -> Iterator[JudgedDocument]:
    for name, stretches in groupby(rows, key=lambda row: row["doc"]):
        yield JudgedDocument(name, [Item(row["id"], row["text"]) for row in stretches])


def _turns_of_conversations(rows: Iterable[Row]) -> Iterator[JudgedDocument]:
    """A session is a document, titled with its date; who speaks is the heading of a turn."""
    for (group, _), turns in groupby(rows, key=lambda row: (row["group"], row["session"])):
        session = list(turns)
        items = [Item(row["id"], row["text"], heading=row["speaker"]) for row in session]
        yield JudgedDocument(session[0]["date"], items, tags=(group,))


_Assemble = Callable[[Iterable[Row]], Iterator[JudgedDocument]]

_SHAPES: dict[str, tuple[_Assemble, Grouping]] = {
    "scifact": (_each_row_a_document, Grouping.DOCUMENT),
    "cranfield": (_each_row_a_document, Grouping.DOCUMENT),
    "cosqa": (_each_row_a_document, Grouping.DOCUMENT),
    "chunkeval": (_stretches_of_documents, Grouping.CHUNK),
    "locomo": (_turns_of_conversations, Grouping.CHUNK),
    "xquad12": (_each_row_a_document, Grouping.DOCUMENT),
}

SET_NAMES = tuple(_SHAPES)
