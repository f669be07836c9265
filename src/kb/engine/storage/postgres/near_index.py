"""The index of a model's vectors: made when they are many, while others read and write.

Row by row an index costs many times what the row itself does. So it is built after a base has become large and no
longer grows quickly, as during an import, and from then on kept by PostgreSQL.
"""

import logging

from kb.engine.model import VectorIndexState
from kb.engine.storage.postgres.connection import PostgresConnection
from kb.engine.storage.postgres.database import Database
from kb.engine.storage.postgres.matching import COMPARED, count_chunks
from kb.engine.storage.tables.rows import fetch_all

log = logging.getLogger(__name__)

# Between two looks, which come some seconds after one another.
GROWTH_AT_REST = 1.01
# With more of them searches become too slow to wait any longer.
MOST_WITHOUT_INDEX = 200_000

INDEXES = (
    "SELECT c.relname, i.indisvalid, EXISTS (SELECT 1 FROM pg_stat_progress_create_index AS p "
    "WHERE p.index_relid = c.oid) FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indexrelid "
    "WHERE i.indrelid = 'embeddings'::regclass AND c.relname LIKE 'embeddings_near_%'"
)


def build_near_index(database: Database, model: str, *, chunks_then: int) -> int:
    """If there are many vectors and no index of them, make one; drop those of models that are gone.

    Returns how many chunks there are, to be told at the next look.
    """
    with database.read() as db:
        indexes = fetch_all(db, INDEXES)
        wanted = db.dialect.near_index(model)
        is_there = any(name == wanted and (is_valid or is_being_made) for name, is_valid, is_being_made in indexes)
        dimension = db.execute("SELECT vector_dims(vector) FROM embeddings WHERE model = ? LIMIT 1", (model,)).get
        chunks = count_chunks(db)
        is_at_rest = chunks <= GROWTH_AT_REST * chunks_then or chunks > MOST_WITHOUT_INDEX
        is_possible = dimension is not None and dimension <= db.dialect.longest_indexed_vector
        is_wanted = is_possible and chunks > COMPARED and is_at_rest
        is_all_of_model = not db.execute("SELECT EXISTS (SELECT 1 FROM embeddings WHERE model != ?)", (model,)).get
    with database.outside_transactions() as db:
        for name, is_valid, is_being_made in indexes:
            # One that is not valid was left behind by somebody who was killed while making it.
            is_left = not is_valid and not is_being_made
            if is_left or (name != wanted and is_all_of_model and not is_being_made):
                db.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        if is_wanted and not is_there:
            log.info("Making an index of the vectors; until it is there, searches compare all of them.")
            db.execute(db.dialect.near_index_definition(model, dimension))
    return chunks


def describe_vectors(db: PostgresConnection, model: str) -> VectorIndexState:
    valid = {name for name, is_valid, _ in fetch_all(db, INDEXES) if is_valid}
    is_indexed = db.dialect.near_index(model) in valid
    return VectorIndexState("hnsw" if is_indexed else "exact", count_chunks(db), recall=None if is_indexed else 1.0)
