"""The files on this machine that agents may have read: those below certain folders, and nothing that is hidden."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO


@dataclass(frozen=True)
class OpenedFile:
    """`path` is where the file really is, without any symbolic link."""

    path: Path
    size_bytes: int
    content: BinaryIO


class FileRoots:
    def __init__(self, folders: tuple[Path, ...]) -> None:
        self._folders = folders

    @contextmanager
    def open_file(self, given: str) -> Iterator[OpenedFile]:
        """A regular file below one of the folders.

        Raises `ToolError` with `path_not_allowed`, `file_not_found` or `file_not_readable`.
        """
        raise NotImplementedError
