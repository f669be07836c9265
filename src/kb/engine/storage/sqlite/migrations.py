"""Bring an older base to today's schema: always in a new file beside it, never in place.

The old file is locked against everybody else and only read. The new one is a copy of it (or, for kb v2, is filled
from it) that takes the numbered steps it has not had yet, is checked, and is flushed to the disk. Only then is
the old file given a second name, by which it stays as a backup, and the new one renamed over the first. So until
that last rename, whatever fails, and whenever the process is killed, the base is what it was; all that may be
left is a file with a name of its own, which the next start removes.

Only the engine upgrades, since it is alone on its data directory. Everybody else is told to wait for it.
"""

import logging
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import apsw

from kb.engine.errors import KbError, StorageFull, Unavailable
from kb.engine.originals import FolderOriginals, explain_disk_error, sync_folder
from kb.engine.storage.sqlite.checksums import register_checksum
from kb.engine.storage.sqlite.connection import SqliteConnection
from kb.engine.storage.sqlite.database import LOGS, PAGE_BYTES, Database, open_untouched, translated_errors
from kb.engine.storage.sqlite.integrity import check_base
from kb.engine.storage.sqlite.own_schema import apply_steps, load_steps, refuse_foreign_schema
from kb.engine.storage.sqlite.takeover import V2, find_v2_base, is_v2, take_over
from kb.engine.storage.tables.meta import declare_whole, write_meta

log = logging.getLogger(__name__)

# A worker whose engine was killed may go on for 10 seconds, with the base open.
ALONE_WITHIN_MS = 15_000


@dataclass(frozen=True)
class OldBase:
    path: Path
    version: int


def create_schema(database: Database, *, model_fingerprint: str) -> int:
    """Make an empty base one of today's schema; returns that. Any other is left as it is."""
    newest = max(load_steps())
    with database.write() as db:
        if db.pragma("user_version") == 0:
            _build(db)
            # There is no document without vectors of the model.
            declare_whole(db, model_fingerprint)
    return newest


def is_missing_or_empty(path: Path) -> bool:
    if not path.exists():
        return True
    with translated_errors(), open_untouched(path) as db:
        return not db.execute("SELECT EXISTS (SELECT 1 FROM sqlite_schema)").get


def find_old_base(path: Path) -> OldBase | None:
    """What has to be upgraded before `path` can be opened, if anything.

    Raises `Unavailable` for a base that this version of kb cannot take over, or whose schema has parts that kb did
    not make. The file is not changed.
    """
    if not path.exists():
        v2_base = find_v2_base(path.parent)
        return None if v2_base is None else OldBase(v2_base, V2)
    steps = load_steps()
    with translated_errors(), open_untouched(path) as db:
        version = int(db.pragma("user_version"))
        is_empty = not db.execute("SELECT EXISTS (SELECT 1 FROM sqlite_schema)").get
        has_documents = db.execute("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'documents')").get
        is_numbered = version in steps and has_documents
        if is_numbered:
            refuse_foreign_schema(db, version)
        is_known = is_numbered or is_v2(db)
    if (version == max(steps) and is_known) or (version == 0 and is_empty):
        return None
    if version > max(steps):
        raise Unavailable(
            f"The base has schema {version}, but this kb knows only up to {max(steps)}. "
            "It was written by a newer kb: upgrade, or restore a backup made with this version."
        )
    if not is_known:
        raise Unavailable(f"The base has schema {version}, which this kb cannot take over. Is {path} a base of kb?")
    return OldBase(path, version)


def refuse_old_base(path: Path) -> None:
    old = find_old_base(path)
    if old is not None:
        raise Unavailable(f"{old.path} has schema {old.version}. Start the engine first: it brings it up to date.")


def upgrade(path: Path, originals: FolderOriginals, *, now: datetime) -> None:
    """Bring the base to today's schema; does nothing if it is there already. Only for who is alone on the data.

    The old file stays beside it. Raises `Unavailable` or `StorageFull`, and then the base is as it was.
    """
    new_path = _beside(path, ".migrating")
    _remove(new_path)
    old = find_old_base(path)
    if old is None:
        return
    log.info("Bringing %s from schema %d to %d.", old.path, old.version, max(load_steps()))
    with _told_plainly(old):
        try:
            with open_untouched(old.path) as old_db:
                _lock_others_out(old_db)
                _write_new_base(old, old_db, new_path, originals, now)
                if old.path == path:
                    _fold_log_in(old_db)
            _put_in_place(new_path, path, old)
        finally:
            _remove(new_path)


def _build(db: apsw.Connection) -> None:
    apply_steps(db, after=0)
    write_meta(db, "database_id", str(uuid.uuid4()))


def _lock_others_out(db: apsw.Connection) -> None:
    """From here on until it is closed nobody else can read or write; raises if somebody has it open."""
    db.set_busy_timeout(ALONE_WITHIN_MS)
    db.pragma("locking_mode", "exclusive")
    # The lock is taken with the first transaction and outlasts it.
    db.execute("BEGIN EXCLUSIVE; COMMIT")


def _write_new_base(
    old: OldBase, old_db: apsw.Connection, new_path: Path, originals: FolderOriginals, now: datetime
) -> None:
    with closing(SqliteConnection(new_path)) as db:
        db.pragma("page_size", PAGE_BYTES)
        if old.version != V2:
            with db.backup("main", old_db, "main") as copying:
                copying.step()
        # The new file needs no journal: if the upgrade fails, the file is deleted. SQLite does not allow to switch the
        # journal off in defensive mode.
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
        db.pragma("journal_mode", "off")
        db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
        # What a step moves to another place must not stay in the old one.
        db.pragma("secure_delete", "on")
        # Steps rebuild tables that others refer to; all references are checked in the end.
        db.pragma("foreign_keys", "off")
        register_checksum(db)
        db.execute("BEGIN")
        if old.version == V2:
            _build(db)
            take_over(old_db, db, folder=old.path.parent, originals=originals, now=now)
        else:
            apply_steps(db, after=old.version)
        # This flushes the file to the disk, too.
        db.execute("COMMIT")
        _refuse_loss(old_db, db)
    damages = check_base(new_path)
    if damages:
        raise Unavailable(f"The new base is not whole. {damages[0].message}")


def _refuse_loss(old_db: apsw.Connection, new_db: apsw.Connection) -> None:
    count = (
        "SELECT (SELECT count(*) FROM documents), "
        "(SELECT count(*) FROM chunks WHERE document_id IN (SELECT id FROM documents))"
    )
    before, after = old_db.execute(count).fetchone(), new_db.execute(count).fetchone()
    if before != after:
        raise Unavailable(f"The new base has {after} documents and chunks instead of {before}.")


def _fold_log_in(db: apsw.Connection) -> None:
    """Write into the old file what is still in its log, which would otherwise be taken for the new file's."""
    mode = db.pragma("journal_mode", "delete")
    if mode != "delete":
        raise Unavailable("Its log could not be written into it.")


def _put_in_place(new_path: Path, path: Path, old: OldBase) -> None:
    if old.path == path:
        _keep_as_backup(path, _beside(path, f".schema-{old.version}"))
    # A log that is left from a base that is gone would be taken for the new one's.
    for ending in LOGS:
        _beside(path, ending).unlink(missing_ok=True)
    os.replace(new_path, path)
    sync_folder(path.parent)


def _keep_as_backup(path: Path, backup: Path) -> None:
    backup.unlink(missing_ok=True)
    try:
        os.link(path, backup)
    except OSError:
        # Some file systems have no links.
        with path.open("rb") as old, backup.open("wb") as copy:
            shutil.copyfileobj(old, copy)
            copy.flush()
            os.fsync(copy.fileno())
    sync_folder(path.parent)


def _remove(new_path: Path) -> None:
    for ending in ("", *LOGS):
        _beside(new_path, ending).unlink(missing_ok=True)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(path.name + ending)


@contextmanager
def _told_plainly(old: OldBase) -> Iterator[None]:
    """Whatever went wrong, a person has to know which base it is, that it is unharmed, and what can be done."""

    def explain(reason: object) -> str:
        return (
            f"{old.path} could not be brought up to date. {reason} "
            f"It is as it was, with schema {old.version}, and the kb that wrote it can go on with it."
        )

    try:
        with translated_errors():
            yield
    except StorageFull as error:
        raise StorageFull(explain(error)) from error
    except OSError as error:
        trouble = explain_disk_error(error, otherwise=f"{error}.")
        raise type(trouble)(explain(trouble)) from error
    except KbError as error:
        raise Unavailable(explain(error)) from error
    except (apsw.Error, ValueError) as error:
        raise Unavailable(explain(f"{error}.")) from error
