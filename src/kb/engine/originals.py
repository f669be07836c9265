"""Original files, as they were uploaded, named by the SHA-256 of their content and shared by who has the same.

    originals/ab/abcdef...        an original
    originals/incoming/           uploads that are not yet anything
    originals/lock                see `locked`
    originals/pin                 see `pinned`

An original is written before the row that refers to it and removed after the last one is gone. Whatever a
crash leaves between the two is a stray file, and `sweep` removes it at the next start. Keeping and removing
happen under one lock, or an upload could count on a file that a deletion is about to remove.
"""

import errno
import fcntl
import hashlib
import logging
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

from kb.engine.errors import StorageFull, Unavailable
from kb.engine.locks import hold

log = logging.getLogger(__name__)

PIECE_BYTES = 1024 * 1024


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


class IncomingFile:
    """An upload on its way to disk: hashed as it arrives, nothing until it is kept."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size_bytes = 0
        self._hash = hashlib.sha256()
        self._file = path.open("xb")

    def write(self, data: bytes) -> None:
        with translated_errors():
            self._file.write(data)
        self._hash.update(data)
        self.size_bytes += len(data)

    def finish(self) -> str:
        """Make it safe on disk and return its name."""
        with translated_errors():
            self._file.flush()
            os.fsync(self._file.fileno())
        self._file.close()
        return self._hash.hexdigest()

    def discard(self) -> None:
        """Never fails: what was queued is queued. A file that cannot be removed is removed at the next start."""
        try:
            try:
                # On a full disk what is left in the buffer cannot be written; it is not wanted either.
                self._file.close()
            finally:
                self.path.unlink(missing_ok=True)
        except OSError:
            log.warning("What was left of an upload could not be written or removed.", exc_info=True)


class Originals:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._incoming = folder / "incoming"
        self._pin = folder / "pin"
        with translated_errors():
            make_folder(self._incoming)

    @contextmanager
    def receive(self) -> Iterator[IncomingFile]:
        """A file to write an upload into; gone when the block ends unless it was kept."""
        with translated_errors():
            incoming = IncomingFile(self._incoming / uuid.uuid4().hex)
        try:
            yield incoming
        finally:
            incoming.discard()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other threads and processes from keeping or removing originals meanwhile."""
        with ExitStack() as held:
            with translated_errors():
                held.enter_context(hold(self._folder / "lock", fcntl.LOCK_EX))
            yield

    def keep(self, incoming: IncomingFile, name: str) -> None:
        """Give a finished upload its place. Call it, and write the row that refers to it, while `locked`."""
        place = self.path_of(name)
        with translated_errors():
            # One that is damaged is replaced: adding the file again repairs it.
            if not is_whole(place, name):
                place.parent.mkdir(exist_ok=True)
                incoming.path.replace(place)
            # Also if it was there: whoever put it there may have been killed before this.
            sync_folder(place.parent)
            sync_folder(self._folder)

    def path_of(self, name: str) -> Path:
        return self._folder / name[:2] / name

    @contextmanager
    def pinned(self, is_in_use: Callable[[str], bool]) -> Iterator[None]:
        """Let no original go while the block runs; those that nothing refers to by then go at its end."""
        try:
            with hold(self._pin, fcntl.LOCK_SH):
                yield
        finally:
            self.release_all(is_in_use)

    def bring_back(self, name: str, source: Path) -> int:
        """Have this original whole, from `source` unless it already is; returns its size.

        Raises `DamagedOriginal` if `source` is not whole either. Only for when nobody else is at work.
        """
        place = self.path_of(name)
        with translated_errors():
            if is_whole(place, name):
                return place.stat().st_size
            incoming = self._incoming / name
            size_bytes = copy_original(source, incoming, name)
            place.parent.mkdir(exist_ok=True)
            incoming.replace(place)
            sync_folder(place.parent)
            sync_folder(self._folder)
        return size_bytes

    def release(self, names: Iterable[str], is_in_use: Callable[[str], bool]) -> int:
        """Remove those that nothing refers to; returns the bytes freed.

        One that cannot be removed now is removed by the sweep at the next start. While somebody holds the
        pin nothing is removed: whoever lets go of it last sees to that.
        """
        with translated_errors(), self.locked():
            try:
                with hold(self._pin, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    return sum(_remove(self.path_of(name)) for name in names if not is_in_use(name))
            except BlockingIOError:
                return 0

    def release_all(self, is_in_use: Callable[[str], bool]) -> int:
        """Remove every original that nothing refers to; returns the bytes freed."""
        return self.release([path.name for path in self._folder.glob("[0-9a-f][0-9a-f]/*")], is_in_use)

    def set_aside(self, now: datetime) -> Path | None:
        """If there are any, move all of them to a folder of their own, which is returned: nobody knows them."""
        with translated_errors():
            if next(self._folder.glob("[0-9a-f][0-9a-f]/*"), None) is None:
                return None
            aside = self._folder.with_name(f"{self._folder.name}.unknown-{now:%Y%m%d-%H%M%S}")
            self._folder.rename(aside)
            self._incoming.mkdir(parents=True)
            sync_folder(self._folder.parent)
        return aside

    def sweep(self, is_in_use: Callable[[str], bool]) -> None:
        """Remove what a crash left behind. Only for when no upload is under way."""
        shutil.rmtree(self._incoming, ignore_errors=True)
        with translated_errors():
            self._incoming.mkdir(exist_ok=True)
        self.release_all(is_in_use)


class DamagedOriginal(Exception):
    """The file is missing or cannot be read, or its content is not what its name says."""


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


def _read_pieces(path: Path, name: str) -> Iterator[bytes]:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while piece := file.read(PIECE_BYTES):
                digest.update(piece)
                yield piece
    except OSError as error:
        raise DamagedOriginal from error
    if digest.hexdigest() != name:
        raise DamagedOriginal


def is_whole(path: Path, name: str) -> bool:
    try:
        return compute_digest(path) == name
    except OSError:
        return False


def compute_digest(path: Path) -> str:
    """The SHA-256 of what is on the disk: what the system still has in memory is read anew."""
    with path.open("rb") as file:
        if sys.platform == "linux":
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        return hashlib.file_digest(file, "sha256").hexdigest()


def _remove(path: Path) -> int:
    try:
        size_bytes = path.stat().st_size
        path.unlink()
        sync_folder(path.parent)
    except FileNotFoundError:
        return 0
    except OSError:
        log.exception("An original could not be removed.")
        return 0
    return size_bytes


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
