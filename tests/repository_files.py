"""The files of this project, as a copy of it has them."""

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[1]


def repository_files(folder: Path = ROOT) -> Iterator[Path]:
    """Every file but those that .gitignore keeps out; asks no git, which an unpacked archive has not."""
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()]
    for path in sorted(folder.iterdir()):
        if path.name == ".git" or any(fnmatch(path.name, pattern) for pattern in ignored):
            continue
        if path.is_dir():
            yield from repository_files(path)
        else:
            yield path
