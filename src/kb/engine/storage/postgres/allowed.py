"""Which documents a search may find, as a condition on a table with a column `document_id`."""

from dataclasses import dataclass

from kb.engine.model import Scope
from kb.engine.storage.postgres.connection import PostgresConnection
from kb.engine.storage.tables.rows import fetch_all
from kb.engine.storage.tables.scope import condition_on_documents

# So few are named one by one, and all of their chunks looked at: no index of words or vectors is of use then.
FEW_CHUNKS = 5_000


@dataclass(frozen=True)
class AllowedDocuments:
    condition: str
    """By which their rows are found."""
    filter: str
    """The same, for rows that are found by something else."""
    values: list[object]
    chunks: int | None
    """How many chunks they have, if these are few."""


NO_CONDITION = "1 = 1"
EVERYTHING = AllowedDocuments(NO_CONDITION, NO_CONDITION, [], None)


def find_allowed(db: PostgresConnection, scope: Scope) -> AllowedDocuments:
    if not scope.limits_documents:
        return EVERYTHING
    condition, values = condition_on_documents(db.dialect, scope)
    found = fetch_all(db, f"SELECT id, chunk_count FROM documents WHERE {condition} LIMIT ?", (*values, FEW_CHUNKS + 1))
    chunks = sum(chunk_count for _, chunk_count in found)
    if len(found) <= FEW_CHUNKS and chunks <= FEW_CHUNKS:
        are_these = "document_id = ANY (?::bigint[])"
        return AllowedDocuments(are_these, are_these, [[row[0] for row in found]], chunks)
    are_among = f"document_id IN (SELECT id FROM documents WHERE {condition})"
    # IS TRUE keeps the planner, which takes many documents for few, from beginning with them.
    return AllowedDocuments(are_among, f"({are_among}) IS TRUE", values, None)
