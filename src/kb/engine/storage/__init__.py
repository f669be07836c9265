"""The front door of storage: a place where documents live, chosen by the wiring."""

from pathlib import Path

from kb.engine.ports import Store
from kb.engine.storage.sqlite.store import SqliteStore


def open_store(data_dir: Path, *, model_fingerprint: str) -> Store:
    """Open the base in `data_dir`, made or migrated as needed. Close it when done.

    Only vectors of `model_fingerprint` take part in search.
    """
    return SqliteStore(data_dir / "kb.sqlite", model_fingerprint=model_fingerprint)
