"""Documents that a search may find, as conditions on a table with a column `document_id`."""

from kb.engine.storage.tables.allowed import AllowedDocuments

# A list takes more than so much for each.
BYTES_PER_ID = 12
NO_CONDITION: tuple[str, list[object]] = ("1 = 1", [])


def are_named(allowed: AllowedDocuments | None) -> tuple[str, list[object]]:
    """By which the rows of a few documents are found."""
    return NO_CONDITION if allowed is None else ("document_id = ANY (?::bigint[])", [allowed.ids.tolist()])


def are_among(allowed: AllowedDocuments | None) -> tuple[str, list[object]]:
    """For rows that are found by something else.

    A bit for each document is sent in no time and asked in no time. A list, or a query for them, would be made a table
    of for each statement, and the planner would think about every one of them.
    """
    if allowed is None:
        return NO_CONDITION
    bits = allowed.set.bits
    if bits is None or len(bits) > BYTES_PER_ID * len(allowed.ids):
        condition, values = are_named(allowed)
        # IS TRUE keeps the planner from beginning with the documents.
        return f"({condition}) IS TRUE", values
    return "CASE WHEN document_id < ? THEN get_bit(?::bytea, document_id) = 1 ELSE FALSE END", [8 * len(bits), bits]
