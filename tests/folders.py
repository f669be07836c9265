"""Where tests keep their bases."""

import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108 - only a place to make folders with names that nobody can guess


def open_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder in memory where the system has one: flushing a disk is most of what such tests would wait for."""
    return tempfile.TemporaryDirectory(prefix="kb-test-", dir=MEMORY if MEMORY.is_dir() else None)
