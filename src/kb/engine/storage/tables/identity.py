"""What a base is known by, where its originals are, and whether it can be written."""

import time
from contextlib import suppress

from kb.engine.errors import KbError
from kb.engine.storage.tables.connection import Database
from kb.engine.storage.tables.meta import read_meta, write_meta


class IdentityPart:
    """The part of the store that is about the base as a whole."""

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

    def find_trouble(self) -> str | None:
        if self._database.trouble is not None:
            with suppress(KbError), self._database.write() as db:
                # Only what changes something is really written.
                write_meta(db, "written_at", str(time.time_ns()))
        return self._database.trouble
