"""The stores that the contract suite holds to the same promises: a new one is one more entry of `BACKENDS`."""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import apsw

from kb.engine.ports import Store
from kb.engine.storage import open_store

MODEL = "tiny-1"


class Backend(Protocol):
    def open(self, model_fingerprint: str = MODEL) -> Store:
        """Another store object on the same base, as another process would have it."""
        ...

    def check_integrity(self) -> None:
        """Raises if what is derived from documents (here the keyword index) no longer agrees with them."""
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


BACKENDS: dict[str, Callable[[Path], Backend]] = {"sqlite": SqliteBackend}
