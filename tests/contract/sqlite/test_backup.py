"""Backups of a data directory (C1)."""

import os
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.backends import SqliteBackend
from tests.bases import add_file, content_of, make_backup, read_rows, restore_backup
from tests.contract.sqlite.data_directory import originals as originals
from tests.contract.sqlite.data_directory import store as store
from tests.handmade_documents import LATER, add, add_note, digest, found_by_text, index, note

from kb.engine.backup import back_up, read_manifest
from kb.engine.documents import delete_document
from kb.engine.errors import Conflict, NotFound, Unavailable
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Store
from kb.engine.storage.sqlite.integrity import check_base


def test_a_backup_made_while_others_write_is_the_base_at_one_moment(folder: Path, store: Store) -> None:
    """C1: what was acknowledged before is in it, and of what came later nothing without what came before that."""
    before = [add_note(store, f"the walrus {number} of before").id for number in range(50)]
    # Large enough that the database is not copied in one step.
    before.append(add(store, note("a walrus " * 2_000_000), index("a large walrus")).id)
    done = threading.Event()
    during: list[int] = []
    steps: Counter[str] = Counter()

    def go_on_writing() -> None:
        while not done.is_set():
            during.append(add_note(store, f"an otter {len(during)} meanwhile").id)
            store.change_tags(during[-1], add=["tagged"], remove=[], expected_version=None, now=LATER)

    def wait_for_three_more(step: str) -> None:
        """So the writer is really at it between the steps."""
        steps[step] += 1
        assert steps.total() < 100, "it begins again and again"
        enough, deadline = len(during) + 3, time.monotonic() + 30
        while len(during) < enough:
            if writing.done():
                writing.result()
            assert time.monotonic() < deadline, "nothing is written any more"
            done.wait(0.001)

    with ThreadPoolExecutor() as threads:
        writing = threads.submit(go_on_writing)
        try:
            manifest = make_backup(folder, on_step=wait_for_three_more)
        finally:
            done.set()
        writing.result()
    restore_backup(folder)

    now, then = read_rows(folder / "data"), read_rows(folder / "restored")
    kept = sorted(int(str(row[0])) for row in then[0])
    assert kept == (before + during)[: manifest.documents]
    assert len(before) <= manifest.documents < len(before) + len(during)
    assert steps["Copying the database"] > 1
    # The newest one may have been tagged only after that moment.
    assert all(row in now[0] for row in then[0] if row[0] != kept[-1])
    assert all(rows <= rows_now for rows, rows_now in zip(then[1:], now[1:], strict=True))
    assert check_base(folder / "restored" / "kb.sqlite") == []
    with closing(SqliteBackend(folder / "restored").open()) as restored:
        assert set(found_by_text(restored, "walrus")) == set(before)
        assert set(found_by_text(restored, "meanwhile", limit=1000)) == set(kept) - set(before)


def test_a_backup_holds_one_file_of_the_base_and_every_original(
    folder: Path, store: Store, originals: FolderOriginals
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
    folder: Path, store: Store, originals: FolderOriginals
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
    assert FolderOriginals(folder / "restored" / "originals").path_of(original.name).read_text() == "deleted meanwhile"


def test_while_originals_are_pinned_none_is_removed_and_the_last_pin_removes_what_is_left(
    store: Store, originals: FolderOriginals
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
    folder: Path, store: Store, originals: FolderOriginals, damage: str
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


def test_a_damaged_name_of_an_original_is_told_and_leads_nowhere(
    folder: Path, store: Store, originals: FolderOriginals
) -> None:
    document = add_file(store, originals, "content")
    with closing(apsw.Connection(str(folder / "data" / "kb.sqlite"))) as db:
        db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
        db.execute("UPDATE documents SET original = CAST(x'2e2e2f2e2eff' AS TEXT)")

    with pytest.raises(Unavailable, match=f"Document {document.id} names its original by something"):
        make_backup(folder)
    assert sorted(path.name for path in folder.iterdir()) == ["data"]
    manifest = make_backup(folder, damage_is_allowed=True)
    restore_backup(folder)

    assert {number for entry in manifest.damage for number in entry.document_ids} == {document.id}
    with closing(SqliteBackend(folder / "restored").open()) as restored:
        assert restored.get_document(document.id).original is None
        assert found_by_text(restored, "content") == [document.id]


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


@pytest.mark.parametrize("what", ["folder", "file", "link"])
def test_what_is_in_the_way_of_a_partial_backup_and_no_backup_has_written_is_not_touched(
    folder: Path, store: Store, what: str
) -> None:
    add_note(store, "a note")
    partial = folder / "backup.partial"
    work = folder / "work"
    work.mkdir()
    if what == "folder":
        work.replace(partial)
        work = partial
        (work / "kb.sqlite").write_text("of a backup")
    elif what == "file":
        partial.write_text("not even a folder")
    else:
        partial.symlink_to(work)
    (work / "thesis.txt").write_text("three years of work")
    before = content_of(folder / "work"), content_of(partial)

    with pytest.raises(Conflict, match=r"backup\.partial is in the way"):
        make_backup(folder)

    assert (content_of(folder / "work"), content_of(partial)) == before
    assert partial.exists()


def test_two_bases_are_not_backed_up_to_one_place_at_the_same_time(folder: Path, store: Store) -> None:
    add_note(store, "a note")
    (folder / "other").mkdir()
    with closing(SqliteBackend(folder / "other").open()) as other:
        add_note(other, "of another base")
    refused: list[str] = []

    def start_another(step: str) -> None:
        with pytest.raises(Conflict, match="Another backup") as refusal:
            back_up(
                folder / "other",
                folder / "backup",
                damage_is_allowed=False,
                now=LATER,
                on_progress=lambda step, done, total: None,
            )
        refused.append(str(refusal.value))

    make_backup(folder, on_step=start_another)

    assert refused
    assert read_rows(folder / "backup") == read_rows(folder / "data")


def test_a_backup_is_on_disk_with_every_folder_that_was_made_for_it(
    folder: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_note(store, "a note")
    synced: list[str] = []
    flush = os.fsync

    def note_and_flush(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", note_and_flush)

    make_backup(folder, "new/newer/backup")

    assert {str(folder.resolve()), str(folder.resolve() / "new"), str(folder.resolve() / "new/newer")} <= set(synced)


def test_without_a_base_there_is_nothing_to_back_up(folder: Path) -> None:
    with pytest.raises(NotFound, match="no base"):
        make_backup(folder)

    assert list(folder.iterdir()) == []


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
