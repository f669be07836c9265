"""Copies of a whole base, taken while others go on writing, and what a backup must know of a base."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import apsw

from kb.engine.errors import Unavailable
from kb.engine.model.hashes import original_of
from kb.engine.storage.sqlite.database import BUSY_TIMEOUT_MS, translated_errors
from kb.engine.storage.sqlite.migrations import find_old_base
from kb.engine.storage.sqlite.takeover import V2
from kb.engine.storage.tables.rows import fetch_all

# 8 MB: a step takes some milliseconds, and a large base shows its progress.
PAGES_PER_STEP = 1000
# A damaged name may not even be text; the row's checksum tells of it.
IS_NAME = "length(original) = 64 AND original NOT GLOB '*[^0-9a-f]*'"
FILE_HEADER = b"SQLite format 3\0"


@dataclass(frozen=True)
class Contents:
    schema_version: int
    documents: int
    users_of_original: dict[str, list[int]]
    """Each original that the base refers to, with its documents; none if only jobs refer to it."""
    hashes_of_files: set[str]
    """What the files in it hash to: the names of their originals, told a second time."""

    def needs(self, original: str) -> bool:
        """Also if the one place that should name it is damaged."""
        return original in self.users_of_original or original in self.hashes_of_files


def copy_base(source: Path, target: Path, on_progress: Callable[[int, int], None]) -> None:
    """Write the base, as it is at one moment, into a new file that opens on its own.

    Writers go on; their log grows until this is done. `on_progress` gets the pages done, and of how many.
    """
    with translated_errors(), closing(_open(source)) as old, closing(apsw.Connection(str(target))) as new:
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
        for original, document_id in fetch_all(
            db,
            f"SELECT original, id FROM documents WHERE {IS_NAME} "
            f"UNION SELECT original, NULL FROM jobs WHERE {IS_NAME} ORDER BY 1, 2",
        ):
            users.setdefault(original, []).extend([] if document_id is None else [document_id])
        hashes = fetch_all(db, "SELECT content_hash FROM documents WHERE note_text IS NULL")
        documents = int(db.execute("SELECT count(*) FROM documents").get)
        return Contents(version, documents, users, {original_of(content_hash) for (content_hash,) in hashes})


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


def _open(path: Path) -> apsw.Connection:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    connection.set_busy_timeout(BUSY_TIMEOUT_MS)
    return connection
