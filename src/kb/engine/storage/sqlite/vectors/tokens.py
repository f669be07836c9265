"""Which files belong to a base: their token stands in the base itself."""

import apsw

KEY = "vector_files"


def read_token(db: apsw.Connection) -> str | None:
    token: str | None = db.execute("SELECT value FROM meta WHERE key = ?", (KEY,)).get
    return token


def write_token(db: apsw.Connection, token: str) -> None:
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (KEY, token))


def remove_token(db: apsw.Connection) -> None:
    db.execute("DELETE FROM meta WHERE key = ?", (KEY,))
