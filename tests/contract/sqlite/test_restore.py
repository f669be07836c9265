"""Putting a backup in the place of what is there (C1)."""

import fcntl
import json
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.backends import SqliteBackend
from tests.bases import add_file, content_of, make_backup, read_rows, restore_backup
from tests.contract.sqlite.data_directory import originals as originals
from tests.contract.sqlite.data_directory import store as store
from tests.contract.sqlite.foreign_parts import FOREIGN_PARTS, put_foreign_part
from tests.handmade_documents import NOW, add_note, digest

from kb.engine.backup import has_base_file
from kb.engine.errors import Conflict, DocumentNotFound, Unavailable
from kb.engine.locks import be_alone, hold
from kb.engine.model import FileSubmission
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Store
from kb.engine.storage.sqlite.integrity import check_base
from kb.engine.wiring import EngineOptions, open_engine, open_for_worker


def test_a_restore_brings_back_what_was_and_leaves_nothing_of_what_is(
    folder: Path, store: Store, originals: FolderOriginals
) -> None:
    """The log of the old base, which SQLite would apply to whatever file lies beside it, is gone too."""
    add_file(store, originals, "from the backup")
    make_backup(folder)
    newer = add_note(store, "written after the backup")
    killed = folder / "killed"
    killed.mkdir()
    for name in ("kb.sqlite", "kb.sqlite-wal"):
        shutil.copy(folder / "data" / name, killed)

    restore_backup(folder, "killed")

    assert {path.name for path in killed.glob("kb.sqlite*")} == {"kb.sqlite"}
    assert read_rows(killed) == read_rows(folder / "backup")
    assert check_base(killed / "kb.sqlite") == []
    with closing(SqliteBackend(killed).open()) as restored, pytest.raises(DocumentNotFound):
        restored.get_document(newer.id)


def test_a_restore_mends_originals_that_were_damaged(folder: Path, store: Store, originals: FolderOriginals) -> None:
    add_file(store, originals, "mended")
    make_backup(folder)
    store.close()
    originals.path_of(digest("mended")).write_text("broken")

    restore_backup(folder, "data")

    assert originals.path_of(digest("mended")).read_text() == "mended"


@pytest.mark.parametrize("damaged", ["kb.sqlite", "original", "missing original", "manifest.json"])
def test_a_damaged_backup_is_refused_and_the_base_stays_what_it_was(
    folder: Path, store: Store, originals: FolderOriginals, damaged: str
) -> None:
    original = add_file(store, originals, "in the backup").original
    make_backup(folder)
    in_backup = folder / "backup" / "originals" / str(original)[:2] / str(original)
    path = in_backup if "original" in damaged else folder / "backup" / damaged
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    if damaged == "missing original":
        path.unlink()
    (folder / "other").mkdir()
    with closing(SqliteBackend(folder / "other").open()) as other:
        add_note(other, "what was there")
    before = content_of(folder / "other")

    with pytest.raises(Unavailable, match="damaged"):
        restore_backup(folder, "other")

    after = content_of(folder / "other")
    assert {name: after[name] for name in before} == before
    assert {name for name in after.keys() - before.keys() if not name.endswith(".lock")} == set()


@pytest.mark.parametrize("replaced", ["kb.sqlite", "original", "manifest.json"])
def test_a_backup_with_a_pipe_is_refused_at_once(
    folder: Path, store: Store, originals: FolderOriginals, replaced: str
) -> None:
    """E31"""
    name = str(add_file(store, originals, "in the backup").original)
    make_backup(folder)
    path = folder / "backup" / (f"originals/{name[:2]}/{name}" if replaced == "original" else replaced)
    path.unlink()
    os.mkfifo(path)

    with pytest.raises(Unavailable):
        restore_backup(folder)

    assert not has_base_file(folder / "restored")


@pytest.mark.parametrize(
    "forged",
    [
        {"damage": [{"message": "", "document_ids": [], "original": ["a list"]}]},
        {"damage": [{"message": "", "document_ids": "", "original": None}]},
        {"damage": {}},
        {"documents": "many"},
        {"documents": None},
        {"database_bytes": -1},
        {"originals_bytes": 10**400},
        {"database_sha256": []},
        {"created_at": 0},
        {"created_at": "\x1b[2J"},
        {"kb_version": {}},
        {"unknown": 1},
    ],
)
def test_a_manifest_that_kb_would_not_write_is_refused(folder: Path, store: Store, forged: dict[str, object]) -> None:
    """E31"""
    add_note(store, "a note")
    make_backup(folder)
    manifest = folder / "backup" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | forged))

    with pytest.raises(Unavailable, match="is damaged"):
        restore_backup(folder)

    assert not has_base_file(folder / "restored")


@pytest.mark.parametrize(("lock", "how"), [("engine", "EX"), ("worker", "SH"), ("backup", "EX")])
def test_nothing_is_restored_while_somebody_is_at_work(folder: Path, store: Store, lock: str, how: str) -> None:
    """C1"""
    add_note(store, "a note")
    make_backup(folder)
    before = content_of(folder / "data")

    with hold(folder / "data" / f"{lock}.lock", getattr(fcntl, f"LOCK_{how}")), pytest.raises(Conflict, match=lock):
        restore_backup(folder, "data")

    assert content_of(folder / "data").items() >= before.items()


def test_engine_and_worker_keep_out_a_restore_and_a_restore_keeps_out_them(
    folder: Path, store: Store, model_folder: Path, cache_dir: Path
) -> None:
    """E29"""
    add_note(store, "a note")
    make_backup(folder)
    store.close()
    options = EngineOptions(folder / "data", model_folder, cache_dir / "graphs", max_file_bytes=1)

    for opened, who in ((open_engine, "engine"), (open_for_worker, "worker")):
        with opened(options), pytest.raises(Conflict, match=f"The {who} of"):
            restore_backup(folder, "data")
        with be_alone(folder / "data"), pytest.raises(Conflict, match="being restored"), opened(options):
            pass

    restore_backup(folder, "data")


def test_what_a_killed_restore_left_goes_when_the_engine_starts(
    folder: Path, store: Store, model_folder: Path, cache_dir: Path
) -> None:
    store.close()
    leftover = folder / "data" / "kb.sqlite.restoring"
    leftover.write_text("half of a base")

    with open_engine(EngineOptions(folder / "data", model_folder, cache_dir / "graphs", max_file_bytes=1)):
        pass

    assert not leftover.exists()


def test_a_restore_over_a_base_that_cannot_be_opened_sets_that_one_aside(folder: Path, store: Store) -> None:
    add_note(store, "a note")
    make_backup(folder)
    broken = folder / "broken"
    broken.mkdir()
    (broken / "kb.sqlite").write_text("this is no database any more")
    (broken / "kb.sqlite-wal").write_text("nor is this its log")
    (broken / "kb.sqlite-journal").write_text("nor this")

    restore_backup(folder, "broken")

    aside = "kb.sqlite.damaged-20260301-130000"
    assert {path.name for path in broken.glob("kb.sqlite*")} == {
        "kb.sqlite",
        aside,
        f"{aside}-wal",
        f"{aside}-journal",
    }
    assert (broken / aside).read_text() == "this is no database any more"
    assert read_rows(broken) == read_rows(folder / "data")


def test_a_log_without_its_base_is_not_applied_to_the_restored_one(folder: Path, store: Store) -> None:
    add_note(store, "a note")
    make_backup(folder)
    add_note(store, "only in the log")
    (folder / "target").mkdir()
    shutil.copy(folder / "data" / "kb.sqlite-wal", folder / "target")

    restore_backup(folder, "target")

    assert read_rows(folder / "target") == read_rows(folder / "backup")


def forge_backup(folder: Path, change: Callable[[apsw.Connection], object]) -> None:
    """Change the database of the backup, and make its manifest match."""
    backup = folder / "backup"
    with closing(apsw.Connection(str(backup / "kb.sqlite"))) as db:
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        change(db)
    manifest = json.loads((backup / "manifest.json").read_text())
    manifest["database_sha256"] = content_of(backup)["kb.sqlite"]
    (backup / "manifest.json").write_text(json.dumps(manifest))


def refuse_restore(folder: Path, message: str) -> None:
    """Try to restore. The existing base must stay as it was, with no new files."""
    (folder / "other").mkdir()
    with closing(SqliteBackend(folder / "other").open()) as other:
        add_note(other, "what was there")
    before = content_of(folder / "other")

    with pytest.raises(Unavailable, match=message):
        restore_backup(folder, "other")

    after = content_of(folder / "other")
    assert {name: content for name, content in after.items() if not name.endswith(".lock")} == before


FORGED_NAME = {
    "document": "UPDATE documents SET original = CAST(? AS TEXT) WHERE id = 1",
    "job": "UPDATE jobs SET original = CAST(? AS TEXT) WHERE id = 2",
}


@pytest.mark.parametrize("name", ["absolute", "../outside", f"{'0' * 64}\0/../../outside", "F" * 64, b"\xff"])
@pytest.mark.parametrize("user", FORGED_NAME)
def test_a_backup_that_refers_to_other_files_is_refused(
    folder: Path, store: Store, originals: FolderOriginals, user: str, name: str | bytes
) -> None:
    """E31"""
    add_file(store, originals, "in the backup")
    waiting = FileSubmission(digest("in the backup"), "x.txt", "txt", 1)
    store.add_job(waiting, idempotency_key=None, max_queued=9, now=NOW)
    make_backup(folder)
    name = str(folder / "outside") if name == "absolute" else name
    forge_backup(folder, lambda db: db.execute(FORGED_NAME[user], (name,)))

    refuse_restore(folder, f"{user} . may refer to files outside of it")


@pytest.mark.parametrize("what", FOREIGN_PARTS)
def test_a_backup_with_a_foreign_schema_is_refused(folder: Path, store: Store, what: str) -> None:
    """E31"""
    add_note(store, "a note")
    make_backup(folder)
    forge_backup(folder, lambda db: put_foreign_part(db, what))

    refuse_restore(folder, FOREIGN_PARTS[what].message)


def test_a_restore_replaces_a_base_with_a_foreign_schema(folder: Path, store: Store) -> None:
    """E31: a restore is how a user repairs such a base."""
    add_note(store, "a note")
    make_backup(folder)
    store.close()
    with closing(apsw.Connection(str(folder / "data" / "kb.sqlite"))) as db:
        put_foreign_part(db, "trigger")

    restore_backup(folder, "data")

    assert read_rows(folder / "data") == read_rows(folder / "backup")


@pytest.mark.parametrize("what", ["format", "schema"])
def test_the_backup_of_a_newer_kb_is_refused_before_anything_is_replaced(folder: Path, store: Store, what: str) -> None:
    add_note(store, "a note")
    make_backup(folder)
    manifest = json.loads((folder / "backup" / "manifest.json").read_text())
    if what == "schema":
        with closing(apsw.Connection(str(folder / "backup" / "kb.sqlite"))) as db:
            db.pragma("user_version", 99)
        manifest["database_sha256"] = content_of(folder / "backup")["kb.sqlite"]
    else:
        manifest["format"] = 2
    (folder / "backup" / "manifest.json").write_text(json.dumps(manifest))

    with pytest.raises((Conflict, Unavailable), match="newer kb"):
        restore_backup(folder)

    assert not has_base_file(folder / "restored")


def test_a_base_of_an_older_schema_comes_back_as_it_was(folder: Path) -> None:
    """E23: the engine brings it up to date at its next start."""
    schema = Path(__file__).parents[3] / "src/kb/engine/storage/sqlite/schema/0003_initial.sql"
    (folder / "data").mkdir()
    with closing(apsw.Connection(str(folder / "data" / "kb.sqlite"))) as db:
        db.execute(schema.read_text())
        db.execute("INSERT INTO meta VALUES ('database_id', 'an old one')")
        db.pragma("user_version", 3)

    manifest = make_backup(folder)
    restore_backup(folder)

    assert manifest.schema_version == 3
    with closing(apsw.Connection(str(folder / "restored" / "kb.sqlite"))) as db:
        assert db.execute("SELECT value FROM meta").get == "an old one"
