"""One SQLite file, one writer and several readers at a time.

SQLite in WAL mode lets any number of connections read a consistent snapshot while one writes. So there
is one connection for writing, behind a lock, and a small pool for reading. Other processes (the worker)
have a `Database` of their own on the same file; between processes `BEGIN IMMEDIATE` is the lock, and
SQLite's busy handler is the queue in front of it.

`synchronous=FULL` because an answered write must survive a power cut; with NORMAL it survives only a
crash of the process.
"""

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from kb.engine.errors import KbError, StorageFull, Unavailable

# A writer waits at most this long for another process to finish its transaction.
BUSY_TIMEOUT_MS = 10_000
# More readers than cores only add page caches; requests beyond that wait a moment.
MAX_READERS = 8
# 4 KB pages would waste a quarter of the file on 1,536-byte vectors.
PAGE_BYTES = 8192


# What keeps the disk from taking or giving anything, and what to do about it.
DISK_TROUBLE: dict[type[apsw.Error], KbError] = {
    apsw.FullError: StorageFull("The disk is full. Free some space and try again."),
    apsw.IOError: Unavailable("The base cannot be read or written. Check the disk it lies on."),
    apsw.CantOpenError: Unavailable("The base cannot be opened. Check the disk it lies on."),
    apsw.ReadOnlyError: Unavailable("The base cannot be written. Check who may write it, and the disk it lies on."),
    apsw.CorruptError: Unavailable("The base's file is damaged. Restore it from a backup."),
    apsw.NotADBError: Unavailable("The base's file is damaged. Restore it from a backup."),
}


def _trouble_of(error: BaseException) -> KbError | None:
    return next((trouble for kind, trouble in DISK_TROUBLE.items() if isinstance(error, kind)), None)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn the driver's exceptions into errors a caller can act on."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Unavailable("The base is busy with another write. Try again shortly.") from error
    except tuple(DISK_TROUBLE) as error:
        trouble = _trouble_of(error)
        assert trouble is not None  # noqa: S101 - it is one of them
        raise type(trouble)(trouble.message) from error
    except UnicodeDecodeError as error:
        # SQLite takes any bytes for text; what was written was text.
        raise Unavailable(DISK_TROUBLE[apsw.CorruptError].message) from error


@contextmanager
def open_untouched(path: Path) -> Iterator[apsw.Connection]:
    """A connection to a base that is there, which by opening and closing it changes neither its file nor its log."""
    with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        yield connection


class Database:
    def __init__(self, path: Path, *, prepare: Callable[[apsw.Connection], None]) -> None:
        """`prepare` is given each connection that is opened, to add what SQL needs from Python."""
        self._path = path
        self._prepare = prepare
        self.trouble: str | None = None
        """Why the last write did not work, if the disk was to blame."""
        self._write_lock = threading.Lock()
        self._idle_readers: queue.LifoQueue[apsw.Connection] = queue.LifoQueue()
        self._reader_permits = threading.BoundedSemaphore(MAX_READERS)
        with translated_errors():
            self._writer = self._connect()

    def _connect(self) -> apsw.Connection:
        connection = apsw.Connection(str(self._path))
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.pragma("page_size", PAGE_BYTES)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.pragma("foreign_keys", "on")
        connection.pragma("secure_delete", "on")
        connection.pragma("journal_size_limit", 64 * 1024 * 1024)
        self._prepare(connection)
        return connection

    @contextmanager
    def write(self) -> Iterator[apsw.Connection]:
        """A transaction: committed, and safely on disk, when the block ends; undone if it raises."""
        with self._turn_to_write(), translated_errors():
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
                self.trouble = None
            except BaseException as error:
                trouble = _trouble_of(error)
                if trouble is not None:
                    self.trouble = trouble.message
                # A failed COMMIT (full disk) may have rolled back already.
                if self._writer.in_transaction:
                    self._writer.execute("ROLLBACK")
                raise

    @contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        """Bounded like the wait for other processes: who waits holds a thread that searches could use."""
        if not self._write_lock.acquire(timeout=BUSY_TIMEOUT_MS / 1000):
            raise Unavailable("The base is busy with another write. Try again shortly.")
        try:
            yield
        finally:
            self._write_lock.release()

    @contextmanager
    def read(self) -> Iterator[apsw.Connection]:
        """A snapshot: everything read in the block belongs to one moment."""
        with self._reader_permits, translated_errors():
            try:
                reader = self._idle_readers.get_nowait()
            except queue.Empty:
                reader = self._connect()
            try:
                reader.execute("BEGIN")
                yield reader
            finally:
                if reader.in_transaction:
                    reader.execute("ROLLBACK")
                self._idle_readers.put(reader)

    def close(self) -> None:
        while not self._idle_readers.empty():
            self._idle_readers.get_nowait().close()
        with self._write_lock:
            self._writer.close()
