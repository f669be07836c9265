"""Properties of documents as a condition on the table `documents`: SQL with placeholders, and the values for them.

Nothing a caller sent is in the SQL.
"""

from kb.engine.model import DocumentQuery, Scope
from kb.engine.storage.tables.connection import Dialect


def condition_on_properties(wanted: DocumentQuery | Scope) -> tuple[str, list[object]]:
    parts, values = ["1 = 1"], list[object]()
    for column in ("format", "doc_type", "source_path"):
        value = getattr(wanted, column)
        if value is not None:
            parts.append(f"{column} = ?")
            values.append(value)
    for tag in wanted.tags:
        parts.append("id IN (SELECT document_id FROM document_tags JOIN tags ON tags.id = tag_id WHERE name = ?)")
        values.append(tag)
    return " AND ".join(parts), values


def condition_on_documents(dialect: Dialect, scope: Scope) -> tuple[str, list[object]]:
    condition, values = condition_on_properties(scope)
    parts = [condition]
    # Times are stored as text of fixed width, so days compare as text; "T99" is later than any time of day.
    if scope.created_from is not None:
        parts.append("created_at >= ?")
        values.append(scope.created_from.isoformat())
    if scope.created_to is not None:
        parts.append("created_at < ?")
        values.append(scope.created_to.isoformat() + "T99")
    for key, value in scope.metadata.items():
        condition, needed = dialect.metadata_equals(key, value)
        parts.append(condition)
        values.extend(needed)
    return " AND ".join(parts), values
