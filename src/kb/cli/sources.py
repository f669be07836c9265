"""The files that `kb add` was pointed at."""

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

STDIN = "-"


@dataclass(frozen=True)
class Source:
    """`source_path` is how the engine knows the same file again when its content has changed."""

    label: str
    file: Path | tuple[str, bytes]
    source_path: str | None
    is_named: bool
    """False for a file that was only found in a folder: it may be of a kind that kb cannot read."""


def find_sources(path: str, stdin_name: str) -> Iterator[Source]:
    """The file, the files below the folder, or standard input; raises `FileNotFoundError`."""
    given = Path(path)
    if path == STDIN:
        yield Source(stdin_name, (stdin_name, sys.stdin.buffer.read()), source_path=None, is_named=True)
    elif given.is_dir():
        yield from _find_in_folder(given)
    elif given.is_file():
        yield _source_of(given, is_named=True)
    else:
        raise FileNotFoundError(path)


def _find_in_folder(folder: Path) -> Iterator[Source]:
    """Every file below it in the order of names, but what is hidden or empty."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for path in (Path(parent, name) for name in sorted(names) if not name.startswith(".")):
            if path.is_file() and path.stat().st_size:
                yield _source_of(path, is_named=False)


def _source_of(path: Path, *, is_named: bool) -> Source:
    # A path on disk may hold bytes that are no text, and those cannot be sent as they are.
    absolute = os.fsencode(os.path.abspath(path)).decode(errors="backslashreplace")
    return Source(str(path), path, absolute, is_named)
