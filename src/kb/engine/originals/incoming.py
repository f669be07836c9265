"""Uploads on their way."""

import fcntl
import hashlib
import logging
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from kb.engine.locks import hold
from kb.engine.originals.disk import make_folder, translated_errors

log = logging.getLogger(__name__)


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


@contextmanager
def receive_into(folder: Path) -> Iterator[IncomingFile]:
    """A file to write an upload into; gone when the block ends unless it was given another place."""
    with translated_errors():
        incoming = IncomingFile(folder / uuid.uuid4().hex)
    try:
        yield incoming
    finally:
        incoming.discard()


@contextmanager
def own_folder(parent: Path) -> Iterator[Path]:
    """A folder for the files of this process, gone at its end; those that killed processes left are removed."""
    with ExitStack() as held:
        with translated_errors():
            make_folder(parent)
            with hold(parent / "lock", fcntl.LOCK_EX):
                _remove_abandoned(parent)
                folder = parent / uuid.uuid4().hex
                folder.mkdir()
                held.enter_context(hold(folder / "lock", fcntl.LOCK_EX))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _remove_abandoned(parent: Path) -> None:
    for folder in parent.glob("*/"):
        # Whoever uses it holds its lock.
        with suppress(BlockingIOError), hold(folder / "lock", fcntl.LOCK_EX | fcntl.LOCK_NB):
            shutil.rmtree(folder, ignore_errors=True)
