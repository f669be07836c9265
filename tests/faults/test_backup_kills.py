"""`kb backup` and `kb restore` killed at chosen calls, and on a full disk (C1, C3)."""

import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw
import pytest
from tests.amounts import SEED, Tell, amount
from tests.bases import make_backup, make_base, restore_backup
from tests.engine_program import kb_command, own_environment
from tests.needs import need_right

from kb.engine.backup import read_manifest
from kb.engine.originals import FolderOriginals
from kb.engine.storage.sqlite.integrity import check_base

LARGE = 64 * 1024 * 1024
CALLS = ("pwrite64", "write", "fsync", "fdatasync", "ftruncate", "rename", "unlink", "mkdir")

Point = tuple[str, int]
"""A kind of call, and which of those that the process makes."""
Rows = list[tuple[object, ...]]


def read_base(data_dir: Path) -> Rows:
    """What it holds, after it has been found whole; a copy is read, so that the log stays for the next."""
    copy = data_dir.with_name("read")
    shutil.copytree(data_dir, copy, ignore=shutil.ignore_patterns("*-shm"))
    try:
        with closing(apsw.Connection(str(copy / "kb.sqlite"))) as db:
            rows = db.execute("SELECT id, content_hash, original FROM documents ORDER BY id").fetchall()
        assert check_base(copy / "kb.sqlite") == []
        originals = FolderOriginals(copy / "originals")
        assert all(originals.path_of(str(row[2])).exists() for row in rows if row[2] is not None)
    finally:
        shutil.rmtree(copy)
    return rows


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A base, a backup of it, and another base with other documents."""
    make_base(tmp_path / "data", "walrus")
    make_base(tmp_path / "other", "otter")
    make_backup(tmp_path)
    return tmp_path


def run_kb(folder: Path, *arguments: str, strace: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*strace, *kb_command(*arguments)],
        env=own_environment(folder),
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def choose_points(folder: Path, count: int, *arguments: str) -> list[Point]:
    """Calls of an undisturbed run, from its first to its last."""
    log = folder / "calls"
    done = run_kb(folder, *arguments, strace=("strace", "-o", str(log), "-e", f"trace={','.join(CALLS)}"))
    assert done.returncode == 0, done.stderr
    made: Counter[str] = Counter()
    points: list[Point] = []
    for line in log.read_text().splitlines():
        call, is_call, _ = line.partition("(")
        if is_call:
            made[call] += 1
            points.append((call, made[call]))
    step = len(points) / count
    chance = random.Random(SEED)  # noqa: S311 - no secret
    return [points[int((place + chance.random()) * step)] for place in range(count)]


def kill_at(point: Point, folder: Path, *arguments: str) -> None:
    call, number = point
    inject = f"inject={call}:signal=SIGKILL:when={number}"
    done = run_kb(folder, *arguments, strace=("strace", "-o", "/dev/null", "-e", f"trace={call}", "-e", inject))
    # What an earlier one left may spare a call, so that the last of its kind is not made.
    assert done.returncode in (-9, 0), (point, done.stderr)


@pytest.mark.usefixtures("strace")
def test_a_killed_backup_is_never_called_one_and_harms_nothing(folder: Path, tell: Tell) -> None:
    points = choose_points(folder, amount(selection=5, full=70), "backup", "undisturbed", "--data-dir", "data")
    rows = read_base(folder / "data")
    complete = 0

    for point in points:
        kill_at(point, folder, "backup", "killed", "--data-dir", "data")
        if (folder / "killed").exists():
            # Only the very last calls come after it has its name; then all of it must be there.
            complete += 1
            assert read_manifest(folder / "killed").documents == len(rows)
            assert check_base(folder / "killed" / "kb.sqlite") == []
            shutil.rmtree(folder / "killed")
        assert read_base(folder / "data") == rows

    assert complete < len(points) / 2
    make_backup(folder, "killed")
    assert not (folder / "killed.partial").exists()
    tell(f"{len(points)} kills of a backup: {complete} of them after it was complete, no harm done")


@pytest.mark.usefixtures("strace")
def test_a_killed_restore_leaves_the_old_base_or_the_new_one(folder: Path, tell: Tell) -> None:
    shutil.copytree(folder / "other", folder / "undisturbed")
    command = ("restore", "backup", "--yes", "--data-dir")
    points = choose_points(folder, amount(selection=5, full=70), *command, "undisturbed")
    old, new = read_base(folder / "other"), read_base(folder / "data")
    target = folder / "target"
    restored = 0

    for point in points:
        shutil.copytree(folder / "other", target)
        kill_at(point, folder, *command, "target")
        rows = read_base(target)
        assert rows in (old, new), point
        restored += rows == new
        restore_backup(folder, "target")
        assert read_base(target) == new
        assert {path.name for path in target.glob("kb.sqlite*")} == {"kb.sqlite"}
        shutil.rmtree(target)

    assert restored < len(points) / 2
    tell(f"{len(points)} kills of a restore: {restored} of them after the new base was there, the others harmless")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], check=False)
    need_right(mounted.returncode == 0, "a small file system cannot be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def resize(disk: Path, size_bytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size_bytes}", str(disk)], check=True)


ROOMS = ["for half of the database", "for half of the originals"]


def measure(room: str, folder: Path) -> int:
    backup = read_manifest(folder / "backup")
    if room == ROOMS[0]:
        return backup.database_bytes // 2
    return backup.database_bytes + backup.originals_bytes // 2


@pytest.mark.parametrize("room", ROOMS)
def test_a_full_disk_is_told_and_keeps_nothing_of_the_backup(folder: Path, small_disk: Path, room: str) -> None:
    resize(small_disk, measure(room, folder))

    full = run_kb(folder, "backup", "disk/backup", "--data-dir", "data")
    left = list(small_disk.iterdir())
    resize(small_disk, LARGE)
    enough = run_kb(folder, "backup", "disk/backup", "--data-dir", "data")

    assert (full.returncode, full.stdout) == (1, "")
    assert full.stderr == "The disk is full. Free some space and try again.\n"
    assert left == []
    assert (enough.returncode, enough.stderr) == (0, "")
    assert check_base(small_disk / "backup" / "kb.sqlite") == []


@pytest.mark.parametrize("room", ROOMS)
def test_a_full_disk_is_told_and_leaves_the_old_base(folder: Path, small_disk: Path, room: str) -> None:
    resize(small_disk, LARGE)
    shutil.copytree(folder / "other", small_disk / "data")
    old = read_base(folder / "other")
    resize(small_disk, shutil.disk_usage(small_disk).used + measure(room, folder))

    full = run_kb(folder, "restore", "backup", "--data-dir", "disk/data", "--yes")
    shutil.copytree(small_disk / "data", folder / "afterwards")

    assert (full.returncode, full.stdout) == (1, "")
    assert full.stderr == "The disk is full. Free some space and try again.\n"
    assert read_base(folder / "afterwards") == old
    assert not (small_disk / "data" / "kb.sqlite.restoring").exists()
