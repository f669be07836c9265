"""What PostgreSQL says in its own words, and what its relatives may have to say otherwise.

Index definitions, settings of a search and how rows are held stand here and nowhere else, so that a relative
(`docs/design/scale.md` says what each needs) is another class beside this one.
"""

import json
import re

# With the default of 40 many of the nearest are missed. Of half a million, 400 finds .977 of the ten nearest in 14 ms;
# 200 finds .951 in 10 ms, 800 finds .995 in 23 ms.
LEAST_SEARCHED = 400
# pgvector takes no more.
MOST_SEARCHED = 1_000
# An iterative scan that finds nothing would otherwise go through the whole index.
MOST_SCANNED = 100_000

# As JSON writes them.
NUL = r"\u0000"
NOT_NUL = r"\uffff"


class PostgresDialect:
    # pgvector indexes no longer ones.
    longest_indexed_vector = 4_000
    id_list = "(SELECT value::bigint FROM jsonb_array_elements_text(?::jsonb) AS ids (value))"
    text_list = "(SELECT value FROM jsonb_array_elements_text(?::jsonb) AS texts (value))"
    for_update = "FOR UPDATE"
    for_use = "FOR KEY SHARE"
    skip_locked = "FOR UPDATE SKIP LOCKED"
    join_from_left = "JOIN"
    # As `kb.engine.words.fold` has it, as far as a server can be told so.
    names_hold = (
        "strpos(replace(replace(lower(regexp_replace(normalize("
        "title || chr(10) || filename || chr(10) || COALESCE(source_path, ''), NFKD"
        ") COLLATE \"default\", '[\u0300-\u036f]', '', 'g')), '\u00df', 'ss'), '\u03c2', '\u03c3'), "
        "normalize(?, NFKD)) > 0"
    )

    # Of a copy, in another database or on another server, it is another.
    place = (
        "SELECT system_identifier || '/' || (SELECT oid FROM pg_database WHERE datname = current_database()) "
        "FROM pg_control_system()"
    )

    def by_index(self, index: str) -> str:
        """The planner needs no hint."""
        return ""

    def metadata_equals(self, key: str, value: object) -> tuple[str, list[object]]:
        # A NUL, which PostgreSQL has no room for, is compared as another character that nobody writes.
        condition = f"replace(metadata, '{NUL}', '{NOT_NUL}')::jsonb -> ?::text = ?::jsonb"
        told = (json.dumps(part).replace(NUL, NOT_NUL) for part in (key, value))
        return condition, [json.loads(next(told)), next(told)]

    def near_index(self, model: str) -> str:
        """The name of the index of a model's vectors."""
        return f"embeddings_near_{re.sub('[^a-z0-9]', '', model.lower())[-32:]}"

    def near_index_definition(self, model: str, dimension: int) -> str:
        return (
            f"CREATE INDEX CONCURRENTLY IF NOT EXISTS {self.near_index(model)} ON embeddings "
            f"USING hnsw ({self._indexed(dimension)} halfvec_ip_ops) WHERE model = {_quote(model)}"
        )

    def nearest(self, model: str, dimension: int, condition: str) -> str:
        """The nearest of all that meet the condition, in about their order. Bound are, after what the condition binds,
        the vector and how many."""
        return (
            "SELECT chunk_id, document_id, ordinal, vector FROM embeddings "
            f"WHERE model = {_quote(model)} AND {condition} "
            f"ORDER BY {self._indexed(dimension)} <#> ?::vector::halfvec({dimension}) LIMIT ?"
        )

    def tuning(self, limit: int) -> dict[str, object]:
        """What to set for a search by the index. Without iterative scans one with a filter finds too little, untold."""
        return {
            "hnsw.ef_search": min(max(limit, LEAST_SEARCHED), MOST_SEARCHED),
            "hnsw.iterative_scan": "relaxed_order",
            "hnsw.max_scan_tuples": max(MOST_SCANNED, 2 * limit),
            # Of work_mem, in which it remembers what it has seen: with less it gives up long before.
            "hnsw.scan_mem_multiplier": 8,
            # The planner does not know how well the index finds, and takes it for dearer than it is.
            "enable_seqscan": "off",
        }

    def sample(self, percent: float) -> str:
        """After the name of a table: about so many of its rows, the same ones each time."""
        return f"TABLESAMPLE SYSTEM ({percent:f}) REPEATABLE (1)"

    def _indexed(self, dimension: int) -> str:
        """Half the numbers' bits are half the memory; what is found is compared by all of them."""
        return f"(vector::halfvec({dimension}))"


def _quote(text: str) -> str:
    # A question mark would be taken for a placeholder.
    return "'" + text.replace("'", "''").replace("?", "' || chr(63) || '") + "'"
