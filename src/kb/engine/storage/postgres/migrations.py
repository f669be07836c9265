"""Making the tables in an empty database, and bringing older ones to today's schema: numbered steps, in order.

Each start does what is left to do, in one transaction, which the first to come does and all others wait for.
"""

import uuid
from importlib import resources

from kb.engine.errors import Unavailable
from kb.engine.storage.postgres.connection import PostgresConnection
from kb.engine.storage.postgres.database import Database, repeating
from kb.engine.storage.tables.meta import declare_whole, read_meta, write_meta

# Any number will do that nobody else uses in the same database.
LOCK = 7_309_453_120


@repeating
def create_schema(database: Database, *, model_fingerprint: str) -> int:
    """Do the steps that the base has not had yet; returns its schema. Raises `Unavailable` for one that is newer."""
    steps = _load_steps()
    newest = max(steps)
    with database.read() as db:
        if _read_version(db) == newest:
            return newest
    with database.write() as db:
        # Of a large base, a step may take as long as it has to.
        db.execute("SET LOCAL statement_timeout = 0")
        db.execute("SET LOCAL lock_timeout = 0")
        db.execute("SELECT pg_advisory_xact_lock(?)", (LOCK,)).fetchall()
        _require_unicode(db)
        version = _read_version(db)
        if version > newest:
            raise Unavailable(
                f"The base has schema {version}, but this kb knows only up to {newest}. It was written by a newer kb: "
                "upgrade this one."
            )
        for number in range(version + 1, newest + 1):
            for statement in steps[number]:
                db.execute(statement)
        write_meta(db, "schema_version", str(newest))
        if version == 0:
            write_meta(db, "database_id", str(uuid.uuid4()))
            # There is no document without vectors of the model.
            declare_whole(db, model_fingerprint)
    return newest


def _read_version(db: PostgresConnection) -> int:
    # `to_regclass` may answer from what the connection knew before it had waited for the one who makes the tables.
    is_there = "SELECT EXISTS (SELECT 1 FROM pg_class WHERE relname = 'meta' AND pg_table_is_visible(oid))"
    if not db.execute(is_there).get:
        return 0
    return int(read_meta(db, "schema_version") or 0)


def _require_unicode(db: PostgresConnection) -> None:
    encoding = db.execute("SHOW server_encoding").get
    if encoding != "UTF8":
        raise Unavailable(f"The database at KB_STORE_URL is in {encoding}. Make one with ENCODING 'UTF8'.")


def _load_steps() -> dict[int, list[str]]:
    """The statements of each step by the schema it leads to: 0001_initial.sql leads to 1."""
    folder = resources.files("kb.engine.storage.postgres") / "schema"
    files = {int(file.name[:4]): file.read_text(encoding="utf-8") for file in folder.iterdir()}
    return {number: _split(text) for number, text in files.items()}


def _split(text: str) -> list[str]:
    lines = [line.partition("--")[0].rstrip() for line in text.splitlines()]
    return [statement.strip() for statement in "\n".join(lines).split(";") if statement.strip()]
