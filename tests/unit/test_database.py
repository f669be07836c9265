"""How a `Database` ends, how long its log grows, and what it remembers of a disk that fails."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from pathlib import Path

import apsw
import pytest

from kb.engine.errors import Unavailable
from kb.engine.storage.sqlite.database import EMPTY_LOG_WITHIN_MS, MAX_LOG_BYTES, MAX_READERS, Database

ENDLESS = "WITH RECURSIVE n (x) AS (SELECT begun() UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n"
Open = Callable[[Database], AbstractContextManager[apsw.Connection]]


@pytest.fixture
def begun() -> threading.Semaphore:
    """Released whenever an endless query has begun."""
    return threading.Semaphore(0)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.sqlite"


@pytest.fixture
def database(path: Path, begun: threading.Semaphore) -> Iterator[Database]:
    def tell(*nothing: object) -> int:
        begun.release()
        return 1

    with closing(Database(path, prepare=lambda db: db.create_scalar_function("begun", tell, 0))) as database:
        yield database


def query_endlessly(open_one: Open, database: Database) -> None:
    with open_one(database) as db:
        db.execute(ENDLESS).fetchall()


@pytest.mark.parametrize("open_one", [Database.read, Database.write])
def test_who_is_in_the_middle_of_a_query_is_interrupted_when_the_database_is_closed(
    database: Database, path: Path, begun: threading.Semaphore, open_one: Open
) -> None:
    with ThreadPoolExecutor() as threads:
        under_way = threads.submit(query_endlessly, open_one, database)
        assert begun.acquire(timeout=10)

        database.close()

        with pytest.raises(Unavailable, match="stopping"):
            under_way.result(timeout=10)
    # The last connection that is closed removes the log.
    assert [file.name for file in path.parent.iterdir()] == [path.name]


def test_who_waits_for_a_turn_to_read_is_told_that_the_database_is_closed(
    database: Database, begun: threading.Semaphore
) -> None:
    with ThreadPoolExecutor(2 * MAX_READERS) as threads:
        under_way = [threads.submit(query_endlessly, Database.read, database) for _ in range(2 * MAX_READERS)]
        assert all(begun.acquire(timeout=10) for _ in range(MAX_READERS))

        database.close()

        assert all("stopping" in str(one.exception(timeout=10)) for one in under_way)


@pytest.mark.parametrize("open_one", [Database.read, Database.write])
def test_a_closed_database_can_be_closed_again_and_makes_no_file(
    database: Database, path: Path, open_one: Open
) -> None:
    with database.read() as db:
        db.pragma("user_version")
    database.close()
    path.unlink()

    database.close()
    with pytest.raises(Unavailable, match="stopping"), open_one(database):
        pass

    assert not path.exists()


def test_what_a_write_has_not_committed_is_undone_when_the_database_is_closed(
    database: Database, path: Path, begun: threading.Semaphore
) -> None:
    with database.write() as db:
        db.execute("CREATE TABLE kept (x)")

    def write_half() -> None:
        with database.write() as db:
            db.execute("INSERT INTO kept VALUES (1)")
            db.execute(ENDLESS).fetchall()

    with ThreadPoolExecutor() as threads:
        under_way = threads.submit(write_half)
        assert begun.acquire(timeout=10)
        database.close()
        assert isinstance(under_way.exception(timeout=10), Unavailable)

    with closing(apsw.Connection(str(path))) as left:
        assert left.execute("SELECT count(*) FROM kept").get == 0


@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "COMMIT"])
def test_trouble_with_the_disk_is_remembered_wherever_it_strikes_and_until_a_write_works(
    path: Path, statement: str
) -> None:
    failing = threading.Event()

    def strike(cursor: apsw.Cursor, sql: str, bindings: object) -> bool:
        if failing.is_set() and sql == statement:
            raise apsw.IOError("disk I/O error")
        return True

    def prepare(connection: apsw.Connection) -> None:
        connection.exec_trace = strike

    with closing(Database(path, prepare=prepare)) as database:
        failing.set()
        with pytest.raises(Unavailable, match="Check the disk"), database.write():
            pass
        remembered = database.trouble
        failing.clear()
        with database.write():
            pass

    assert remembered is not None
    assert "Check the disk" in remembered
    assert database.trouble is None


MEGABYTE = 2**20


@pytest.fixture
def log(database: Database, path: Path) -> Path:
    with database.write() as db:
        db.execute("CREATE TABLE texts (text)")
    return path.with_name(f"{path.name}-wal")


def write_megabytes(database: Database, log: Path, count: int) -> list[int]:
    """How long the log was after each."""
    sizes = []
    for _ in range(count):
        with database.write() as db:
            db.execute("DELETE FROM texts")
            db.execute("INSERT INTO texts VALUES (zeroblob(?))", (MEGABYTE,))
        sizes.append(log.stat().st_size)
    return sizes


def read_without_a_gap(database: Database, done: threading.Event) -> None:
    """Each begins before the one before it ends."""
    earlier = ExitStack()
    while not done.is_set():
        later = ExitStack()
        later.enter_context(database.read()).execute("SELECT count(*) FROM texts").fetchall()
        earlier.close()
        earlier = later
    earlier.close()


@contextmanager
def somebody_reading_at_every_moment(database: Database) -> Iterator[None]:
    done = threading.Event()
    with ThreadPoolExecutor() as threads:
        reading = threads.submit(read_without_a_gap, database, done)
        try:
            yield
        finally:
            done.set()
        reading.result(timeout=10)


# A reader that is held up by a busy machine lets the log become twice as long.
SHORT = 2 * MAX_LOG_BYTES + 4 * MEGABYTE


def test_the_log_stays_short_although_somebody_reads_at_every_moment(database: Database, log: Path) -> None:
    with somebody_reading_at_every_moment(database):
        sizes = write_megabytes(database, log, 200)

    assert max(sizes) < SHORT


def test_a_reader_that_stays_is_not_waited_for_at_each_write(database: Database, log: Path) -> None:
    with database.read() as db:
        db.execute("SELECT count(*) FROM texts").fetchall()
        begun = time.monotonic()
        sizes = write_megabytes(database, log, 80)
        seconds = time.monotonic() - begun
    with somebody_reading_at_every_moment(database):
        later = write_megabytes(database, log, 160)

    # Waited for twice; some 48 writes found the log too long.
    assert max(sizes) > SHORT
    assert seconds < 30 * EMPTY_LOG_WITHIN_MS / 1000
    assert max(later[40:]) < SHORT


def test_who_has_emptied_the_log_waits_for_other_writers_as_long_as_before(
    database: Database, log: Path, path: Path
) -> None:
    with somebody_reading_at_every_moment(database):
        assert max(write_megabytes(database, log, 100)) > MAX_LOG_BYTES / 2
    with closing(apsw.Connection(str(path))) as other:
        other.execute("BEGIN IMMEDIATE")
        end = threading.Timer(2 * EMPTY_LOG_WITHIN_MS / 1000, other.execute, ["COMMIT"])
        end.start()

        write_megabytes(database, log, 1)

        end.join()


SHORT_QUERY = "WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 20000) SELECT count(*) FROM n"


def test_e32_a_process_that_writes_all_the_time_lets_another_write(database: Database, path: Path) -> None:
    """E32"""
    begun, done = threading.Event(), threading.Event()

    def write_all_the_time() -> None:
        while not done.is_set():
            with database.write() as db:
                begun.set()
                db.execute(SHORT_QUERY).fetchall()

    with ThreadPoolExecutor() as threads, closing(Database(path, prepare=lambda db: None)) as of_another_process:
        writing = threads.submit(write_all_the_time)
        try:
            assert begun.wait(10)
            for _ in range(4):
                # This raises `Unavailable` if it has waited for ten seconds.
                with of_another_process.write() as db:
                    db.execute(SHORT_QUERY).fetchall()
        finally:
            done.set()
        writing.result(timeout=10)
