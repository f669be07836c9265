"""What is known of the base as a whole, by name."""

from kb.engine.storage.tables.connection import Executor


def read_meta(db: Executor, key: str) -> str | None:
    value: str | None = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).get
    return value


def write_meta(db: Executor, key: str, value: str) -> None:
    db.execute(
        "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (key, value),
    )


def declare_whole(db: Executor, model: str) -> None:
    """From now on search uses the vectors of this model: every document has them."""
    write_meta(db, "model", model)
