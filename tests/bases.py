"""Data directories with something in them, made without an engine; their backups."""

import hashlib
import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw
from tests.backends import SqliteBackend
from tests.handmade_documents import LATER, NOW, add, add_note, file, index

from kb.engine.backup import Manifest, back_up, restore
from kb.engine.model import Document
from kb.engine.originals import FolderOriginals
from kb.engine.ports import Store

ROWS = (
    "SELECT id, uuid, title, content_hash, version, checksum, note_text FROM documents",
    "SELECT id, uuid, document_id, ordinal, text, checksum FROM chunks",
    "SELECT chunk_id, vector, checksum FROM embeddings",
)


def add_file(store: Store, originals: FolderOriginals, content: str) -> Document:
    with originals.receive() as incoming, originals.locked():
        incoming.write(content.encode())
        originals.keep(incoming, incoming.finish())
        return add(store, file(content, source_path=content[:20]), index(content))


def make_base(data_dir: Path, word: str) -> None:
    """A base with notes and files as a killed engine leaves it: the newest of it still stands in the log."""
    living = data_dir.with_name(f"{data_dir.name}-living")
    originals = FolderOriginals(living / "originals")
    with closing(SqliteBackend(living).open()) as store:
        for number in range(20):
            add_note(store, f"{word} {number}")
        for number in range(6):
            add_file(store, originals, f"{number} {word} " * 3000)
        shutil.copytree(living, data_dir, ignore=shutil.ignore_patterns("*-shm"))
    shutil.rmtree(living)


def make_backup(
    folder: Path,
    name: str = "backup",
    *,
    damage_is_allowed: bool = False,
    on_step: Callable[[str], None] = lambda step: None,
) -> Manifest:
    """Of `folder/data`; `on_step` is told what is being done, many times."""
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
