"""The files of a folder, and those that are left out with the reason."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class FoundFile:
    path: Path
    size_bytes: int
    modified_ns: int


@dataclass(frozen=True)
class SkippedFile:
    path: Path
    reason: str
    """Why it was left out, to be read after its path."""


def scan_folder(folder: Path) -> Iterator[FoundFile | SkippedFile]:
    """Every file below it, in the order of names."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(parent, name)
            status = path.lstat()
            if name.startswith("."):
                yield SkippedFile(path, "hidden")
            elif not status.st_size:
                yield SkippedFile(path, "empty")
            else:
                yield FoundFile(path, status.st_size, status.st_mtime_ns)
