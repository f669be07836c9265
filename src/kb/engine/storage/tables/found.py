"""Reading what was found."""

import json
from collections.abc import Sequence

from kb.engine.model import ChunkId, FoundChunk
from kb.engine.storage.tables.connection import Database
from kb.engine.storage.tables.rows import CHUNK_COLUMNS, fetch_all, load_documents, to_chunks


class FoundRows:
    """The part of the store that reads what its searches found."""

    _database: Database

    def load_chunks(self, chunk_ids: Sequence[ChunkId]) -> list[FoundChunk]:
        with self._database.read() as db:
            rows = fetch_all(
                db,
                f"SELECT {CHUNK_COLUMNS}, document_id FROM chunks WHERE id IN {db.dialect.id_list}",
                (json.dumps(list(chunk_ids)),),
            )
            documents = load_documents(db, sorted({row[-1] for row in rows}))
        chunks = to_chunks(rows)
        found = {chunk.id: FoundChunk(chunk, documents[row[-1]]) for chunk, row in zip(chunks, rows, strict=True)}
        return [found[chunk_id] for chunk_id in chunk_ids if chunk_id in found]
