"""One look at a folder: which files are there, and what is in them."""

import errno
import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb.cli.folders.opening import open_below
from kb.cli.folders.scanning import FoundFile, Reason, SkippedFile, path_as_text, paths_of_text, scan_folder
from kb.cli.syncing.memory import Memory, stamp_of
from kb.cli.syncing.planning import FolderContent, Skip

TOO_LARGE = "too large"
SAME_NAME = "its name cannot be told from another's"
IGNORED_NOW = "ignored now"
PIECE_BYTES = 1 << 20
# What is said of a path at which there is nothing. Whatever else is said leaves a doubt.
NOTHING_THERE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})


@dataclass(frozen=True)
class Look:
    """What is there, each path as the engine is told it."""

    folder: Path
    identity: tuple[int, int]
    """Tells the folder from another that has taken its place."""
    files: Mapping[str, FoundFile]
    skips: Sequence[Skip]

    @property
    def is_empty(self) -> bool:
        """Whether nothing is there that could be sent: where a disk is not mounted there may be a hidden file."""
        return not self.files

    @property
    def paths(self) -> set[str]:
        """Of all that was seen, be it sent or not."""
        return {*self.files, *(skip.path for skip in self.skips)}

    @property
    def folders(self) -> set[str]:
        """Those with a file in them or below them."""
        found = {path_as_text(self.folder)}
        for path in self.files:
            while (path := os.path.dirname(path)) not in found:
                found.add(path)
        return found

    def is_outdated(self, path: str) -> bool:
        """Whether something is at this path again, or the folder is another."""
        try:
            if identify(self.folder) != self.identity:
                return True
        except OSError:
            return True
        return any(_may_be_there(one) for one in paths_of_text(path))

    def differing(self, other: "Look") -> set[str]:
        """The paths of files that are not in both, or not as they were."""
        mine = {path: stamp_of(file) for path, file in self.files.items()}
        others = {path: stamp_of(file) for path, file in other.files.items()}
        return {path for path, _ in mine.items() ^ others.items()}


def look_at(folder: Path, max_bytes: int) -> Look:
    """Raises `OSError` if the folder is not there, or cannot be listed."""
    identity = identify(folder)
    files: dict[str, FoundFile] = {}
    skips: list[Skip] = []
    for found in scan_folder(folder):
        path = path_as_text(found.path)
        if isinstance(found, SkippedFile):
            skips.append(Skip(path, found.reason, found.detail))
        elif path in files:
            skips.append(Skip(path, SAME_NAME))
        elif found.size_bytes > max_bytes:
            skips.append(Skip(path, TOO_LARGE))
        else:
            files[path] = found
    return Look(folder, identity, files, skips)


def identify(folder: Path) -> tuple[int, int]:
    """Raises `OSError` if it is not there."""
    status = os.stat(folder)
    return status.st_dev, status.st_ino


def _may_be_there(path: str) -> bool:
    try:
        os.lstat(path)
    except ValueError:
        # No file has such a name.
        return False
    except OSError as error:
        return error.errno not in NOTHING_THERE
    return True


def read_content(look: Look, memory: Memory, *, retry: bool, on_read: Callable[[], None]) -> FolderContent:
    """The hashes of all files. Only what has changed since the last time is read, with `on_read` before each."""
    hashes: dict[str, str] = {}
    present = {skip.path: IGNORED_NOW if skip.reason == Reason.IGNORED else skip.reason for skip in look.skips}
    refused: dict[str, Skip] = {}
    for path, file in look.files.items():
        known = memory.find_hash(path, file)
        if known is None:
            on_read()
            try:
                known = hash_file(look.folder, file.path)
            except FileNotFoundError:
                # Perhaps with all the others, on a disk that was taken away: the next look will tell.
                present[path] = Reason.VANISHED
                continue
            except OSError as error:
                present[path] = Reason.UNREADABLE
                refused[path] = Skip(path, Reason.UNREADABLE, error.strerror or "")
                continue
            memory.note_hash(path, file, known)
        hashes[path] = known
        refusal = None if retry else memory.find_refusal(path, known)
        if refusal is not None:
            refused[path] = Skip(path, refusal.reason, refusal.detail)
    return FolderContent(hashes, present, refused)


def hash_file(folder: Path, path: Path) -> str:
    with open(open_below(folder, path), "rb", buffering=0) as file:
        return f"sha256:{_hash(iter(lambda: file.read(PIECE_BYTES), b''))}"


def _hash(pieces: Iterator[bytes]) -> str:
    content = hashlib.sha256()
    for piece in pieces:
        content.update(piece)
    return content.hexdigest()
