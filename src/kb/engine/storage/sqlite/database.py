"""One SQLite file, one writer and several readers at a time.

SQLite in WAL mode lets any number of connections read a consistent snapshot while one writes. So there
is one connection for writing, behind a lock, and a small pool for reading. Other processes (the worker)
have a `Database` of their own on the same file; between processes `BEGIN IMMEDIATE` is the lock, and
SQLite's busy handler is the queue in front of it.

`synchronous=FULL` because an answered write must survive a power cut; with NORMAL it survives only a
crash of the process.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import apsw

from kb.engine.errors import Damaged, KbError, StorageFull, Unavailable
from kb.engine.storage.sqlite.connection import SqliteConnection

# A writer waits at most this long for another process to finish its transaction.
BUSY_TIMEOUT_MS = 10_000
# SQLite has no queue of processes: a waiting process tries again and again. If another one writes without a pause, it
# may never succeed. So a process that has written for this long makes a pause, in which the waiting one can begin.
MAX_RUN_SECONDS = 1.0
RETRY_EVERY_SECONDS = 0.01
PAUSE_SECONDS = 3 * RETRY_EVERY_SECONDS
# More readers than cores only add page caches; requests beyond that wait a moment.
MAX_READERS = 8
# 4 KB pages would waste a quarter of the file on 1,536-byte vectors.
PAGE_BYTES = 8192
# What SQLite keeps beside a file, by how the name ends.
LOGS = ("-journal", "-wal", "-shm")
# SQLite begins its log anew only when a writer finds nobody reading it, which among busy readers may never happen.
MAX_LOG_BYTES = 32 * 1024 * 1024
# How long writers wait for those readers that began before the log is to be emptied. Readers wait for nobody.
EMPTY_LOG_WITHIN_MS = 1_000
# An interruption ends only the statement that is running, and there may be none just then: so it is repeated.
INTERRUPT_EVERY_SECONDS = 0.05
# A writer that waits for another process cannot be interrupted.
CLOSED_WITHIN_SECONDS = BUSY_TIMEOUT_MS / 1000 + 1

BUSY = "The base is busy with another write. Try again shortly."
STOPPING = "The engine is stopping."
DAMAGED_FILE = "The base's file is damaged. Restore it from a backup."

# What keeps the disk from taking or giving anything, and what to do about it.
DISK_TROUBLE: tuple[tuple[type[apsw.Error], type[KbError], str], ...] = (
    (apsw.FullError, StorageFull, "The disk is full. Free some space and try again."),
    (apsw.IOError, Unavailable, "The base cannot be read or written. Check the disk it lies on."),
    (apsw.CantOpenError, Unavailable, "The base cannot be opened. Check the disk it lies on."),
    (apsw.ReadOnlyError, Unavailable, "The base cannot be written. Check who may write it, and the disk it lies on."),
    (apsw.CorruptError, Damaged, DAMAGED_FILE),
    (apsw.NotADBError, Damaged, DAMAGED_FILE),
)


def _trouble_of(error: BaseException) -> KbError | None:
    for driver_class, error_class, message in DISK_TROUBLE:
        if isinstance(error, driver_class):
            return error_class(message)
    return None


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn the driver's exceptions into errors a caller can act on."""
    try:
        yield
    except (apsw.BusyError, apsw.LockedError) as error:
        raise Unavailable(BUSY) from error
    except apsw.InterruptError as error:
        raise Unavailable(STOPPING) from error
    except apsw.Error as error:
        trouble = _trouble_of(error)
        if trouble is None:
            raise
        raise trouble from error
    except UnicodeDecodeError as error:
        # SQLite takes any bytes for text; what was written was text.
        raise Damaged(DAMAGED_FILE) from error


def _is_stuck(connection: apsw.Connection) -> bool:
    """Whether it still looks at an old moment although its transaction is over.

    An error that was raised between two rows holds on to the statement that they came from, for as long as somebody
    holds on to the error. Such a reader would never see anything new, and such a writer could not write.
    """
    return connection.txn_state("main") != apsw.SQLITE_TXN_NONE


def _make_busy_handler() -> Callable[[int], bool]:
    """Make a handler that waits for the lock. SQLite's own handler tries again only every 0.1 seconds."""
    deadline = 0.0

    def wait_for_another_try(tries: int) -> bool:
        nonlocal deadline
        if tries == 0:
            deadline = time.monotonic() + BUSY_TIMEOUT_MS / 1000
        time.sleep(RETRY_EVERY_SECONDS)
        return time.monotonic() < deadline

    return wait_for_another_try


@contextmanager
def open_untouched(path: Path) -> Iterator[SqliteConnection]:
    """A connection to a base that is there, which by opening and closing it changes neither its file nor its log."""
    with closing(SqliteConnection(path, flags=apsw.SQLITE_OPEN_READWRITE)) as connection:
        connection.set_busy_timeout(BUSY_TIMEOUT_MS)
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        yield connection


class Database:
    def __init__(self, path: Path, *, prepare: Callable[[apsw.Connection], None]) -> None:
        """`prepare` is given each connection that is opened, to add what SQL needs from Python."""
        self._path = path
        self._prepare = prepare
        self._empty_log_beyond = MAX_LOG_BYTES
        self.trouble: str | None = None
        """Why the last write did not work, if the disk was to blame."""
        self._write_lock = threading.Lock()
        self._reader_permits = threading.BoundedSemaphore(MAX_READERS)
        # When the last pause for other processes ended, and when this process last wrote. The lock guards both.
        self._paused_until = self._wrote_until = time.monotonic()
        # Guards the next three. A connection is used by the one thread that took it, and interrupted by another
        # only while this is held: whoever gives it back can be sure that nobody touches it any more.
        self._returned = threading.Condition()
        self._is_closing = False
        self._idle_readers: list[SqliteConnection] = []
        self._in_use: set[SqliteConnection] = set()
        self._held = threading.local()
        with translated_errors():
            self._writer = self._connect()

    def _connect(self) -> SqliteConnection:
        connection = SqliteConnection(self._path)
        connection.set_busy_handler(_make_busy_handler())
        connection.pragma("page_size", PAGE_BYTES)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full")
        connection.pragma("foreign_keys", "on")
        connection.pragma("secure_delete", "on")
        connection.pragma("journal_size_limit", MAX_LOG_BYTES)
        self._prepare(connection)
        return connection

    @contextmanager
    def write(self) -> Iterator[SqliteConnection]:
        """A transaction: committed, and safely on disk, when the block ends; undone if it raises."""
        with self._turn_to_write(), translated_errors():
            try:
                self._writer.execute("BEGIN IMMEDIATE")
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
                if _is_stuck(self._writer):
                    self._replace_writer()
                raise
            self._bound_log()

    def _bound_log(self) -> None:
        """Empty the log when it has become long, so that it is not written on for ever.

        The write is safe by now, whatever happens here. A reader that stays for long, such as an export, is not waited
        for again before the log has grown by as much once more.
        """
        try:
            size = os.stat(self._writer.filename_wal).st_size
        except OSError:
            return
        if size <= MAX_LOG_BYTES:
            self._empty_log_beyond = MAX_LOG_BYTES
        if size <= self._empty_log_beyond:
            return
        self._writer.set_busy_timeout(EMPTY_LOG_WITHIN_MS)
        try:
            self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.Error:
            self._empty_log_beyond = size + MAX_LOG_BYTES
        finally:
            self._writer.set_busy_handler(_make_busy_handler())

    @contextmanager
    def _turn_to_write(self) -> Iterator[None]:
        """Bounded like the wait for other processes: who waits holds a thread that searches could use."""
        if not self._write_lock.acquire(timeout=BUSY_TIMEOUT_MS / 1000):
            raise Unavailable(BUSY)
        try:
            self._let_other_processes_write()
            self._take(self._writer)
            try:
                yield
            finally:
                self._give_back(self._writer)
        finally:
            self._wrote_until = time.monotonic()
            self._write_lock.release()

    def _let_other_processes_write(self) -> None:
        """Pause if the last pause was too long ago. Threads of this process need no pause: they wait in a queue."""
        paused = time.monotonic() - self._wrote_until
        if paused < PAUSE_SECONDS and self._wrote_until - self._paused_until > MAX_RUN_SECONDS:
            time.sleep(PAUSE_SECONDS - paused)
            paused = PAUSE_SECONDS
        if paused >= PAUSE_SECONDS:
            self._paused_until = time.monotonic()

    @contextmanager
    def read(self) -> Iterator[SqliteConnection]:
        """A snapshot: everything read in the block belongs to one moment."""
        held: SqliteConnection | None = getattr(self._held, "reader", None)
        if held is not None:
            yield held
            return
        with self._reader_permits, translated_errors():
            with self._returned:
                if self._is_closing:
                    # Another connection would make the base anew where it was removed since.
                    raise Unavailable(STOPPING)
                reader = self._idle_readers.pop() if self._idle_readers else None
            reader = reader or self._connect()
            self._take(reader)
            try:
                reader.execute("BEGIN")
                yield reader
            finally:
                self._give_back(reader)

    @contextmanager
    def one_moment(self) -> Iterator[SqliteConnection]:
        """Each block that this thread reads in, within this one, has the same snapshot."""
        outer: SqliteConnection | None = getattr(self._held, "reader", None)
        with self.read() as reader:
            self._held.reader = reader
            try:
                yield reader
            finally:
                self._held.reader = outer

    def _take(self, connection: SqliteConnection) -> None:
        with self._returned:
            if self._is_closing:
                connection.close()
                raise Unavailable(STOPPING)
            self._in_use.add(connection)

    def _give_back(self, connection: SqliteConnection) -> None:
        with self._returned:
            self._in_use.remove(connection)
            self._returned.notify_all()
            if self._is_closing:
                # Which undoes what was not committed, too.
                connection.close(force=True)
                return
            if connection is not self._writer:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                if _is_stuck(connection):
                    connection.close(force=True)
                else:
                    self._idle_readers.append(connection)

    def _replace_writer(self) -> None:
        with self._returned:
            self._in_use.remove(self._writer)
            self._writer.close(force=True)
            self._writer = self._connect()
            self._in_use.add(self._writer)

    def close(self) -> None:
        """Interrupt whatever is under way, and close every connection. Who comes later is told that it is too late.

        Does not wait for ever: a connection that is not given back in time is closed when it is.
        """
        deadline = time.monotonic() + CLOSED_WITHIN_SECONDS
        with self._returned:
            self._is_closing = True
            for connection in {self._writer, *self._idle_readers} - self._in_use:
                connection.close()
            self._idle_readers.clear()
            while self._in_use and time.monotonic() < deadline:
                for connection in self._in_use:
                    connection.interrupt()
                self._returned.wait(INTERRUPT_EVERY_SECONDS)
