"""What a base is known by, and where its originals are."""

from kb.engine.storage.tables.connection import Database
from kb.engine.storage.tables.meta import read_meta, write_meta


class BaseRows:
    """The part of the store that tells one base from another."""

    _database: Database

    def read_base_id(self) -> str:
        with self._database.read() as db:
            return str(read_meta(db, "database_id"))

    def read_mark_of_originals(self) -> str | None:
        with self._database.read() as db:
            return read_meta(db, "originals")

    def adopt_originals(self, mark: str) -> str:
        with self._database.write() as db:
            db.lock("originals")
            known = read_meta(db, "originals")
            if known is None:
                write_meta(db, "originals", mark)
            return known or mark
