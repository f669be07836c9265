"""What `kb sync` must not delete, whatever becomes of the folder meanwhile."""

import asyncio
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Sync
from tests.cli.synced_folder import documents_of, ids, write
from tests.engine_program import EngineProgram

from kb.cli.folders import mounting
from kb.cli.render.progress import Board
from kb.cli.syncing.carrying import IS_BACK, Carrier
from kb.cli.syncing.carrying import Result as StepResult
from kb.cli.syncing.looking import look_at
from kb.cli.syncing.memory import Memory
from kb.cli.syncing.planning import Delete, FolderContent, Keep, KnownDocument, Plan, Step
from kb.client import EngineClient

# No engine in the tests has as many.
UNKNOWN_ID = 10**9


def on_listing(monkeypatch: pytest.MonkeyPatch, name: str, act: Callable[[], object]) -> None:
    """Act whenever the folder of this name is about to be listed."""
    scandir = os.scandir

    def scan(path: str) -> object:
        if os.path.basename(path) == name:
            act()
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scan)


def pretend_mounted(monkeypatch: pytest.MonkeyPatch, listing: Path, *folders: Path) -> None:
    listing.write_text("".join(f"22 1 8:1 / {folder} rw - ext4 /dev/a rw\n" for folder in folders), encoding="utf-8")
    monkeypatch.setattr(mounting, "LINUX_LIST", str(listing))


def test_c5_a_disk_below_the_folder_that_is_not_mounted_keeps_its_documents(
    sync: Sync, folder: Path, tmp_path: Path, running_engine: EngineProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    usb = folder / "usb"
    write(folder, {"a.txt": "at home", "usb/b.txt": "on a stick", "usb/deep/c.txt": "deep on a stick"})
    pretend_mounted(monkeypatch, tmp_path / "mounts", usb)
    sync()
    before = ids(documents_of(running_engine, folder))

    pretend_mounted(monkeypatch, tmp_path / "mounts")
    shutil.rmtree(usb)
    usb.mkdir()
    bare, again = sync("--yes"), sync("--yes", "--json")
    usb.rmdir()
    looked = sync("--yes", "--dry-run", "--allow-empty")
    missing = sync("--yes")

    assert [result.exit_code for result in (bare, again, looked, missing)] == [0, 0, 0, 0]
    assert looked.stdout == "- usb/b.txt\n- usb/deep/c.txt\n"
    for result in (bare, again, missing):
        assert result.stderr.startswith(
            f"Not mounted any more: {usb}. Kept 2 documents from there. If that is for good, add --allow-empty."
        )
    assert {json.loads(line)["reason"] for line in again.stdout.splitlines()} == {"its disk is not mounted"}
    assert ids(documents_of(running_engine, folder)) == before
    assert sync("--yes", "--allow-empty").stdout == "- usb/b.txt\n- usb/deep/c.txt\n"


def test_a_disk_that_is_still_mounted_is_followed_as_any_folder(
    sync: Sync, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"a.txt": "safe at home", "usb/b.txt": "deleted from a stick"})
    pretend_mounted(monkeypatch, tmp_path / "mounts", folder / "usb")
    sync()

    (folder / "usb/b.txt").unlink()

    assert sync("--yes").stdout == "- usb/b.txt\n"


def test_a_file_that_is_moved_while_the_folder_is_looked_at_keeps_its_document(
    sync: Sync, folder: Path, running_engine: EngineProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"early/a.txt": "early bird", "late/b.txt": "latecomer"})
    sync()
    before = ids(documents_of(running_engine, folder))

    def move() -> None:
        if (folder / "late/b.txt").exists():
            (folder / "late/b.txt").rename(folder / "early/b.txt")

    on_listing(monkeypatch, "late", move)
    result = sync("--yes")

    assert (result.exit_code, result.stdout) == (0, "> late/b.txt -> early/b.txt\n")
    assert ids(documents_of(running_engine, folder)) == {
        "early/a.txt": before["early/a.txt"],
        "early/b.txt": before["late/b.txt"],
    }


def test_c3_of_a_folder_that_never_rests_nothing_is_deleted(
    sync: Sync, folder: Path, running_engine: EngineProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"a.txt": "restless", "b.txt": "restive"})
    sync()
    (folder / "b.txt").unlink()
    numbers = iter(range(100))

    on_listing(monkeypatch, folder.name, lambda: write(folder, {f".{next(numbers)}": "passing"}))
    result = sync("--yes", "--verbose")

    assert (result.exit_code, result.stdout) == (4, "")
    assert f"{folder} is changing: each look finds other files. Nothing is deleted until it rests" in result.stderr
    assert ": b.txt: the folder is changing" in result.stderr
    assert ids(documents_of(running_engine, folder)).keys() == {"a.txt", "b.txt"}


def test_c3_a_folder_that_is_exchanged_between_two_looks_is_not_believed(
    sync: Sync, folder: Path, tmp_path: Path, running_engine: EngineProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"a.txt": "the right one", "b.txt": "soon gone"})
    sync()
    (folder / "b.txt").unlink()
    open_file = os.open

    def open_and_exchange(path: Path, *arguments: Any, **more: Any) -> int:  # Any: as os.open takes them
        descriptor = open_file(path, *arguments, **more)
        if Path(path).name == "a.txt":
            folder.rename(tmp_path / "old")
            write(folder, {"c.txt": "the wrong one"})
        return descriptor

    monkeypatch.setattr(os, "open", open_and_exchange)
    result = sync("--yes")

    assert result.exit_code == 1
    assert result.stderr.startswith(f"{folder} is another folder than before. Nothing was changed")
    assert ids(documents_of(running_engine, folder)).keys() == {"a.txt", "b.txt"}


def delete_after(url: str, folder: Path, path: str, act: Callable[[], object], memory: Path) -> list[Step]:
    """What became of the document of a file that was gone at the time of the look."""
    steps: list[Step] = []

    def tell(board: Board, result: StepResult) -> None:
        steps.append(result.step)

    async def work() -> None:
        look = look_at(folder, max_bytes=1_000)
        act()
        async with EngineClient(url) as engine:
            carrier = Carrier(engine, look, FolderContent({}), memory=Memory(memory), tags=[], tell=tell)
            await carrier.carry_out(Plan(deletes=[Delete(KnownDocument(UNKNOWN_ID, path, "sha256:1", 1))]))

    asyncio.run(work())
    return steps


@pytest.mark.parametrize("name", [b"a.txt", b"by\xfftes.txt", rb"by\xfftes.txt", b"folder in its place/"])
def test_what_is_back_just_before_it_would_be_deleted_is_kept(
    running_engine: EngineProgram, folder: Path, tmp_path: Path, name: bytes
) -> None:
    text = f"{folder}/{name.rstrip(b'/').decode(errors='backslashreplace')}"
    come_back = os.mkdir if name.endswith(b"/") else os.mkfifo

    stays = delete_after(running_engine.url, folder, text, lambda: None, tmp_path / "memory")
    kept = delete_after(
        running_engine.url, folder, text, lambda: come_back(os.fsencode(folder) + b"/" + name), tmp_path / "memory"
    )

    assert [type(step) for step in stays] == [Delete]
    assert [step.reason for step in kept if isinstance(step, Keep)] == [IS_BACK]


def test_nothing_is_deleted_when_the_folder_has_been_exchanged_since_the_look(
    running_engine: EngineProgram, folder: Path, tmp_path: Path
) -> None:
    def exchange() -> None:
        folder.rename(tmp_path / "old")
        folder.mkdir()

    def take_away() -> None:
        folder.rmdir()

    steps = [
        *delete_after(running_engine.url, folder, f"{folder}/a.txt", exchange, tmp_path / "memory"),
        *delete_after(running_engine.url, folder, f"{folder}/a.txt", take_away, tmp_path / "memory"),
    ]

    assert [type(step) for step in steps] == [Keep, Keep]


def test_c5_what_is_ignored_now_is_deleted_only_if_that_is_wanted(
    sync: Sync, folder: Path, running_engine: EngineProgram
) -> None:
    write(folder, {"a.txt": "in sight", "secret.txt": "hush", "out/deep/b.txt": "built"})
    sync()
    before = ids(documents_of(running_engine, folder))

    write(folder, {".kbignore": "secret.txt\nout/\n"})
    kept, listed = sync("--yes", "--verbose"), sync("--json")
    refused = sync("--delete-ignored")

    assert (kept.exit_code, kept.stdout) == (0, "")
    assert f"Kept document {before['secret.txt']}: secret.txt: ignored now" in kept.stderr.splitlines()
    assert "2 kept (ignored now: 2), 1 unchanged" in kept.stderr
    assert "gone" not in kept.stderr + refused.stderr
    told = [line for line in map(json.loads, listed.stdout.splitlines()) if line["action"] == "keep"]
    assert {line["document_id"]: line["reason"] for line in told} == {
        before["secret.txt"]: "ignored now",
        before["out/deep/b.txt"]: "ignored now",
    }
    assert refused.exit_code == 4
    assert "Kept 2 documents whose files are ignored now. Add --yes to delete them." in refused.stderr
    assert ids(documents_of(running_engine, folder)) == before
    assert {*sync("--delete-ignored", "--yes").stdout.splitlines()} == {"- secret.txt", "- out/deep/b.txt"}
    assert ids(documents_of(running_engine, folder)).keys() == {"a.txt"}


def test_c2_a_dry_run_says_of_each_line_that_it_is_planned(sync: Sync, folder: Path) -> None:
    write(folder, {"goes.txt": "fare thee well", "stays.txt": "abide", ".hidden": "unseen"})
    sync()
    (folder / "goes.txt").unlink()

    planned = [json.loads(line) for line in sync("--dry-run", "--json").stdout.splitlines()]
    done = [json.loads(line) for line in sync("--yes", "--json").stdout.splitlines()]

    assert [(line["action"], line.get("planned")) for line in planned] == [("skip", True), ("delete", True)]
    assert planned[1]["reason"] == "its file is gone"
    assert planned == [{**line, "planned": True} for line in done]


def test_c3_rules_that_cannot_be_read_are_named(
    sync: Sync, folder: Path, running_engine: EngineProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"a.txt": "under rules", ".gitignore": "*.log"})

    # Permissions would not keep a superuser out.
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("kb.cli.folders.scanning.open", refuse, raising=False)
    result = sync("--yes")

    assert result.exit_code == 1
    assert result.stderr == (
        f"{folder}/.gitignore cannot be read: Permission denied. Make it readable, or move it away. "
        "Nothing was changed.\n"
    )


def test_what_cannot_be_read_is_not_deleted(
    sync: Sync, folder: Path, running_engine: EngineProgram, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, {"gone.txt": "hush", "closed/a.txt": "behind a door", "locked.txt": "no key", "b.txt": "plain"})
    sync()

    (folder / "gone.txt").unlink()
    write(folder, {"locked.txt": "another key"})
    scandir, open_file = os.scandir, os.open

    # Permissions would not keep a superuser out.
    def scan(path: str) -> object:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    def open_or_not(path: Path, *arguments: Any, **more: Any) -> int:  # Any: as os.open takes them
        if str(path).endswith("locked.txt"):
            raise OSError(5, "Input/output error")
        return open_file(path, *arguments, **more)

    monkeypatch.setattr(os, "scandir", scan)
    monkeypatch.setattr(os, "open", open_or_not)
    result = sync("--yes", "--verbose")

    assert (result.exit_code, result.stdout) == (0, "- gone.txt\n")
    assert "Skipped locked.txt: cannot be read: Input/output error" in result.stderr
    assert ids(documents_of(running_engine, folder)).keys() == {"closed/a.txt", "locked.txt", "b.txt"}
