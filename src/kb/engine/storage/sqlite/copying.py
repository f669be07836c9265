"""Copies of a whole base, taken while others go on writing, and what a backup must know of a base."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw

from kb.engine.errors import Unavailable
from kb.engine.model.hashes import is_name_of_original, original_of
from kb.engine.storage.sqlite.connection import SqliteConnection
from kb.engine.storage.sqlite.database import BUSY_TIMEOUT_MS, translated_errors
from kb.engine.storage.sqlite.migrations import find_old_base
from kb.engine.storage.sqlite.takeover import V2
from kb.engine.storage.tables.rows import fetch_all

# 8 MB: a step takes some milliseconds, and a large base shows its progress.
PAGES_PER_STEP = 1000
# Read as bytes: a damaged or forged name may not be text.
USERS_OF_ORIGINALS = (
    "SELECT CAST(original AS BLOB), 'document', id FROM documents WHERE original IS NOT NULL "
    "UNION ALL SELECT CAST(original AS BLOB), 'job', id FROM jobs WHERE original IS NOT NULL ORDER BY 1, 2, 3"
)
FILE_HEADER = b"SQLite format 3\0"


@dataclass(frozen=True)
class Contents:
    schema_version: int
    documents: int
    users_of_original: dict[str, list[int]]
    """Each original that the base refers to, with its documents; none if only jobs refer to it."""
    documents_with_unsafe_names: list[int]
    """Documents that refer to an original by a name that is not a SHA-256."""
    jobs_with_unsafe_names: list[int]
    hashes_of_files: set[str]
    """What the files in it hash to: the names of their originals, told a second time."""

    def needs(self, original: str) -> bool:
        """Also if the one place that should name it is damaged."""
        return original in self.users_of_original or original in self.hashes_of_files


def copy_base(source: Path, target: Path, on_progress: Callable[[int, int], None]) -> None:
    """Write the base, as it is at one moment, into a new file that opens on its own.

    Writers go on; their log grows until this is done. `on_progress` gets the pages done, and of how many.
    """
    with translated_errors(), closing(_open(source)) as old, closing(SqliteConnection(target)) as new:
        old.execute("BEGIN")
        # The moment is that of the first reading; every step then sees the same.
        old.pragma("schema_version")
        with new.backup("main", old, "main") as copying:
            while not copying.step(PAGES_PER_STEP):
                on_progress(copying.page_count - copying.remaining, copying.page_count)
        _do_without_log(new)  # which, the copied header says, lies beside the file


def read_contents(path: Path) -> Contents:
    """Raises `Unavailable` for what is no base of kb 3, or one that is newer than this kb knows."""
    old = find_old_base(path)
    if old is not None and old.version == V2:
        raise Unavailable(f"{path} is a base of kb v2. Start the engine first: it takes it over.")
    with translated_errors(), closing(_open(path)) as db:
        db.execute("BEGIN")
        version = int(db.pragma("user_version"))
        users: dict[str, list[int]] = {}
        unsafe: dict[str, list[int]] = {"document": [], "job": []}
        for content, kind, user_id in fetch_all(db, USERS_OF_ORIGINALS):
            name = content.decode(errors="replace")
            if is_name_of_original(name):
                users.setdefault(name, []).extend([user_id] if kind == "document" else [])
            else:
                unsafe[kind].append(user_id)
        hashes = fetch_all(db, "SELECT content_hash FROM documents WHERE note_text IS NULL")
        documents = int(db.execute("SELECT count(*) FROM documents").get)
        hashes_of_files = {original_of(content_hash) for (content_hash,) in hashes}
        return Contents(version, documents, users, unsafe["document"], unsafe["job"], hashes_of_files)


def forget_unsafe_names(copy: Path, contents: Contents) -> None:
    """Set the original of these documents and jobs to NULL, in a base that no other connection has open.

    Their checksums are not updated, so that they still show that the rows were changed.
    """
    with translated_errors(), closing(_open(copy)) as db, db:
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        for table, ids in (
            ("documents", contents.documents_with_unsafe_names),
            ("jobs", contents.jobs_with_unsafe_names),
        ):
            db.executemany(f"UPDATE {table} SET original = NULL WHERE id = ?", [(row_id,) for row_id in ids])


def fold_log(path: Path) -> bool:
    """Bring what stands in the base's log into its file, so that the log is gone; False if it is no base any more.

    Raises `Unavailable` if anybody else has the base open.
    """
    with path.open("rb") as file:
        if file.read(len(FILE_HEADER)) != FILE_HEADER:
            # SQLite might take it for a new base, and remove a log that can still be of use.
            return False
    try:
        with translated_errors(), closing(_open(path)) as db:
            _do_without_log(db)
            return True
    except Unavailable as error:
        if isinstance(error.__cause__, (apsw.CorruptError, apsw.NotADBError)):
            return False
        raise


def _do_without_log(db: apsw.Connection) -> None:
    # Who is alone needs no file to share with others, for which a full disk might have no room.
    db.pragma("locking_mode", "exclusive")
    db.pragma("journal_mode", "delete")


def _open(path: Path) -> SqliteConnection:
    connection = SqliteConnection(path, flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    return connection
