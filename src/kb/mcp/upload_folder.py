"""The folder on disk where a server keeps what agents are sending.

    <parent>/lock                   held while a folder is claimed, so that nobody removes one that is being made
    <parent>/upload-x7w2/lock       held as long as the server lives that claimed the folder
    <parent>/upload-x7w2/<id>/...   an upload

A server removes its folder when it stops. One that was killed cannot; but it no longer holds the lock either, and
by that the next server to start knows which folders it may remove.
"""

import fcntl
import logging
import os
import shutil
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from kb.listening import CannotStart

log = logging.getLogger(__name__)

FOLDER_PREFIX = "upload-"
LOCK_NAME = "lock"


class UnusableFolder(CannotStart):
    """A folder that cannot be written to, or that others could read, fill or exchange."""


def default_parent() -> Path:
    return Path(tempfile.gettempdir()) / f"kb-mcp-{os.getuid()}"


def claim_folder(parent: Path) -> tuple[Path, BinaryIO]:
    """A new folder below `parent`, and its lock; folders whose server is gone are removed. May block for a moment.

    Raises `UnusableFolder` if `parent` is not a writable folder that belongs to this user alone.
    """
    try:
        return _claim_folder(parent)
    except OSError as error:
        raise UnusableFolder(
            f"Uploads cannot be kept in {parent}: {error.strerror}. Set TMPDIR to a folder that can be written to."
        ) from error


def _claim_folder(parent: Path) -> tuple[Path, BinaryIO]:
    _make_private(parent)
    with (parent / LOCK_NAME).open("wb") as claiming:
        fcntl.flock(claiming, fcntl.LOCK_EX)
        for folder in parent.glob(f"{FOLDER_PREFIX}*"):
            _remove_if_nobody_holds(folder)
        claimed = Path(tempfile.mkdtemp(prefix=FOLDER_PREFIX, dir=parent))
        lock = (claimed / LOCK_NAME).open("wb")
        fcntl.flock(lock, fcntl.LOCK_EX)
    return claimed, lock


def release_folder(folder: Path, lock: BinaryIO) -> None:
    with lock:
        remove_folder(folder)


def remove_folder(folder: Path) -> None:
    """What cannot be removed now is removed by the next server to start."""
    shutil.rmtree(folder, ignore_errors=True)


def _make_private(parent: Path) -> None:
    with suppress(FileExistsError):
        parent.mkdir(mode=0o700, parents=True)
    found = parent.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
        raise UnusableFolder(
            f"Uploads cannot be kept in {parent}: it must be a folder, no link, that belongs to you and that no other "
            "user can enter. Remove it and start again."
        )


def _remove_if_nobody_holds(folder: Path) -> None:
    try:
        with (folder / LOCK_NAME).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            remove_folder(folder)
    except BlockingIOError:
        return
    except OSError:
        # Its server was killed before it had made the lock, or after it had removed it.
        remove_folder(folder)
    log.info("Removed the uploads that a stopped server left in %s.", folder)
