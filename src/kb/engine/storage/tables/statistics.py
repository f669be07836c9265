"""How much there is."""

from kb.engine.model import Statistics, VectorIndexState
from kb.engine.storage.tables.connection import Connection
from kb.engine.storage.tables.documents import RECENCY
from kb.engine.storage.tables.rows import fetch_all, to_datetime


def read_statistics(
    db: Connection, model: str, *, schema_version: int, database_bytes: int, vector_index: VectorIndexState
) -> Statistics:
    by_type = fetch_all(db, "SELECT doc_type, count(*), sum(size_bytes) FROM documents GROUP BY doc_type")
    by_model = dict(fetch_all(db, "SELECT vector_model, sum(chunk_count) FROM documents GROUP BY vector_model"))
    last_changed = db.execute(f"SELECT max({RECENCY}) FROM documents").get
    usable = int(by_model.pop(model, 0))
    stale = int(sum(by_model.values()))
    return Statistics(
        schema_version=schema_version,
        documents_by_type={doc_type: count for doc_type, count, _ in by_type},
        chunks=usable + stale,
        vectors=usable,
        stale_vectors=stale,
        size_bytes=int(sum(size for _, _, size in by_type)),
        database_bytes=database_bytes,
        last_changed_at=to_datetime(last_changed),
        vector_index=vector_index,
    )
