"""The chunks of a document: written together, with their words and vectors; and read, as a search has found them."""

import json
import uuid
from collections.abc import Sequence

import numpy as np

from kb.engine.model import ChunkId, DocumentId, FoundChunk, IndexedText
from kb.engine.model.portable import PortableChunk
from kb.engine.storage.tables.connection import Connection, Database
from kb.engine.storage.tables.rows import (
    CHUNK_BYTES,
    CHUNK_COLUMNS,
    DOCUMENT_BYTES,
    count_fitting,
    fetch_all,
    load_documents,
    to_chunks,
)
from kb.engine.words import space_out


class ChunksPart:
    """The part of the store that reads what its searches found."""

    _database: Database

    def load_chunks(self, chunk_ids: Sequence[ChunkId]) -> list[FoundChunk]:
        with self._database.read() as db:
            sizes: dict[int, int] = dict(
                db.execute(
                    f"SELECT chunks.id, {CHUNK_BYTES} + {DOCUMENT_BYTES} "
                    f"FROM chunks JOIN documents ON documents.id = document_id WHERE chunks.id IN {db.dialect.id_list}",
                    (json.dumps(list(chunk_ids)),),
                )
            )
            there = [chunk_id for chunk_id in chunk_ids if chunk_id in sizes]
            fitting = there[: count_fitting(sizes[chunk_id] for chunk_id in there)]
            rows = fetch_all(
                db,
                f"SELECT {CHUNK_COLUMNS}, document_id FROM chunks WHERE id IN {db.dialect.id_list}",
                (json.dumps(fitting),),
            )
            documents = load_documents(db, sorted({row[-1] for row in rows}))
        chunks = to_chunks(rows)
        found = {chunk.id: FoundChunk(chunk, documents[row[-1]]) for chunk, row in zip(chunks, rows, strict=True)}
        return [found[chunk_id] for chunk_id in fitting]


def insert_chunks(db: Connection, document_id: DocumentId, text: IndexedText) -> None:
    passages = [chunk.passage for chunk in text.chunks]
    chunks = [PortableChunk(uuid.uuid4(), passage.text, passage.heading, passage.page_num) for passage in passages]
    vectors = np.stack([chunk.vector for chunk in text.chunks]) if chunks else None
    db.insert_chunks(document_id, chunks, vectors, model=text.model_fingerprint)
    db.execute(
        "UPDATE documents SET chunk_count = ?, vector_model = ? WHERE id = ?",
        (len(chunks), text.model_fingerprint, document_id),
    )


def spaced_or_none(text: str | None) -> str | None:
    """The text as it must be indexed, or None where that is the text itself: most text is stored once."""
    if text is None:
        return None
    spaced = space_out(text)
    return None if spaced == text else spaced
