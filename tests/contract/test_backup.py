"""Backups of a data directory, and the way back (C1)."""

import fcntl
import hashlib
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.contract.backends import SqliteBackend
from tests.contract.samples import LATER, NOW, add, add_note, digest, file, found_by_text, index

from kb.engine.backup import Manifest, back_up, has_base, read_manifest, restore
from kb.engine.documents import delete_document
from kb.engine.errors import Conflict, DocumentNotFound, NotFound, Unavailable
from kb.engine.locks import hold
from kb.engine.model import Document
from kb.engine.originals import Originals
from kb.engine.ports import Store
from kb.engine.storage.sqlite.integrity import check_base

ROWS = (
    "SELECT id, uuid, title, content_hash, version, checksum, note_text FROM documents",
    "SELECT id, uuid, document_id, ordinal, text, checksum FROM chunks",
    "SELECT chunk_id, vector, checksum FROM embeddings",
)


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    (folder / "data").mkdir()
    with closing(SqliteBackend(folder / "data").open()) as store:
        yield store


@pytest.fixture
def originals(folder: Path) -> Originals:
    return Originals(folder / "data" / "originals")


def add_file(store: Store, originals: Originals, content: str) -> Document:
    with originals.receive() as incoming, originals.locked():
        incoming.write(content.encode())
        originals.keep(incoming, incoming.finish())
        return add(store, file(content, source_path=content), index(content))


def make_backup(
    folder: Path,
    name: str = "backup",
    *,
    damage_is_allowed: bool = False,
    on_step: Callable[[str], None] = lambda step: None,
) -> Manifest:
    return back_up(
        folder / "data",
        folder / name,
        damage_is_allowed=damage_is_allowed,
        now=NOW,
        on_progress=lambda step, done, total: on_step(step),
    )


def restore_backup(folder: Path, target: str = "restored") -> Manifest:
    return restore(folder / "backup", folder / target, now=LATER, on_progress=lambda step, done, total: None)


def read_rows(data_dir: Path) -> list[set[tuple[object, ...]]]:
    with closing(apsw.Connection(str(data_dir / "kb.sqlite"))) as db:
        return [set(db.execute(sql).fetchall()) for sql in ROWS]


def content_of(folder: Path) -> dict[str, str]:
    """The SHA-256 of every file below the folder, by its path."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_backup_made_while_others_write_is_the_base_at_one_moment(folder: Path, store: Store) -> None:
    """C1: what was acknowledged before is in it, and of what came later nothing without what came before that."""
    before = [add_note(store, f"the walrus {number} of before").id for number in range(50)]
    done = threading.Event()
    during: list[int] = []

    def go_on_writing() -> None:
        while not done.is_set():
            during.append(add_note(store, f"an otter {len(during)} meanwhile").id)
            store.change_tags(during[-1], add=["tagged"], remove=[], expected_version=None, now=LATER)

    def wait_for_three_more(step: str) -> None:
        """So the writer is really at it between the steps."""
        enough = len(during) + 3
        while len(during) < enough:
            done.wait(0.001)

    writing = threading.Thread(target=go_on_writing)
    writing.start()
    manifest = make_backup(folder, on_step=wait_for_three_more)
    done.set()
    writing.join()
    restore_backup(folder)

    now, then = read_rows(folder / "data"), read_rows(folder / "restored")
    kept = sorted(int(str(row[0])) for row in then[0])
    assert kept == (before + during)[: manifest.documents]
    assert len(before) <= manifest.documents < len(before) + len(during)
    # The newest one may have been tagged only after that moment.
    assert all(row in now[0] for row in then[0] if row[0] != kept[-1])
    assert all(rows <= rows_now for rows, rows_now in zip(then[1:], now[1:], strict=True))
    assert check_base(folder / "restored" / "kb.sqlite") == []
    with closing(SqliteBackend(folder / "restored").open()) as restored:
        assert set(found_by_text(restored, "walrus")) == set(before)
        assert set(found_by_text(restored, "meanwhile", limit=1000)) == set(kept) - set(before)


def test_a_backup_holds_one_file_of_the_base_and_every_original(
    folder: Path, store: Store, originals: Originals
) -> None:
    add_note(store, "a note has no original")
    for content in ("one", "two"):
        add_file(store, originals, content)

    manifest = make_backup(folder)

    names = {f"originals/{digest(content)[:2]}/{digest(content)}" for content in ("one", "two")}
    assert content_of(folder / "backup").keys() == {"kb.sqlite", "manifest.json"} | names
    assert (manifest.documents, manifest.originals, manifest.originals_bytes) == (3, 2, 6)
    assert read_manifest(folder / "backup") == manifest
    assert not (folder / "backup.partial").exists()


def test_an_original_deleted_during_a_backup_is_in_it_and_goes_when_it_is_done(
    folder: Path, store: Store, originals: Originals
) -> None:
    document = add_file(store, originals, "deleted meanwhile")
    kept = add_file(store, originals, "kept")
    original = originals.path_of(digest("deleted meanwhile"))
    seen: list[bool] = []

    def delete_it(step: str) -> None:
        if step == "Copying originals" and not seen:
            delete_document(store, originals, document.id, expected_version=None, now=LATER)
            seen.append(original.exists())

    make_backup(folder, on_step=delete_it)

    assert seen == [True]
    assert not original.exists()
    assert originals.path_of(str(kept.original)).exists()
    restore_backup(folder)
    with closing(SqliteBackend(folder / "restored").open()) as restored:
        assert restored.get_document(document.id).title == document.title
    assert Originals(folder / "restored" / "originals").path_of(original.name).read_text() == "deleted meanwhile"


def test_while_originals_are_pinned_none_is_removed_and_the_last_pin_removes_what_is_left(
    store: Store, originals: Originals
) -> None:
    document = add_file(store, originals, "short-lived")
    original = originals.path_of(digest("short-lived"))
    in_use = store.is_original_in_use

    with originals.pinned(in_use):
        with originals.pinned(in_use):
            delete_document(store, originals, document.id, expected_version=None, now=LATER)
            originals.sweep(in_use)
        still_there = original.exists()

    assert still_there
    assert not original.exists()


@pytest.mark.parametrize("damage", ["missing", "changed", "unreadable"])
def test_a_damaged_original_is_told_and_backed_up_around_only_if_that_is_allowed(
    folder: Path, store: Store, originals: Originals, damage: str
) -> None:
    document = add_file(store, originals, "soon damaged")
    add_file(store, originals, "whole")
    original = originals.path_of(digest("soon damaged"))
    original.unlink()
    if damage == "changed":
        original.write_text("soon damaged!")
    elif damage == "unreadable":
        original.mkdir()

    with pytest.raises(Unavailable, match=rf"original of document {document.id} is missing or damaged.*--allow-damage"):
        make_backup(folder)
    nothing_left = sorted(path.name for path in folder.iterdir())
    manifest = make_backup(folder, damage_is_allowed=True)
    restore_backup(folder)

    assert nothing_left == ["data"]
    assert [(entry.document_ids, entry.original) for entry in manifest.damage] == [([document.id], original.name)]
    assert manifest.originals == 1
    assert read_rows(folder / "restored") == read_rows(folder / "data")


def test_damage_in_the_database_is_told_with_the_document(folder: Path, store: Store) -> None:
    document = add_note(store, "the truth")
    with closing(apsw.Connection(str(folder / "data" / "kb.sqlite"))) as db:
        db.execute("UPDATE chunks SET text = 'a lie'")

    with pytest.raises(Unavailable, match=rf"\b{document.id}\b"):
        make_backup(folder)

    assert make_backup(folder, damage_is_allowed=True).damage != []


def test_what_is_at_the_destination_is_never_overwritten(folder: Path, store: Store) -> None:
    add_note(store, "a note")
    (folder / "empty").mkdir()
    (folder / "full").mkdir()
    (folder / "full" / "thesis.txt").write_text("three years of work")

    make_backup(folder, "empty")
    for taken in ("full", "full/thesis.txt", "empty"):
        with pytest.raises(Conflict, match="already"):
            make_backup(folder, taken)

    assert content_of(folder / "full").keys() == {"thesis.txt"}


def test_what_a_killed_backup_left_is_no_backup_and_makes_way_for_the_next(folder: Path, store: Store) -> None:
    add_note(store, "a note")
    (folder / "backup.partial" / "originals").mkdir(parents=True)
    (folder / "backup.partial" / "kb.sqlite").write_text("half")

    with pytest.raises(NotFound, match="no complete backup"):
        read_manifest(folder / "backup.partial")
    make_backup(folder)

    assert not (folder / "backup.partial").exists()
    assert check_base(folder / "backup" / "kb.sqlite") == []


def test_without_a_base_there_is_nothing_to_back_up(folder: Path) -> None:
    with pytest.raises(NotFound, match="no base"):
        make_backup(folder)

    assert list(folder.iterdir()) == []


def test_a_restore_brings_back_what_was_and_leaves_nothing_of_what_is(
    folder: Path, store: Store, originals: Originals
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


def test_a_restore_mends_originals_that_were_damaged(folder: Path, store: Store, originals: Originals) -> None:
    add_file(store, originals, "mended")
    make_backup(folder)
    store.close()
    originals.path_of(digest("mended")).write_text("broken")

    restore_backup(folder, "data")

    assert originals.path_of(digest("mended")).read_text() == "mended"


@pytest.mark.parametrize("damaged", ["kb.sqlite", "original", "missing original", "manifest.json"])
def test_a_damaged_backup_is_refused_and_the_base_stays_what_it_was(
    folder: Path, store: Store, originals: Originals, damaged: str
) -> None:
    original = add_file(store, originals, "in the backup").original
    make_backup(folder)
    in_backup = folder / "backup" / "originals" / str(original)[:2] / str(original)
    path = in_backup if "original" in damaged else folder / "backup" / damaged
    path.write_bytes(path.read_bytes()[:-1] + b"\0")
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


@pytest.mark.parametrize(("lock", "how"), [("engine", "EX"), ("worker", "SH"), ("backup", "EX")])
def test_nothing_is_restored_while_somebody_is_at_work(folder: Path, store: Store, lock: str, how: str) -> None:
    """C1"""
    add_note(store, "a note")
    make_backup(folder)
    before = content_of(folder / "data")

    with hold(folder / "data" / f"{lock}.lock", getattr(fcntl, f"LOCK_{how}")), pytest.raises(Conflict, match=lock):
        restore_backup(folder, "data")

    assert content_of(folder / "data").items() >= before.items()


def test_one_backup_of_a_base_is_made_at_a_time(folder: Path, store: Store) -> None:
    add_note(store, "a note")
    refused: list[str] = []

    def start_another(step: str) -> None:
        with pytest.raises(Conflict, match="Another backup") as refusal:
            make_backup(folder)
        refused.append(str(refusal.value))

    make_backup(folder, on_step=start_another)

    assert refused
    assert check_base(folder / "backup" / "kb.sqlite") == []


def test_a_restore_over_a_base_that_cannot_be_opened_sets_that_one_aside(folder: Path, store: Store) -> None:
    add_note(store, "a note")
    make_backup(folder)
    broken = folder / "broken"
    broken.mkdir()
    (broken / "kb.sqlite").write_text("this is no database any more")
    (broken / "kb.sqlite-wal").write_text("nor is this its log")

    restore_backup(folder, "broken")

    aside = "kb.sqlite.damaged-20260301-130000"
    assert {path.name for path in broken.glob("kb.sqlite*")} == {"kb.sqlite", aside, f"{aside}-wal"}
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

    assert not has_base(folder / "restored")


def test_a_base_of_an_older_schema_comes_back_as_it_was(folder: Path) -> None:
    """E23: the engine brings it up to date at its next start."""
    schema = Path(__file__).parents[2] / "src/kb/engine/storage/sqlite/schema/0003_initial.sql"
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
