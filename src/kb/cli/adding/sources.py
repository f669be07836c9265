"""The files that `kb add` was pointed at: by name, by a folder or a pattern, or through standard input."""

import glob
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb.cli.folders.scanning import SkippedFile, path_as_text, scan_folder
from kb.cli.options import STANDARD_STREAM


@dataclass(frozen=True)
class Source:
    """`source_path` is how the engine knows the same file again when its content has changed."""

    label: str
    file: Path | tuple[str, bytes]
    source_path: str | None
    is_named: bool
    """False for a file that was only found: it may be of a kind that kb cannot read."""
    size_bytes: int = 0
    """As far as it is known; for those who look on."""
    folder: Path | None = None
    """The folder in which the file was found. Below it the path of the file contains no link."""


@dataclass(frozen=True)
class Selection:
    """Each file once, in the order of the paths that were given, and what was found beside them but is left out."""

    sources: Sequence[Source]
    skipped: Sequence[SkippedFile]


class PathsMissing(Exception):
    """There is nothing at these paths, or nothing that can be read as a file or a folder."""

    def __init__(self, paths: Sequence[str]) -> None:
        super().__init__(*paths)
        self.paths = paths


def select_sources(paths: Sequence[str], stdin_name: str) -> Selection:
    """What the paths stand for; raises `PathsMissing` with all that stand for nothing.

    A path is taken by its word before it is taken for a pattern: a file may be called `[1].pdf`.
    """
    sources: dict[str, Source] = {}
    skipped: dict[str, SkippedFile] = {}
    missing = []
    for path in paths:
        try:
            found = list(_find(path, stdin_name))
        except OSError:
            missing.append(path)
            continue
        for one in found:
            if isinstance(one, SkippedFile):
                skipped.setdefault(os.path.abspath(one.path), one)
            else:
                sources.setdefault(one.source_path or STANDARD_STREAM, one)
    if missing:
        raise PathsMissing(missing)
    # What a folder leaves out may have been named beside it.
    named = {os.path.abspath(source.file) for source in sources.values() if isinstance(source.file, Path)}
    return Selection([*sources.values()], [one for path, one in skipped.items() if path not in named])


def _find(path: str, stdin_name: str) -> Iterator[Source | SkippedFile]:
    if path == STANDARD_STREAM:
        text = sys.stdin.buffer.read()
        yield Source(stdin_name, (stdin_name, text), source_path=None, is_named=True, size_bytes=len(text))
    elif os.path.isdir(path):
        yield from _find_in_folder(path)
    elif os.path.isfile(path):
        yield _source_of(path, is_named=True)
    else:
        yield from _find_by_pattern(path)


def _find_in_folder(folder: str) -> Iterator[Source | SkippedFile]:
    real = os.path.realpath(folder)
    for found in scan_folder(Path(folder)):
        if isinstance(found, SkippedFile):
            yield found
        else:
            # Below the folder a link keeps its own path: two of them to one file are two documents.
            below = os.path.join(real, os.path.relpath(found.path, folder))
            yield Source(
                path_as_text(found.path),
                found.path,
                path_as_text(below),
                is_named=False,
                size_bytes=found.size_bytes,
                folder=Path(folder),
            )


def _find_by_pattern(pattern: str) -> Iterator[Source | SkippedFile]:
    matching = glob.glob(pattern, recursive=True) if glob.has_magic(pattern) else []
    if not matching:
        raise FileNotFoundError(pattern)
    for path in sorted(matching, key=lambda path: path.split(os.sep)):
        if os.path.isfile(path):
            yield _source_of(path, is_named=False)
        # `**` finds what is in folders by itself.
        elif os.path.isdir(path) and "**" not in pattern:
            yield from _find_in_folder(path)


def _source_of(path: str, *, is_named: bool) -> Source:
    real = os.path.realpath(path)
    return Source(path_as_text(path), Path(path), path_as_text(real), is_named, _size_of(path))


def _size_of(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        # It is gone again: whoever sends it will tell.
        return 0
