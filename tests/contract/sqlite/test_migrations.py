"""An older base becomes one of today, or stays what it was (E23)."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import apsw
import pytest
from tests.contract.sqlite.old_bases import (
    Countdown,
    build_base,
    bytes_of,
    open_base,
    read_content,
    read_schema,
    read_version,
    striking_at_statement,
    striking_at_write,
    upgrade,
)
from tests.handmade_documents import LEASE, NOW, digest, found_by_text, found_by_vector

from kb.engine.errors import KbError, StorageFull, Unavailable
from kb.engine.model import Lane, NoteSubmission
from kb.engine.originals import FolderOriginals
from kb.engine.storage import open_store
from kb.engine.storage.sqlite import migrations
from kb.engine.storage.sqlite.integrity import check_base

OLD_VERSIONS = [2, 3, 4]


def raise_io_error() -> NoReturn:
    raise OSError(5, "Input/output error")


def raise_full_disk() -> NoReturn:
    raise apsw.FullError("database or disk is full")


@pytest.fixture
def base(folder: Path) -> Path:
    return folder / "kb.sqlite"


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_every_earlier_schema_becomes_exactly_that_of_a_new_base(folder: Path, base: Path, version: int) -> None:
    """E23"""
    (folder / "new").mkdir()
    open_store(folder / "new", model_fingerprint="tiny-1").close()
    build_base(base, version)

    upgrade(folder)

    assert read_schema(base) == read_schema(folder / "new" / "kb.sqlite")
    assert read_version(base) == read_version(folder / "new" / "kb.sqlite")
    assert check_base(base) == []


def test_an_upgrade_from_schema_3_keeps_documents_chunks_tags_and_jobs_with_their_ids(folder: Path, base: Path) -> None:
    """E23"""
    build_base(base, 3)
    before = read_content(base)

    upgrade(folder)

    assert read_content(base) == before
    assert len(before["documents"]) == 3
    with open_base(base) as db:
        highest = dict(db.execute("SELECT name, seq FROM sqlite_sequence"))
    assert (highest["documents"], highest["chunks"], highest["jobs"]) == (4, 6, 6)


def test_what_schema_3_could_find_is_found_after_the_upgrade_by_word_and_by_vector(folder: Path, base: Path) -> None:
    """E23"""
    build_base(base, 3)

    upgrade(folder)

    store = open_store(folder, model_fingerprint="tiny-1")
    store.adopt_model(now=NOW)
    assert found_by_text(store, "otters") == [1]
    assert found_by_text(store, "寿司") == [3]
    assert found_by_vector(store, "Invoices are due within thirty days.", limit=1) == [2]
    store.close()


def test_notes_of_schema_3_get_a_first_revision_and_queued_jobs_are_still_to_do(folder: Path, base: Path) -> None:
    """E18, E23"""
    build_base(base, 3)

    upgrade(folder)

    store = open_store(folder, model_fingerprint="tiny-1")
    (revision,) = store.list_revisions(1, limit=10, offset=0).rows
    claim = store.claim_job(Lane.INTERACTIVE, now=NOW.replace(year=2027), lease_until=NOW.replace(year=2027) + LEASE)
    store.close()
    assert (revision.version, revision.text) == (2, "The otter sleeps on its back and holds hands.")
    assert claim is not None
    assert claim.work == NoteSubmission("The walrus waits in the queue.", "Walrus", ("animals",))


def test_a_base_of_schema_4_keeps_everything_and_has_no_map_yet(folder: Path, base: Path) -> None:
    """E23"""
    build_base(base, 4)
    before = read_content(base)

    upgrade(folder)

    assert read_content(base) == before
    store = open_store(folder, model_fingerprint="tiny-1")
    found = store.read_map(limit=10)
    store.close()
    assert (found.documents, found.total, found.is_whole) == ([], 3, False)


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_the_old_base_is_kept_and_can_be_restored(folder: Path, base: Path, version: int) -> None:
    """E23: rolling back = restoring that file."""
    build_base(base, version)
    before = read_content(base), read_schema(base)
    upgrade(folder)
    backup = folder / f"kb.sqlite.schema-{version}"

    backup.replace(base)

    assert (read_content(base), read_schema(base)) == before
    assert read_version(base) == version
    upgrade(folder)
    assert backup.exists()
    assert read_version(base) > version


def test_where_files_cannot_be_linked_the_backup_is_a_copy(
    folder: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E23"""
    build_base(base, 3)
    before = read_content(base)

    def refuse(source: Path, target: Path) -> NoReturn:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    upgrade(folder)

    assert read_content(folder / "kb.sqlite.schema-3") == before


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_a_failure_in_any_statement_leaves_the_old_base_as_it_was(folder: Path, base: Path, version: int) -> None:
    """E23: one after the other, each statement of each step, of the takeover and of the check fails."""
    build_base(base, version)
    before = bytes_of(base)

    for nth in range(1, 1000):
        countdown = Countdown(nth, raise_io_error)
        with striking_at_statement(countdown):
            if not fails(lambda: upgrade(folder), Unavailable, "Input/output error"):
                break
        assert bytes_of(base) == before
        assert not list(folder.glob("*.migrating*"))

    # The last step is a small one, and most of these statements are of the check.
    assert nth == countdown.count + 1 > (60 if version < 4 else 30)
    assert check_base(base) == []


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_a_disk_that_is_full_at_any_write_leaves_the_old_base_as_it_was(folder: Path, base: Path, version: int) -> None:
    """E23"""
    build_base(base, version)
    before = bytes_of(base)

    for nth in range(1, 1000):
        countdown = Countdown(nth, raise_full_disk)
        with striking_at_write(".migrating", countdown):
            if not fails(lambda: upgrade(folder), StorageFull, "disk is full"):
                break
        assert bytes_of(base) == before
        assert not list(folder.glob("*.migrating*"))

    assert nth == countdown.count + 1 > 30
    assert check_base(base) == []


def test_a_failure_while_the_old_log_is_written_into_its_file_loses_nothing(folder: Path, base: Path) -> None:
    """E23"""
    build_base(base, 3)
    before = read_content(base)

    for nth in range(1, 1000):
        countdown = Countdown(nth, raise_full_disk)
        with striking_at_write("kb.sqlite", countdown):
            if not fails(lambda: upgrade(folder), StorageFull, "disk is full"):
                break
        assert (read_content(base), read_version(base)) == (before, 3)
        # The next failure shall find the log as full as this one did.
        base.unlink()
        build_base(base, 3)

    assert nth == countdown.count + 1 > 20
    assert check_base(base) == []


@pytest.mark.parametrize("what", ["replace", "fsync"])
def test_a_failure_at_the_switch_loses_nothing(
    folder: Path, base: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    """E23"""
    build_base(base, 3)
    before = read_content(base)
    FolderOriginals(folder / "originals")

    with monkeypatch.context() as patched:
        patched.setattr(os, what, lambda *arguments: raise_io_error())
        assert fails(lambda: upgrade(folder), Unavailable, "Input/output error")

    assert (read_content(base), read_version(base)) == (before, 3)
    upgrade(folder)
    assert read_content(base) == before


KILLS = [
    (version, event, nth)
    for version in OLD_VERSIONS
    for event, nth in [
        (".migrating", 2),
        (".migrating", 30),
        ("kb.sqlite", 2),
        ("os.link", 1),
        ("os.rename", 1),
    ]
    # The base of v2 has no log that could be written into it.
    if (version, event) != (2, "kb.sqlite")
]


@pytest.mark.parametrize(("version", "event", "nth"), KILLS)
def test_a_kill_at_any_moment_leaves_a_base_that_the_next_start_upgrades(
    folder: Path, base: Path, version: int, event: str, nth: int
) -> None:
    """E23"""
    build_base(base, version)
    (folder / "files").mkdir()
    (folder / "files" / "2_handbook.md").write_text("# Work")
    before, content = bytes_of(base), read_content(base)

    command = [sys.executable, "-m", "tests.contract.sqlite.old_bases", str(folder), event, str(nth)]
    killed = subprocess.run(command, check=False, timeout=60)

    assert killed.returncode == -signal.SIGKILL
    assert (read_content(base), read_version(base)) == (content, version)
    if event == ".migrating":
        assert bytes_of(base) == before
    upgrade(folder)
    assert check_base(base) == []
    assert not list(folder.glob("*.migrating*"))


def test_a_newer_base_is_refused_and_not_touched(folder: Path, base: Path) -> None:
    """E23"""
    build_base(base, 3)
    with open_base(base) as db:
        db.pragma("user_version", 99)
    before = bytes_of(base)

    for start in (lambda: upgrade(folder), lambda: open_store(folder, model_fingerprint="tiny-1").close()):
        assert fails(start, Unavailable, "written by a newer kb")

    assert bytes_of(base) == before


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_database_of_another_program_is_refused_and_not_touched(folder: Path, base: Path, version: int) -> None:
    """E23"""
    with open_base(base) as db:
        db.execute("CREATE TABLE bookmarks (url)")
        db.pragma("user_version", version)
    before = bytes_of(base)

    for start in (lambda: upgrade(folder), lambda: open_store(folder, model_fingerprint="tiny-1").close()):
        assert fails(start, Unavailable, "cannot take over")

    assert bytes_of(base) == before


def test_a_file_that_is_no_database_is_refused_and_not_touched(folder: Path, base: Path) -> None:
    """E23"""
    base.write_text("These are not the bytes of a database. " * 100)
    before = bytes_of(base)

    assert fails(lambda: upgrade(folder), Unavailable, "damaged")

    assert bytes_of(base) == before


@pytest.mark.parametrize("version", OLD_VERSIONS)
def test_only_the_engine_upgrades_and_everybody_else_is_told_to_wait(folder: Path, base: Path, version: int) -> None:
    """E23"""
    build_base(base, version)
    before = bytes_of(base)

    assert fails(lambda: open_store(folder, model_fingerprint="tiny-1"), Unavailable, "Start the engine first")

    assert bytes_of(base) == before


def test_a_base_that_somebody_has_open_is_not_upgraded(
    folder: Path, base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """E23: what they write meanwhile would be lost."""
    monkeypatch.setattr(migrations, "ALONE_WITHIN_MS", 50)
    build_base(base, 3)
    before = bytes_of(base)

    statements = Countdown(0, raise_io_error)
    with open_base(base) as other, striking_at_statement(statements):
        other.pragma("user_version")
        assert fails(lambda: upgrade(folder), Unavailable, "busy")

    assert statements.count == 0
    assert bytes_of(base) == before
    upgrade(folder)


def test_a_base_that_is_not_whole_is_not_upgraded(folder: Path, base: Path) -> None:
    """E23"""
    build_base(base, 3)
    with open_base(base) as db:
        db.execute("INSERT INTO document_tags VALUES (404, 1, 1)")
    before = bytes_of(base)

    assert fails(lambda: upgrade(folder), Unavailable, "document_tags belongs to a row of documents that is not there")

    assert bytes_of(base) == before


def test_no_byte_of_what_a_step_moved_stays_in_its_old_place(folder: Path, base: Path) -> None:
    build_base(base, 3)
    text = "plain words " * 10_000 + "xylophonequartz"
    with open_base(base) as db:
        values = (text, f"sha256:{digest(text)}")
        db.execute("UPDATE documents SET note_text = ?, content_hash = ? WHERE id = 1", values)
    upgrade(folder)
    store = open_store(folder, model_fingerprint="tiny-1")

    store.delete_document(1, expected_version=None, now=NOW)

    store.close()
    assert b"xylophonequartz" not in base.read_bytes()


def test_an_empty_file_becomes_a_new_base_and_what_a_killed_upgrade_left_goes(folder: Path, base: Path) -> None:
    base.touch()
    leftovers = [folder / "kb.sqlite.migrating", folder / "kb.sqlite.migrating-journal"]
    for leftover in leftovers:
        leftover.touch()

    upgrade(folder)
    open_store(folder, model_fingerprint="tiny-1").close()

    assert check_base(base) == []
    assert not any(leftover.exists() for leftover in leftovers)


def fails(action: Callable[[], object], kind: type[KbError], words: str) -> bool:
    """Whether it fails; if it does, then only so and with these words."""
    try:
        action()
    except kind as error:
        assert words in error.message  # noqa: PT017 - it may also not fail
        return True
    return False


def test_a_foreign_file_that_looks_like_todays_is_refused_and_not_touched(folder: Path) -> None:
    base = folder / "kb.sqlite"
    with open_base(base) as db:
        db.execute("CREATE TABLE recipes (name TEXT); PRAGMA user_version = 5")
    before = bytes_of(base)

    with pytest.raises(Unavailable, match="base of kb"):
        upgrade(folder)

    assert bytes_of(base) == before
