"""How coded vectors lie beside the base: a folder for each time that they were made.

    kb.sqlite.vectors-TOKEN/
        about.json      which base, model and moment they belong to
        ids             of chunk, document and place in it, a column each
        codes           as in `codes`
        vectors         one after another, in steps

They are written once, in a folder of another name, which is then renamed. The base has the token of the folder that
belongs to it in `meta`; a base that was restored has another or none, so vectors of other times are never taken for
its own. What happened since is in `index_log`. All of it can be thrown away.
"""

import json
import math
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import apsw
import numpy as np

from kb.engine.model import Ids
from kb.engine.originals import sync_folder
from kb.engine.storage.sqlite.vectors.coded import SAMPLED_ROWS, CodedRows, count_steps, measure_steps
from kb.engine.storage.sqlite.vectors.codes import BITS_PER_WORD, Codes, encode
from kb.engine.storage.sqlite.vectors.reading import Batch
from kb.engine.storage.tables.meta import read_meta, write_meta

Layout: TypeAlias = dict[str, tuple[np.dtype[Any], tuple[int, ...]]]

FORMAT = 2
# In `meta`, the token of the files that belong to the base.
META_KEY = "vector_files"
UNFINISHED = ".unfinished"
MADE_WITHIN_SECONDS = 3600


@dataclass(frozen=True)
class About:
    token: str
    model: str
    seq: int
    """The newest change that they know."""
    count: int
    dimension: int
    compared: int
    recall: float
    """Of the ten nearest, the share that was found when they were made."""
    format: int = FORMAT

    @property
    def layout(self) -> "Layout":
        """What the files hold: numbers of what kind, in what shape."""
        words = -(-self.dimension // BITS_PER_WORD)
        return {
            "ids": (np.dtype(np.int64), (3, self.count)),
            "codes": (np.dtype(np.uint64), (words, self.count)),
            "vectors": (np.dtype(np.int16), (self.count, self.dimension)),
        }


@dataclass(frozen=True)
class VectorFiles:
    about: About
    rows: CodedRows
    folder: Path

    def erase(self, rows: Ids) -> None:
        """Overwrite what is known of these rows, but for their ids. If that fails, it is gone with the files."""
        _, columns_of_codes = self.about.layout["codes"]
        with suppress(OSError):
            _overwrite(self.folder / "vectors", rows, self.about.dimension * self.rows.steps.itemsize)
            for column in range(columns_of_codes[0]):
                _overwrite(self.folder / "codes", column * self.about.count + rows, self.rows.codes.itemsize)


def read_token(db: apsw.Connection) -> str | None:
    return read_meta(db, META_KEY)


def write_token(db: apsw.Connection, token: str) -> None:
    write_meta(db, META_KEY, token)


def remove_token(db: apsw.Connection) -> None:
    db.execute("DELETE FROM meta WHERE key = ?", (META_KEY,))


def folder_of(base: Path, token: str) -> Path:
    return base.with_name(f"{base.name}.vectors-{token}")


@contextmanager
def new_folder(base: Path, token: str) -> Iterator[Path]:
    """A folder to write into, which is given its name when all is written, and removed if that fails."""
    folder = folder_of(base, token)
    unfinished = folder.with_name(folder.name + UNFINISHED)
    unfinished.mkdir(mode=0o700)
    try:
        yield unfinished
        sync_folder(unfinished)
        unfinished.rename(folder)
        sync_folder(base.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def write_rows(folder: Path, batches: Iterable[Batch]) -> tuple[int, int]:
    """Returns how many there are, and how many numbers each has."""
    ids, codes, dimension = list[Ids](), list[Codes](), 0
    with _write(folder / "vectors") as file:
        for batch in batches:
            ids.append(np.stack([batch.chunk_ids, batch.document_ids, batch.ordinals]))
            codes.append(encode(batch.matrix))
            dimension = batch.matrix.shape[1]
            count_steps(batch.matrix).tofile(file)
    for name, columns in (("ids", ids), ("codes", codes)):
        with _write(folder / name) as file:
            np.concatenate(columns, axis=1).tofile(file)
    return sum(columns.shape[1] for columns in ids), dimension


def write_about(folder: Path, about: About) -> None:
    with _write(folder / "about.json") as file:
        file.write(json.dumps(asdict(about)).encode())


def read_about(base: Path, token: str) -> About | None:
    """None if there are no such files, or they are not what they should be."""
    folder = folder_of(base, token)
    try:
        about = About(**json.loads((folder / "about.json").read_bytes()))
        is_whole = about.format == FORMAT and all(
            (folder / name).stat().st_size == dtype.itemsize * math.prod(shape)
            for name, (dtype, shape) in about.layout.items()
        )
    except (OSError, ValueError, TypeError):
        return None
    return about if is_whole else None


def open_files(base: Path, token: str) -> VectorFiles | None:
    """None if there are no such files, or they are not what they should be."""
    about = read_about(base, token)
    try:
        return None if about is None else open_rows(folder_of(base, token), about)
    except (OSError, ValueError):
        return None


def open_rows(folder: Path, about: About) -> VectorFiles:
    ids, codes, steps = (
        np.memmap(folder / name, dtype, mode="r", shape=shape).view(np.ndarray)
        for name, (dtype, shape) in about.layout.items()
    )
    sampled_rows = np.linspace(0, about.count - 1, min(SAMPLED_ROWS, about.count)).astype(np.int64)
    rows = CodedRows(
        codes=codes,
        steps=steps,
        chunk_ids=ids[0],
        document_ids=ids[1],
        ordinals=ids[2],
        is_alive=np.ones(about.count, np.bool_),
        sampled_rows=sampled_rows,
        sample=measure_steps(steps[sampled_rows]),
        compared=about.compared,
    )
    return VectorFiles(about, rows, folder)


def remove_files(base: Path, token: str) -> None:
    shutil.rmtree(folder_of(base, token), ignore_errors=True)


def remove_all_files(base: Path) -> None:
    for folder in _find_folders(base):
        shutil.rmtree(folder, ignore_errors=True)


def remove_strays(base: Path, *, but: str | None) -> None:
    """Files of another token, unless somebody may have just made them or is about to."""
    for folder in _find_folders(base):
        with suppress(OSError):
            is_old = time.time() - folder.stat().st_mtime > MADE_WITHIN_SECONDS
            if is_old and (but is None or folder != folder_of(base, but)):
                shutil.rmtree(folder)


def _find_folders(base: Path) -> list[Path]:
    return list(base.parent.glob(f"{base.name}.vectors-*"))


def _overwrite(path: Path, places: Ids, size: int) -> None:
    with path.open("r+b", buffering=0) as file:
        for place in places.tolist():
            os.pwrite(file.fileno(), bytes(size), place * size)


@contextmanager
def _write(path: Path) -> Iterator[BinaryIO]:
    with path.open("wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
