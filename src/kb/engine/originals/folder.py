"""Originals in a folder of the data directory.

    originals/ab/abcdef...        an original
    originals/incoming/           uploads that are not yet anything
    originals/lock                see `locked`
    originals/pin                 see `pinned`
    originals/base, mark          of a base in a database, which has to be told whose they are: see `belong_to`

Whatever a crash leaves is a stray file, and `sweep` removes it at the next start. Keeping and removing happen under one
lock, or an upload could count on a file that a deletion is about to remove.
"""

import fcntl
import logging
import os
import shutil
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from kb.engine.errors import Conflict
from kb.engine.locks import hold
from kb.engine.model.hashes import is_name_of_original
from kb.engine.originals.disk import (
    DamagedOriginal,
    MissingOriginal,
    UnsafeName,
    compute_digest,
    copy_original,
    is_whole,
    make_folder,
    open_plain,
    sync_folder,
    translated_errors,
)
from kb.engine.originals.incoming import IncomingFile, receive_into
from kb.engine.originals.port import OpenOriginal, Watch, nothing

log = logging.getLogger(__name__)

PIECE_BYTES = 256 * 1024


class FolderOriginals:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._incoming = folder / "incoming"
        self._pin = folder / "pin"
        with translated_errors():
            make_folder(self._incoming)

    @property
    def place(self) -> str:
        return str(self._folder)

    def belong_to(self, base_id: str) -> None:
        if self._write_once("base", base_id) != base_id:
            raise Conflict(
                f"The originals in {self._folder} belong to another base. Choose another KB_DATA_DIR. If this "
                "base has taken the place of that one, delete the file base there."
            )

    def read_mark(self) -> str:
        return self._write_once("mark", uuid.uuid4().hex)

    def _write_once(self, name: str, text: str) -> str:
        """What is in the file, which is made if it is not there: of several that come first, by one."""
        file = self._folder / name
        with translated_errors():
            if not file.exists():
                draft = self._incoming / uuid.uuid4().hex
                draft.write_text(text, encoding="ascii")
                with suppress(FileExistsError):
                    file.hardlink_to(draft)
                draft.unlink()
            return file.read_text(encoding="ascii")

    def receive(self) -> AbstractContextManager[IncomingFile]:
        return receive_into(self._incoming)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other threads and processes from keeping or removing originals meanwhile."""
        with ExitStack() as held:
            with translated_errors():
                held.enter_context(hold(self._folder / "lock", fcntl.LOCK_EX))
            yield

    def keep(self, incoming: IncomingFile, name: str) -> None:
        place = self.path_of(name)
        with translated_errors():
            if not is_whole(place, name):
                place.parent.mkdir(exist_ok=True)
                incoming.path.replace(place)
            # Also if it was there: whoever put it there may have been killed before this.
            sync_folder(place.parent)
            sync_folder(self._folder)

    def renew(self, name: str) -> int:
        return self.check(name)

    def check(self, name: str, watch: Watch = nothing) -> int:
        path = self.path_of(name)
        try:
            digest, size_bytes = compute_digest(path), path.stat().st_size
        except FileNotFoundError as error:
            raise MissingOriginal from error
        except (OSError, ValueError) as error:
            raise DamagedOriginal("cannot be read") from error
        if digest != name:
            raise DamagedOriginal
        return size_bytes

    @contextmanager
    def open_file(self, name: str, watch: Watch = nothing) -> Iterator[Path]:
        path = self.path_of(name)
        if not path.exists():
            raise MissingOriginal
        yield path

    def open_pieces(self, name: str) -> OpenOriginal:
        try:
            # Opened here and now: it can be read to its end, whoever deletes it meanwhile.
            file = open_plain(self.path_of(name))
        except FileNotFoundError as error:
            raise MissingOriginal from error
        except OSError as error:
            raise DamagedOriginal("cannot be read") from error
        return OpenOriginal(os.fstat(file.fileno()).st_size, _read_in_pieces(file))

    def path_of(self, name: str) -> Path:
        return path_in(self._folder, name)

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
        """While somebody holds the pin nothing is removed: whoever lets go of it last sees to that."""
        with translated_errors(), self.locked():
            try:
                with hold(self._pin, fcntl.LOCK_EX | fcntl.LOCK_NB):
                    safe_names = filter(is_name_of_original, names)
                    return sum(_remove(self.path_of(name)) for name in safe_names if not is_in_use(name))
            except BlockingIOError:
                return 0

    def release_all(self, is_in_use: Callable[[str], bool]) -> int:
        return self.release([path.name for path in self._folder.glob("[0-9a-f][0-9a-f]/*")], is_in_use)

    @property
    def is_empty(self) -> bool:
        return next(self._folder.glob("[0-9a-f][0-9a-f]/*"), None) is None

    def set_aside(self, now: datetime) -> Path | None:
        """If there are any, move all of them to a folder of their own, which is returned: nobody knows them."""
        with translated_errors():
            if self.is_empty:
                return None
            aside = self._folder.with_name(f"{self._folder.name}.unknown-{now:%Y%m%d-%H%M%S}")
            self._folder.rename(aside)
            self._incoming.mkdir(parents=True)
            sync_folder(self._folder.parent)
        return aside

    def sweep(self, is_in_use: Callable[[str], bool]) -> None:
        shutil.rmtree(self._incoming, ignore_errors=True)
        with translated_errors():
            self._incoming.mkdir(exist_ok=True)
        self.release_all(is_in_use)

    def remove_strays(self, is_in_use: Callable[[str], bool]) -> None:
        """Only a crash leaves any, and then there is another start."""


def path_in(folder: Path, name: str) -> Path:
    """The path of an original in a folder of originals, such as that of a backup. Raises `UnsafeName`."""
    if not is_name_of_original(name):
        raise UnsafeName
    return folder / name[:2] / name


def _read_in_pieces(file: BinaryIO) -> Generator[bytes]:
    with file, translated_errors():
        while piece := file.read(PIECE_BYTES):
            yield piece


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
