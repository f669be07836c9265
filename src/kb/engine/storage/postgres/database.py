"""The connections to a PostgreSQL server, and the transactions on them.

Readers see one moment (REPEATABLE READ). Writers see what is committed (READ COMMITTED), and hold the rows that they
are about to change: what SQLite's one writer need not think of is said in the tables by `for_update` and `lock`. Where
two wait for each other all the same, PostgreSQL ends one of them, and `repeating` does its work again.

Nothing is prepared: a plan that was made while an index was not there would be used on without it.
"""

import logging
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from kb.engine.errors import Damaged, InvalidRequest, KbError, StorageFull, Unavailable
from kb.engine.storage.postgres.connection import PostgresConnection
from kb.engine.storage.postgres.values import register_vector

log = logging.getLogger(__name__)

Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")
Class = TypeVar("Class")

# Beside those who work on files, of which each may hold two: its own and that of its heartbeat.
LEAST_CONNECTIONS = 8
# How long somebody waits for a connection before being told to come again.
CONNECTED_WITHIN_SECONDS = 5.0
CANCELLED_WITHIN_SECONDS = 2.0
# A host that is gone must not be waited for as long as the system would.
KEEPALIVES = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}

# Somebody whose machine stalls or is cut off in the middle of a write would otherwise keep what it holds, and everybody
# who waits for that, for hours.
READING = b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
WRITING = (
    b"BEGIN ISOLATION LEVEL READ COMMITTED; "
    b"SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = '60s'"
)

HELD = {"close", "one_moment", "watch_jobs"}
MOST_TRIES = 8
LONGEST_REST_SECONDS = 0.05

UNREACHABLE = "The database cannot be reached. Check that PostgreSQL is running and what KB_STORE_URL says."
BUSY = "The database is busy with other writes. Try again shortly."
STOPPING = "The engine is stopping."
TOO_MUCH = "The database cannot keep this: a text with a NUL in it, or one or a number that is too large."
NO_PGVECTOR = "The server has no extension vector. Install pgvector 0.8 or later on it."

TROUBLES: tuple[tuple[type[BaseException], type[KbError], str], ...] = (
    (errors.DiskFull, StorageFull, "The database's disk is full. Free some space and try again."),
    (errors.OutOfMemory, Unavailable, "The database is out of memory. Try again shortly."),
    (errors.TooManyConnections, Unavailable, "The database takes no more connections. Try again shortly."),
    (errors.LockNotAvailable, Unavailable, BUSY),
    (
        errors.ReadOnlySqlTransaction,
        Unavailable,
        "The database takes no writes. Is KB_STORE_URL that of a standby?",
    ),
    (
        errors.InsufficientPrivilege,
        Unavailable,
        "The database does not let this user do that. Have an administrator run CREATE EXTENSION vector in it, and let "
        "the user create tables.",
    ),
    (errors.UndefinedFile, Unavailable, NO_PGVECTOR),
    (errors.FeatureNotSupported, Unavailable, NO_PGVECTOR),
    (errors.IdleInTransactionSessionTimeout, Unavailable, "The database has given up waiting for us. Try again."),
    (errors.QueryCanceled, Unavailable, "The database gave up a statement that took too long. Try again shortly."),
    (errors.ProgramLimitExceeded, InvalidRequest, TOO_MUCH),
    (psycopg.DataError, InvalidRequest, TOO_MUCH),
    (errors.DataCorrupted, Damaged, "The database is damaged. Restore it from a backup."),
    (errors.IndexCorrupted, Damaged, "An index of the database is damaged. Run REINDEX DATABASE, or restore a backup."),
    (PoolTimeout, Unavailable, UNREACHABLE),
    (PoolClosed, Unavailable, STOPPING),
    (psycopg.InterfaceError, Unavailable, UNREACHABLE),
    (psycopg.OperationalError, Unavailable, UNREACHABLE),
)


def keep_alive(url: str) -> dict[str, Any]:
    """How to connect, unless the URL says otherwise."""
    try:
        return {**KEEPALIVES, **conninfo_to_dict(url)}
    except psycopg.ProgrammingError:
        # Its words may quote the password.
        raise Unavailable("KB_STORE_URL is no address of a database. Escape what is odd in it, as % is %25.") from None


class _Again(Exception):
    """Another transaction was in the way, and nothing of this one has happened."""


IN_THE_WAY = (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation, errors.ForeignKeyViolation)


@contextmanager
def translated_errors() -> Iterator[None]:
    """Turn the driver's exceptions into errors a caller can act on."""
    try:
        yield
    except IN_THE_WAY as error:
        raise _Again from error
    except (psycopg.Error, PoolTimeout, PoolClosed) as error:
        for driver_class, error_class, message in TROUBLES:
            if isinstance(error, driver_class):
                raise error_class(message) from error
        raise


def repeating(method: Callable[Arguments, Returned]) -> Callable[Arguments, Returned]:
    """Have it done again from its beginning if another transaction was in the way.

    A method of a store is one transaction, of which nothing has happened then. Of `tune_search`, which is many, each is
    right by itself, whether it is done once or twice.
    """

    @wraps(method)
    def repeat(*arguments: Arguments.args, **named: Arguments.kwargs) -> Returned:
        for tried in range(1, MOST_TRIES + 1):
            try:
                return method(*arguments, **named)
            except _Again as error:
                if tried == MOST_TRIES:
                    raise Unavailable(BUSY) from error.__cause__
                time.sleep(random.uniform(0, LONGEST_REST_SECONDS * tried))  # noqa: S311 - no secret
        raise AssertionError

    return repeat


def repeat_each(*, of: type) -> Callable[[type[Class]], type[Class]]:
    """Repeat each method of this protocol and of its parts, but those that give something to hold on to."""

    def repeat_methods(store: type[Class]) -> type[Class]:
        for name in dir(of):
            if not name.startswith("_") and name not in HELD:
                setattr(store, name, repeating(getattr(store, name)))
        return store

    return repeat_methods


class Database:
    def __init__(self, url: str, *, concurrency: int = 1) -> None:
        """`concurrency` is how many files are worked on at a time."""
        _require_reachable(url)
        self._most_connections = LEAST_CONNECTIONS + 2 * concurrency
        self.trouble: str | None = None
        """Why the last write did not work, if the database was to blame."""
        self._held = threading.local()
        # Guards the next two.
        self._lock = threading.Lock()
        self._is_closing = False
        self._in_use: set[psycopg.Connection[tuple[Any, ...]]] = set()
        self._pool: ConnectionPool[psycopg.Connection[tuple[Any, ...]]] = ConnectionPool(
            kwargs={"autocommit": True, "prepare_threshold": None, **keep_alive(url)},
            min_size=0,
            max_size=self._most_connections,
            timeout=CONNECTED_WITHIN_SECONDS,
            # After that the pool gives up, and whoever comes next makes it try again at once.
            reconnect_timeout=CONNECTED_WITHIN_SECONDS,
            configure=register_vector,
            # One that broke while it was idle is replaced, and nobody hears of it.
            check=ConnectionPool.check_connection,
            open=True,
        )

    @contextmanager
    def write(self) -> Iterator[PostgresConnection]:
        """A transaction: committed, and safely on disk, when the block ends; undone if it raises."""
        try:
            with translated_errors(), self._lend() as connection, self._transaction(connection, WRITING) as db:
                yield db
                db.write_events()
        except (Unavailable, StorageFull) as error:
            if isinstance(error.__cause__, psycopg.Error | PoolTimeout):
                self.trouble = error.message
            raise
        self.trouble = None

    @contextmanager
    def read(self) -> Iterator[PostgresConnection]:
        """A snapshot: everything read in the block belongs to one moment."""
        held: PostgresConnection | None = getattr(self._held, "reader", None)
        if held is not None:
            yield held
            return
        with (
            translated_errors(),
            self._lend() as connection,
            self._transaction(connection, READING) as db,
        ):
            yield db

    @contextmanager
    def one_moment(self) -> Iterator[PostgresConnection]:
        """Each block that this thread reads in, within this one, has the same snapshot."""
        outer: PostgresConnection | None = getattr(self._held, "reader", None)
        try:
            with self.read() as reader:
                self._held.reader = reader
                try:
                    yield reader
                finally:
                    self._held.reader = outer
        except _Again as error:
            # What is done in the block cannot be done again from here.
            raise Unavailable(BUSY) from error

    @contextmanager
    def outside_transactions(self) -> Iterator[PostgresConnection]:
        """For what is done in no transaction, such as to build an index while others write; it may take long."""
        with translated_errors(), self._lend() as connection:
            connection.execute(b"SET statement_timeout = 0; SET lock_timeout = 0")
            try:
                yield PostgresConnection(connection)
            finally:
                if not connection.closed and not connection.broken:
                    connection.execute(b"RESET statement_timeout; RESET lock_timeout")

    @contextmanager
    def _transaction(
        self, connection: "psycopg.Connection[tuple[Any, ...]]", beginning: bytes
    ) -> Iterator[PostgresConnection]:
        connection.execute(beginning)
        try:
            yield PostgresConnection(connection)
        except BaseException:
            if not connection.closed and not connection.broken:
                connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")

    @contextmanager
    def _connect(self) -> "Iterator[psycopg.Connection[tuple[Any, ...]]]":
        try:
            connection = self._pool.getconn()
        except PoolTimeout as error:
            raise Unavailable(BUSY if len(self._in_use) >= self._most_connections else UNREACHABLE) from error
        try:
            yield connection
        finally:
            self._pool.putconn(connection)

    @contextmanager
    def _lend(self) -> "Iterator[psycopg.Connection[tuple[Any, ...]]]":
        with self._connect() as connection:
            with self._lock:
                if self._is_closing:
                    raise Unavailable(STOPPING)
                self._in_use.add(connection)
            try:
                yield connection
            except errors.QueryCanceled as error:
                if self._is_closing:
                    raise Unavailable(STOPPING) from error
                raise
            finally:
                with self._lock:
                    self._in_use.discard(connection)

    def close(self) -> None:
        """End whatever is under way, and close every connection. Who comes later is told that it is too late."""
        with self._lock:
            self._is_closing = True
            under_way = list(self._in_use)
        for connection in under_way:
            with suppress(psycopg.Error):
                connection.cancel_safe(timeout=CANCELLED_WITHIN_SECONDS)
        self._pool.close()


def _require_reachable(url: str) -> None:
    """The pool would try for seconds, and not tell why in vain."""
    try:
        psycopg.connect(**keep_alive(url)).close()
    except psycopg.OperationalError as error:
        # The server's words, or those of the system: they name hosts and users, and never a password.
        reason = str(error).strip().splitlines()[0]
        raise Unavailable(f"{UNREACHABLE} {reason}") from error
