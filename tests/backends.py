"""The stores that the contract suite holds to the same promises: a new one is one more entry of `BACKENDS`."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Protocol

import apsw
import pytest
from tests.servers.postgres import shared_postgres

from kb.engine.model import CheckCursor
from kb.engine.ports import Store
from kb.engine.storage import open_store
from kb.engine.storage.postgres.store import PostgresStore

MODEL = "tiny-1"


class Backend(Protocol):
    def open(self, model_fingerprint: str = MODEL) -> Store:
        """Another store object on the same base, as another process would have it."""
        ...

    def check_integrity(self) -> None:
        """Raises if what is derived from documents (here the keyword index) no longer agrees with them."""
        ...

    def remove(self) -> None:
        """The base is no longer needed."""
        ...


class SqliteBackend:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def open(self, model_fingerprint: str = MODEL) -> Store:
        return open_store(self._folder, model_fingerprint=model_fingerprint)

    def check_integrity(self) -> None:
        connection = apsw.Connection(str(self._folder / "kb.sqlite"))
        try:
            connection.execute("INSERT INTO chunks_fts (chunks_fts, rank) VALUES ('integrity-check', 1)")
            assert connection.pragma("integrity_check") == "ok"
            assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        finally:
            connection.close()

    def remove(self) -> None:
        """It is gone with its folder."""


class PostgresBackend:
    def __init__(self, _: Path) -> None:
        self._server = shared_postgres()
        self._database = self._server.create_database(like=_empty_base())
        self._copies: list[str] = []

    @property
    def url(self) -> str:
        return self._server.url(self._database)

    def open(self, model_fingerprint: str = MODEL) -> Store:
        return PostgresStore(self.url, model_fingerprint=model_fingerprint)

    def copy(self) -> str:
        """The URL of a database with all that is in this one."""
        self._copies.append(self._server.create_database(like=self._database))
        return self._server.url(self._copies[-1])

    def check_integrity(self) -> None:
        store = self.open()
        cursor: CheckCursor | None = CheckCursor()
        while cursor is not None:
            batch = store.check_batch(cursor)
            assert batch.damages == []
            cursor = batch.following
        store.close()

    def remove(self) -> None:
        for name in (self._database, *self._copies):
            self._server.drop_database(name)


@cache
def _empty_base() -> str:
    """Copied in a tenth of the time that it takes to make the tables."""
    server = shared_postgres()
    name = server.create_database()
    PostgresStore(server.url(name), model_fingerprint=MODEL).close()
    return name


ONLY_SQLITE = pytest.mark.parametrize("backend", ["sqlite"], indirect=True)
"""Of a test that looks at, or damages, what only a file of SQLite has."""

BACKENDS: dict[str, Callable[[Path], Backend]] = {"sqlite": SqliteBackend, "postgres": PostgresBackend}
