"""Which files belong to a base: their token stands in the base itself."""

import apsw

from kb.engine.storage.tables.meta import read_meta, write_meta

KEY = "vector_files"


def read_token(db: apsw.Connection) -> str | None:
    return read_meta(db, KEY)


def write_token(db: apsw.Connection, token: str) -> None:
    write_meta(db, KEY, token)


def remove_token(db: apsw.Connection) -> None:
    db.execute("DELETE FROM meta WHERE key = ?", (KEY,))
