"""Bring a database file to the newest schema, one numbered step at a time, each in a transaction of its own."""

import uuid
from importlib import resources

import apsw

from kb.engine.errors import Unavailable
from kb.engine.storage.sqlite.database import Database


def migrate(database: Database) -> int:
    """Apply the steps the file has not had yet and return the version it then has.

    Raises `Unavailable` for a file that this version of kb cannot take over; that file is not touched.
    """
    steps = _load_steps()
    newest = max(steps)
    while True:
        with database.write() as db:
            version = _read_version(db)
            if version == newest:
                return newest
            _refuse_unknown(version, steps)
            following = min(step for step in steps if step > version)
            db.execute(steps[following])
            if version == 0:
                db.execute("INSERT INTO meta VALUES ('database_id', ?)", (str(uuid.uuid4()),))
            db.pragma("user_version", following)


def _load_steps() -> dict[int, str]:
    """The SQL of each step by the version it leads to: 0003_initial.sql leads to 3."""
    folder = resources.files("kb.engine.storage.sqlite") / "schema"
    return {int(file.name[:4]): file.read_text() for file in folder.iterdir() if file.name.endswith(".sql")}


def _read_version(db: apsw.Connection) -> int:
    return int(db.pragma("user_version"))


def _refuse_unknown(version: int, steps: dict[int, str]) -> None:
    if version > max(steps):
        raise Unavailable(
            f"The base has schema {version}, but this kb knows only up to {max(steps)}. "
            "It was written by a newer kb: upgrade, or restore a backup made with this version."
        )
    if version != 0 and version not in steps:
        raise Unavailable(f"The base has schema {version}, which this kb cannot take over.")
