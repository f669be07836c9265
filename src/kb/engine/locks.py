"""Who is at work on a data directory: one engine, workers, one backup; or a restore, alone.

    engine.lock     held by the engine, and by a restore
    worker.lock     shared by workers; a restore holds it alone
    backup.lock     held by a backup, and by a restore

The folder that a backup is being written into is a lock itself, since bases may be backed up to the same place.
The system releases a lock when its process ends, however it ends.
"""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kb.engine.errors import Conflict

log = logging.getLogger(__name__)


@contextmanager
def hold(lock: Path, how: int) -> Iterator[None]:
    """Hold the lock as `flock` is told to; with LOCK_NB, raises `BlockingIOError` if somebody else does."""
    # Reading is enough for a lock: whoever made the file, everyone who can read it can take part.
    descriptor = os.open(lock, os.O_RDONLY | os.O_CREAT, 0o644)
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def be_only_engine(data_dir: Path) -> Iterator[None]:
    refusal = (
        f"Another engine is already running on {data_dir}, or a backup is being restored there. "
        "Stop it, or choose another KB_DATA_DIR."
    )
    with _hold_or_refuse(data_dir / "engine.lock", fcntl.LOCK_EX, refusal):
        yield


def refuse_beside_engine(data_dir: Path) -> None:
    """Raises `Conflict` if one is at work there just now. Makes no file: whoever only looks changes nothing."""
    lock = data_dir / "engine.lock"
    if lock.exists():
        with _hold_or_refuse(lock, fcntl.LOCK_SH, f"An engine is at work on {data_dir}."):
            pass


@contextmanager
def be_worker(data_dir: Path) -> Iterator[None]:
    refusal = f"A backup is being restored into {data_dir}. Start the worker again when that is done."
    with _hold_or_refuse(data_dir / "worker.lock", fcntl.LOCK_SH, refusal):
        yield


@contextmanager
def be_only_backup(data_dir: Path) -> Iterator[None]:
    refusal = f"Another backup of {data_dir} is being made or restored. Wait for it."
    with _hold_or_refuse(data_dir / "backup.lock", fcntl.LOCK_EX, refusal):
        yield


@contextmanager
def be_only_one_writing_to(folder: Path) -> Iterator[None]:
    """Raises `Conflict` if somebody else is, or just was, and has renamed or removed the folder."""
    refusal = f"Another backup is being written to {folder}. Wait for it, or name another destination."
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise Conflict(refusal) from error
        except OSError:
            # Some file systems, NFS for one, lock no folders. A backup there is better than none.
            log.warning("%s cannot be locked. Let only one backup be written to it at a time.", folder)
        if not folder.exists() or not os.path.samestat(os.fstat(descriptor), folder.stat()):
            raise Conflict(refusal)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def be_alone(data_dir: Path) -> Iterator[None]:
    with ExitStack() as held:
        for who in ("engine", "worker", "backup"):
            refusal = f"The {who} of {data_dir} is at work. Stop it, or wait for it, and try again."
            held.enter_context(_hold_or_refuse(data_dir / f"{who}.lock", fcntl.LOCK_EX, refusal))
        yield


@contextmanager
def _hold_or_refuse(lock: Path, how: int, refusal: str) -> Iterator[None]:
    with ExitStack() as held:
        try:
            held.enter_context(hold(lock, how | fcntl.LOCK_NB))
        except BlockingIOError as error:
            raise Conflict(refusal) from error
        yield
