"""Foreign parts in the schema of a base, and the messages with which kb refuses them."""

from dataclasses import dataclass

import apsw


@dataclass(frozen=True)
class ForeignPart:
    sql: str
    message: str


def _edit(name: str, old: str, new: str) -> str:
    return f"UPDATE sqlite_schema SET sql = replace(sql, '{old}', '{new}') WHERE name = '{name}'"  # noqa: S608 - ours


FOREIGN_PARTS = {
    "trigger": ForeignPart(
        "CREATE TRIGGER evil AFTER INSERT ON tags BEGIN DELETE FROM documents; END",
        "the trigger 'evil', which kb did not",
    ),
    "view": ForeignPart("CREATE VIEW evil AS SELECT 1", "the view 'evil', which kb did not"),
    "table": ForeignPart("CREATE TABLE evil (x)", "the table 'evil', which kb did not"),
    "index": ForeignPart("CREATE INDEX evil ON tags (lower(name))", "the index 'evil', which kb did not"),
    "virtual table": ForeignPart("CREATE VIRTUAL TABLE evil USING fts5 (x)", "the table 'evil', which kb did not"),
    "name": ForeignPart('CREATE TABLE "e\x1b[2J\u202e" (x)', r"the table 'e.x1b\[2J.u202e', which"),
    "default": ForeignPart(
        _edit("documents", "DEFAULT 1", "DEFAULT (random())"), "the table 'documents', which is not as"
    ),
    "generated column": ForeignPart(
        _edit("tags", "UNIQUE", "UNIQUE, evil AS (hex(name))"), "the table 'tags', which is not as"
    ),
    "check": ForeignPart(_edit("tags", "UNIQUE", "UNIQUE CHECK (name > 1)"), "the table 'tags', which is not as"),
    "index of ours": ForeignPart(
        _edit("documents_by_content", "(content_hash)", "(lower(content_hash))"),
        "the index 'documents_by_content', which",
    ),
    "trigger of ours": ForeignPart(
        _edit("chunk_is_added", "WHERE id = new.id", "WHERE 1"), "the trigger 'chunk_is_added', which is not as"
    ),
    "full text": ForeignPart(_edit("chunks_fts", "porter", ""), "the table 'chunks_fts', which is not as"),
    "table of the full text": ForeignPart(
        _edit("chunks_fts_data", "block BLOB", "block BLOB CHECK (id > 0)"), "the table 'chunks_fts_data', which"
    ),
    "statistics": ForeignPart(
        "ANALYZE; " + _edit("sqlite_stat1", "tbl,idx,stat", "tbl,idx,stat,evil AS (1)"),
        "the table 'sqlite_stat1', which",
    ),
    "missing trigger": ForeignPart("DROP TRIGGER chunk_is_added", "lacks the trigger 'chunk_is_added'"),
    "twice": ForeignPart(
        "INSERT INTO sqlite_schema SELECT * FROM sqlite_schema WHERE name = 'chunk_is_added'",
        "already exists|damaged|twice",
    ),
}


def put_foreign_part(db: apsw.Connection, what: str) -> None:
    """Change the schema as a person with an editor for files could."""
    db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    db.pragma("writable_schema", "on")
    db.execute(FOREIGN_PARTS[what].sql).fetchall()
