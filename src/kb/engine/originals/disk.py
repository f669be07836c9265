"""Files that are whole, and safe on the disk."""

import errno
import hashlib
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path

from kb.engine.errors import StorageFull, Unavailable

PIECE_BYTES = 1024 * 1024


class DamagedOriginal(Exception):
    """It is missing or cannot be read, or its content is not what its name says: the verdict on it, after "The
    original"."""

    def __init__(self, verdict: str = "is not what was uploaded") -> None:
        super().__init__(verdict)
        self.verdict = verdict


class MissingOriginal(DamagedOriginal):
    def __init__(self) -> None:
        super().__init__("is missing")


class UnsafeName(DamagedOriginal):
    """An original has a name that is not a SHA-256. No file and no object with this name is opened."""

    def __init__(self) -> None:
        super().__init__("has a name that is not a SHA-256")


def explain_disk_error(error: OSError, *, otherwise: str) -> StorageFull | Unavailable:
    """What to raise for it: a full disk is told in the same words everywhere, anything else as `otherwise` says."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull("The disk is full. Free some space and try again.")
    return Unavailable(otherwise)


@contextmanager
def translated_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        otherwise = "The originals cannot be read or written. Check the disk they lie on."
        raise explain_disk_error(error, otherwise=otherwise) from error


def copy_original(source: Path, target: Path, name: str) -> int:
    """Copy an original into a file of its own, safe on disk; returns its size. Raises `DamagedOriginal`."""
    try:
        with target.open("wb") as copy:
            for piece in _read_pieces(source, name):
                copy.write(piece)
            copy.flush()
            os.fsync(copy.fileno())
            return copy.tell()
    except DamagedOriginal:
        target.unlink()
        raise


def open_plain(path: Path) -> BufferedReader:
    """Open a file to read. Raises `OSError` for a pipe, which could make us wait for a writer, and for a device."""
    # O_NONBLOCK: opening a pipe does not wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "It is not a file", str(path))
    return os.fdopen(descriptor, "rb")


def _read_pieces(path: Path, name: str) -> Iterator[bytes]:
    digest = hashlib.sha256()
    try:
        with open_plain(path) as file:
            while piece := file.read(PIECE_BYTES):
                digest.update(piece)
                yield piece
    except OSError as error:
        raise DamagedOriginal("cannot be read") from error
    if digest.hexdigest() != name:
        raise DamagedOriginal


def is_whole(path: Path, name: str) -> bool:
    try:
        return compute_digest(path) == name
    except OSError:
        return False


def compute_digest(path: Path) -> str:
    """The SHA-256 of what is on the disk: what the system still has in memory is read anew."""
    with open_plain(path) as file:
        if sys.platform == "linux":
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return hashlib.file_digest(file, "sha256").hexdigest()


def make_folder(folder: Path, *, mode: int = 0o777) -> None:
    """Make it, and those around it that are missing, safe on disk; does nothing if it is there."""
    if folder.is_dir():
        return
    make_folder(folder.parent)
    folder.mkdir(mode, exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """A rename is on disk only when its folder is."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
