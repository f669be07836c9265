"""Vectors as they stand in the base, read in batches."""

import json
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import apsw
import numpy as np

from kb.engine.model import Ids, Vectors
from kb.engine.storage.tables.rows import damage_told

ROWS_PER_BATCH = 4_096

# CROSS keeps the tables in this order, in which the vectors already lie as they are wanted: sorted by chunk.
ALL = (
    "SELECT chunk_id, document_id, ordinal, vector FROM embeddings "
    "CROSS JOIN chunks ON chunks.id = chunk_id CROSS JOIN documents ON documents.id = document_id "
    "WHERE vector_model = ? ORDER BY chunk_id"
)
# The + keeps SQLite from walking through all documents of the model.
OF_DOCUMENTS = (
    "SELECT chunk_id, document_id, ordinal, vector FROM documents "
    "JOIN chunks ON chunks.document_id = documents.id JOIN embeddings ON chunk_id = chunks.id "
    "WHERE +vector_model = ? AND documents.id IN (SELECT value FROM json_each(?)) ORDER BY chunk_id"
)


class Batch(NamedTuple):
    """Vectors and whose they are, sorted by chunk; at least one."""

    chunk_ids: Ids
    document_ids: Ids
    ordinals: Ids
    matrix: Vectors


def count_chunks(db: apsw.Connection) -> int:
    """Of any model."""
    count: int = db.execute("SELECT count(*) FROM chunks").get
    return count


def count_vectors(db: apsw.Connection, model: str) -> int:
    count: int = db.execute("SELECT COALESCE(sum(chunk_count), 0) FROM documents WHERE vector_model = ?", (model,)).get
    return min(count, count_chunks(db))


def count_chunks_of(db: apsw.Connection, document_ids: Collection[int]) -> int:
    count: int = db.execute(
        "SELECT count(*) FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(document_ids)),),
    ).get
    return count


def read_chunk_ids(db: apsw.Connection, document_ids: Collection[int]) -> dict[int, set[int]]:
    """Of those documents that have chunks."""
    ids: dict[int, set[int]] = {}
    for document_id, chunk_id in db.execute(
        "SELECT document_id, id FROM chunks WHERE document_id IN (SELECT value FROM json_each(?))",
        (json.dumps(list(document_ids)),),
    ):
        ids.setdefault(document_id, set()).add(chunk_id)
    return ids


def read_vectors(db: apsw.Connection, model: str) -> Iterator[Batch]:
    yield from _in_batches(db.execute(ALL, (model,)))


def read_vectors_of(db: apsw.Connection, model: str, document_ids: Collection[int]) -> Iterator[Batch]:
    yield from _in_batches(db.execute(OF_DOCUMENTS, (model, json.dumps(sorted(document_ids)))))


def _in_batches(found: Iterator[Sequence[Any]]) -> Iterator[Batch]:
    while rows := list(islice(found, ROWS_PER_BATCH)):
        yield _to_batch(rows)


@damage_told()
def _to_batch(rows: Sequence[Sequence[Any]]) -> Batch:
    chunk_ids, document_ids, ordinals, vectors = zip(*rows, strict=True)
    matrix = np.frombuffer(b"".join(vectors), "<f4").reshape(len(rows), len(vectors[0]) // 4)
    return Batch(np.array(chunk_ids), np.array(document_ids), np.array(ordinals), matrix.astype(np.float32, copy=False))
