"""Bases of earlier schemas, and ways to make their upgrade fail. Run as a program, it is killed in an upgrade."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
from tests.handmade_documents import NOW

from kb.engine.originals import FolderOriginals
from kb.engine.storage import upgrade_base

DUMPS = Path(__file__).parents[2] / "samples" / "bases"
CONTENT = {
    "documents": "SELECT id, title, content_hash, source_path FROM documents ORDER BY id",
    "chunks": "SELECT id, document_id, text FROM chunks ORDER BY id",
    "tags": "SELECT document_id, name FROM document_tags JOIN tags ON tags.id = tag_id ORDER BY document_id, tag_id",
    "jobs": "SELECT id, status FROM jobs ORDER BY id",
}
Strike = Callable[[], None]
"""What happens at the moment of the failure."""


@contextmanager
def open_base(path: Path) -> Iterator[apsw.Connection]:
    """A connection that leaves the log as it is."""
    with closing(apsw.Connection(str(path))) as db:
        db.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
        db.wal_autocheckpoint(0)
        yield db


def build_base(path: Path, version: int) -> None:
    """A base as it is after its engine was killed: what was written last is still in its log, if it has one."""
    with open_base(path) as db:
        # A statement with an answer ends a call unless somebody asks for the rest.
        db.execute((DUMPS / f"schema-{version}.sql").read_text(encoding="utf-8")).fetchall()


def bytes_of(path: Path) -> dict[str, bytes]:
    """The file and its log, where that holds anything."""
    files = {file.name: file.read_bytes() for file in (path, path.with_name(f"{path.name}-wal")) if file.exists()}
    return {name: content for name, content in files.items() if content}


def read_content(path: Path) -> dict[str, list[Any]]:
    with open_base(path) as db:
        return {table: db.execute(sql).fetchall() for table, sql in CONTENT.items()}


def read_schema(path: Path) -> list[Any]:
    with open_base(path) as db:
        return db.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name").fetchall()


def read_version(path: Path) -> int:
    with open_base(path) as db:
        return int(db.pragma("user_version"))


def upgrade(folder: Path) -> None:
    upgrade_base(folder, FolderOriginals(folder / "originals"), now=NOW)


class Countdown:
    """Strikes the n-th time that it is asked; counts on."""

    def __init__(self, nth: int, strike: Strike) -> None:
        self.count = 0
        self._nth = nth
        self._strike = strike

    def tick(self) -> None:
        self.count += 1
        if self.count == self._nth:
            self._strike()


@contextmanager
def striking_at_statement(countdown: Countdown) -> Iterator[None]:
    """Before each statement that is put to the new base."""

    def trace(cursor: object, sql: str, values: object) -> bool:
        countdown.tick()
        return True

    def watch(connection: apsw.Connection) -> None:
        if connection.filename.endswith(".migrating"):
            connection.exec_trace = trace

    apsw.connection_hooks.append(watch)
    try:
        yield
    finally:
        apsw.connection_hooks.remove(watch)


class WatchedFile(apsw.VFSFile):
    def __init__(self, system: str, name: str | apsw.URIFilename | None, flags: list[int], tick: Strike) -> None:
        super().__init__(system, name, flags)
        self._tick = tick

    def xWrite(self, data: bytes, offset: int) -> None:
        self._tick()
        super().xWrite(data, offset)


class WatchedFiles(apsw.VFS):
    """The system's files, with a look at each write to those of a certain name."""

    def __init__(self, ending: str, tick: Strike) -> None:
        self._system = apsw.vfs_names()[0]
        super().__init__("watched", self._system, makedefault=True)
        self._ending = ending
        self._tick = tick

    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        path = name.filename() if isinstance(name, apsw.URIFilename) else name or ""
        return WatchedFile(self._system, name, flags, self._tick if path.endswith(self._ending) else lambda: None)


@contextmanager
def striking_at_write(ending: str, countdown: Countdown) -> Iterator[None]:
    """Before each piece that SQLite writes into a file whose name ends so."""
    files = WatchedFiles(ending, countdown.tick)
    try:
        yield
    finally:
        files.unregister()


def main() -> None:
    """Upgrade the base in a folder, and die at the n-th write, link, rename, ... of it."""
    folder, event, nth = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    countdown = Countdown(nth, lambda: os.kill(os.getpid(), signal.SIGKILL))
    sys.addaudithook(lambda name, values: countdown.tick() if name == event else None)
    with striking_at_write(event, countdown):
        upgrade(folder)


if __name__ == "__main__":
    main()
