"""What is safe on disk when an original has been kept."""

import os
from pathlib import Path

import pytest

from kb.engine.originals import FolderOriginals, make_folder


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """What has been flushed to the disk, in that order."""
    paths: list[Path] = []
    flush = os.fsync

    def note_and_flush(descriptor: int) -> None:
        paths.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", note_and_flush)
    return paths


def keep(originals: FolderOriginals, content: bytes) -> Path:
    with originals.receive() as incoming, originals.locked():
        incoming.write(content)
        name = incoming.finish()
        originals.keep(incoming, name)
    return originals.path_of(name)


@pytest.mark.parametrize("is_there_already", [False, True])
def test_an_original_that_is_kept_is_on_disk_with_the_folders_that_name_it(
    tmp_path: Path, synced: list[Path], *, is_there_already: bool
) -> None:
    """Also one that is there already: whoever put it there may have been killed before it was."""
    originals = FolderOriginals(tmp_path / "originals")
    if is_there_already:
        keep(originals, b"the same")
    synced.clear()

    place = keep(originals, b"the same")

    assert {place.parent, place.parent.parent} <= set(synced)
    assert place.read_bytes() == b"the same"


def test_a_folder_is_made_with_all_around_it_on_disk(tmp_path: Path, synced: list[Path]) -> None:
    folder = tmp_path / "a" / "b" / "c"

    make_folder(folder, mode=0o700)
    make_folder(folder)

    assert synced == [tmp_path, tmp_path / "a", tmp_path / "a" / "b"]
    assert folder.stat().st_mode & 0o777 == 0o700
