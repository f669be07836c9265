"""The front door of storage: a place where documents live, chosen by the wiring."""

from datetime import datetime
from pathlib import Path
from typing import Final

from kb.engine.errors import Unavailable
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Store
from kb.engine.storage.sqlite.migrations import is_missing_or_empty, upgrade
from kb.engine.storage.sqlite.store import SqliteStore
from kb.engine.storage.sqlite.vectors.files import remove_all_files

DATABASE: Final = "kb.sqlite"
"""The name of the file in a data directory that is the base."""


def open_store(data_dir: Path, *, model_fingerprint: str) -> Store:
    """Open the base in `data_dir`; where there is none, it is made. Close it when done.

    Only vectors of `model_fingerprint` take part in search. Raises `Unavailable` for an older base: that has to be
    upgraded first.
    """
    return SqliteStore(_base_in(data_dir), model_fingerprint=model_fingerprint)


def open_shared_store(url: str, *, model_fingerprint: str, concurrency: int = 1) -> Store:
    """Open the base in the database at `url`, which others may have open too; where there is none, it is made. So many
    files will be worked on at a time.

    Raises `Unavailable` if it cannot be reached, or if what speaks to it is not installed.
    """
    try:
        # Only for who keeps a base there: it takes time to load, and need not be installed.
        from kb.engine.storage.postgres.store import PostgresStore
    except ModuleNotFoundError as error:
        if error.name not in {"psycopg", "psycopg_pool"}:
            raise
        raise Unavailable(
            "KB_STORE_URL names a PostgreSQL server, and what speaks to one is not installed: "
            "pip install 'kb-local[postgres]'"
        ) from error
    return PostgresStore(url, model_fingerprint=model_fingerprint, concurrency=concurrency)


def upgrade_base(data_dir: Path, originals: FolderOriginals, *, now: datetime) -> None:
    """Bring the base in `data_dir`, also that of a kb v2, up to date; only for an engine that is alone there.

    The old one is kept beside it. Raises `Unavailable` or `StorageFull` if that fails, and the base is as it was.
    """
    upgrade(_base_in(data_dir), originals, now=now)


def remove_files_of_vectors(data_dir: Path) -> None:
    """They belong to the base that is there, and not to one that takes its place."""
    remove_all_files(_base_in(data_dir))


def has_base(data_dir: Path) -> bool:
    """Whether there is anything in `data_dir` that `open_store` would not have to make."""
    return not is_missing_or_empty(_base_in(data_dir))


def _base_in(data_dir: Path) -> Path:
    return data_dir / DATABASE
