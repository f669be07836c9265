"""Bits that flip, pages that are lost, files that are cut off or another's: whatever the disk does is told (E21).

Flips strike what is stored: a place is found by looking for the content in the closed file. SQLite's own check is run
beside ours, to show why ours is there.
"""

import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import apsw
import numpy as np
import pytest
from tests.amounts import SEED, Tell, amount
from tests.backends import SqliteBackend
from tests.engine_program import run_kb
from tests.folders import open_folder
from tests.handmade_documents import LATER, add, file, note, revision

from kb.engine.errors import KbError
from kb.engine.integrity import check_integrity
from kb.engine.model import CheckCursor, DamageKind, DocumentQuery, IndexedChunk, IndexedText, Passage, Vector
from kb.engine.originals import FolderOriginals
from kb.engine.storage.sqlite.integrity import check_base

FLIPS = amount(selection=48, full=100)
FLIPS_IN_ORIGINALS = 20
ZEROED_PAGES = 20
TRUNCATIONS = 10
PAGE_BYTES = 8192
TOLD_WITHIN_SECONDS = 2.0
DOCUMENTS = 36
CHUNKS_PER_DOCUMENT = 16
# That a word is no longer the one in the full-text index is found as well, but by luck: case and marks are not in it.
TOLD_AS = {
    "chunk": {DamageKind.CHUNK},
    "heading": {DamageKind.CHUNK},
    "metadata": {DamageKind.DOCUMENT},
    "note": {DamageKind.NOTE, DamageKind.DOCUMENT},
    "revision": {DamageKind.REVISION},
    "title": {DamageKind.DOCUMENT},
    # It stands in the document and in both revisions.
    "title of a note": {DamageKind.DOCUMENT, DamageKind.REVISION},
    "vector": {DamageKind.VECTOR},
}


@dataclass
class Base:
    path: Path
    stored: dict[str, list[bytes]] = field(default_factory=dict)
    """What was put into it, by what it is."""

    def keep(self, kind: str, content: str | bytes) -> None:
        self.stored.setdefault(kind, []).append(content.encode() if isinstance(content, str) else content)


@pytest.fixture(scope="module")
def rng() -> random.Random:
    return random.Random(SEED)  # noqa: S311 - it chooses places, not secrets


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with open_folder() as name:
        yield Path(name)


@pytest.fixture(scope="module")
def base(folder: Path, rng: random.Random) -> Base:
    """About 4 MB: notes with revisions, and files, in several scripts. Closed, so all of it is in one file."""
    base = Base(folder / "kb.sqlite")
    with closing(SqliteBackend(folder).open()) as store:
        for number in range(DOCUMENTS):
            title, key = write(rng, 6), write(rng, 6)
            if number % 2:
                base.keep("title", title)
                base.keep("metadata", key)
                add(store, file(write(rng, 50), title=title, metadata={"key": key}), index(base, rng))
                continue
            texts = [write(rng, 400), write(rng, 3000)]
            written = add(store, note(texts[0], title=title), index(Base(base.path), rng))
            base.keep("revision", texts[0])
            base.keep("note", texts[1])
            base.keep("title of a note", title)
            new_text = index(base, rng)
            store.replace_note(written.id, revision(texts[1], title=title), new_text, expected_version=None, now=LATER)
    assert check_base(base.path) == []
    return base


def write(rng: random.Random, words: int) -> str:
    """Words that occur nowhere else, some of them in letters of more than one byte."""
    spell = [lambda: f"{rng.getrandbits(40):x}", lambda: "".join(chr(rng.randrange(0x4E00, 0x9FA0)) for _ in range(3))]
    return " ".join(rng.choices(spell, weights=[9, 1])[0]() for _ in range(words))


def index(base: Base, rng: random.Random) -> IndexedText:
    numbers = np.random.default_rng(rng.getrandbits(32))
    chunks = []
    for _ in range(CHUNKS_PER_DOCUMENT):
        text, heading = write(rng, 80), write(rng, 5)
        vector: Vector = numbers.standard_normal(384).astype("<f4")
        base.keep("chunk", text)
        base.keep("heading", heading)
        base.keep("vector", vector.tobytes())
        chunks.append(IndexedChunk(Passage(text, heading), vector))
    return IndexedText(chunks, "tiny-1")


def choose_bits(base: Base, rng: random.Random, count: int) -> Iterator[tuple[str, int, int]]:
    """Bits of stored content, of each kind in turn: what it is, where it stands in the file, and which bit of it."""
    content = base.path.read_bytes()
    kinds = sorted(base.stored)
    for number in range(count):
        kind = kinds[number % len(kinds)]
        stored = rng.choice(base.stored[kind])
        # A long text goes on in other pages; a short piece of it stands in one.
        start = rng.randrange(max(1, len(stored) - 24))
        piece = stored[start : start + 24]
        place = content.find(piece)
        if place < 0:
            piece = stored[:24]
            place = content.find(piece)
        assert place >= 0, f"{kind} is not in the file"
        yield kind, place + rng.randrange(len(piece)), rng.randrange(8)


@contextmanager
def flipped(path: Path, place: int, bit: int) -> Iterator[None]:
    flip(path, place, bit)
    try:
        yield
    finally:
        flip(path, place, bit)


def flip(path: Path, place: int, bit: int) -> None:
    with path.open("r+b") as content:
        content.seek(place)
        byte = content.read(1)[0]
        content.seek(place)
        content.write(bytes([byte ^ 1 << bit]))


def is_found_by_sqlite(path: Path) -> bool:
    with closing(apsw.Connection(str(path))) as connection:
        return connection.execute("PRAGMA integrity_check(1)").fetchall() != [("ok",)]


def test_every_flipped_bit_in_what_is_stored_is_found(base: Base, rng: random.Random, tell: Tell) -> None:
    """E21: SQLite by itself notices hardly any of them."""
    struck: Counter[str] = Counter()
    missed = []
    found_by_sqlite = 0

    for kind, place, bit in choose_bits(base, rng, FLIPS):
        with flipped(base.path, place, bit):
            struck[kind] += 1
            found_by_sqlite += is_found_by_sqlite(base.path)
            if not TOLD_AS[kind] & {damage.kind for damage in check_base(base.path)}:
                missed.append((kind, place, bit))

    size_mb = base.path.stat().st_size / 1_048_576
    kinds = ", ".join(f"{count} {kind}" for kind, count in struck.items())
    tell(
        f"{FLIPS} flipped bits in a base of {size_mb:.1f} MB ({kinds}): "
        f"{FLIPS - len(missed)} found, {found_by_sqlite} by SQLite alone"
    )
    assert missed == []
    assert found_by_sqlite < FLIPS / 2
    assert check_base(base.path) == []


def test_every_flipped_bit_in_an_original_is_found(rng: random.Random) -> None:
    """E21"""
    with open_folder() as name, closing(SqliteBackend(Path(name)).open()) as store:
        originals = FolderOriginals(Path(name) / "originals")
        paths = []
        for _ in range(4):
            content = write(rng, 2000)
            with originals.receive() as incoming:
                incoming.write(content.encode())
                originals.keep(incoming, incoming.finish())
            paths.append(originals.path_of(add(store, file(content)).original or ""))
        assert check_integrity(store, originals).damages == []

        for number in range(FLIPS_IN_ORIGINALS):
            path = paths[number % len(paths)]
            with flipped(path, rng.randrange(path.stat().st_size), rng.randrange(8)):
                assert [damage.kind for damage in check_integrity(store, originals).damages] == ["original"]

        assert check_integrity(store, originals).damages == []


def look_at(path: Path) -> list[str]:
    """What is said of a damaged base, in time. An error that is no sentence for a person gets out."""
    # Of our own work: other programs may keep the machine busy meanwhile.
    began = time.process_time()
    try:
        told = [damage.message for damage in check_base(path)]
        with closing(SqliteBackend(path.parent).open()) as store:
            told += [damage.message for damage in store.check_batch(CheckCursor()).damages]
    except KbError as error:
        told = [error.message]
    assert time.process_time() - began < TOLD_WITHIN_SECONDS
    return told


@pytest.fixture
def copy(base: Base) -> Iterator[Path]:
    with open_folder() as name:
        yield Path(shutil.copy(base.path, Path(name) / "kb.sqlite"))


def test_every_lost_page_is_told(base: Base, copy: Path, rng: random.Random) -> None:
    """E21"""
    content = base.path.read_bytes()
    pages = [start for start in range(0, len(content), PAGE_BYTES) if any(content[start : start + PAGE_BYTES])]

    for start in [0, *rng.sample(pages, ZEROED_PAGES)]:
        copy.write_bytes(content[:start] + bytes(PAGE_BYTES) + content[start + PAGE_BYTES :])
        assert look_at(copy), f"page at {start}"


def test_a_file_that_was_cut_off_is_told(base: Base, copy: Path, rng: random.Random) -> None:
    """E21"""
    content = base.path.read_bytes()

    for size in [1, 100, PAGE_BYTES, *(rng.randrange(len(content)) for _ in range(TRUNCATIONS))]:
        copy.write_bytes(content[:size])
        assert look_at(copy), f"cut off at {size}"


def test_a_damaged_beginning_is_told(base: Base, copy: Path, rng: random.Random) -> None:
    """E21: the first bytes say that it is a base, and how large its pages are."""
    content = base.path.read_bytes()

    for place in range(18):
        struck = bytearray(content)
        struck[place] ^= 1 << rng.randrange(8)
        copy.write_bytes(struck)
        assert look_at(copy), f"byte {place}"


@pytest.mark.parametrize("foreign", [b"Dear diary, somebody put me here. " * 500, bytes(range(256)) * 100])
def test_a_file_of_another_kind_is_told(foreign: bytes) -> None:
    """E21"""
    with open_folder() as name:
        path = Path(name) / "kb.sqlite"
        path.write_bytes(foreign)

        assert look_at(path) == ["The base's file is damaged. Restore it from a backup."]
        assert path.read_bytes() == foreign


def test_a_database_of_another_program_is_told() -> None:
    """E21"""
    with open_folder() as name:
        path = Path(name) / "kb.sqlite"
        with closing(apsw.Connection(str(path))) as connection:
            connection.execute("CREATE TABLE bookmarks (url TEXT); PRAGMA user_version = 7")

        assert look_at(path)


def test_a_base_that_lost_its_log_is_an_older_base() -> None:
    """E21: what was in the log is gone, and nothing can tell; but what is left is whole."""
    with open_folder() as name, open_folder() as other, closing(SqliteBackend(Path(name)).open()) as store:
        add(store, note("early"))
        with closing(apsw.Connection(str(Path(name) / "kb.sqlite"))) as connection:
            connection.pragma("user_version")
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        add(store, note("late"))

        copy = Path(shutil.copy(Path(name) / "kb.sqlite", Path(other) / "kb.sqlite"))

        assert look_at(copy) == []
        with closing(SqliteBackend(Path(other)).open()) as older:
            assert [document.id for document in older.list_documents(DocumentQuery()).rows] == [1]


def test_an_engine_on_a_damaged_base_ends_with_a_sentence(tmp_path: Path) -> None:
    """E21"""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "kb.sqlite").write_bytes(b"no base at all " * 1000)

    ended = run_kb(tmp_path, "engine", "--port", "0", "--data-dir", str(tmp_path / "data"))

    assert ended.returncode == 1
    assert "The base's file is damaged. Restore it from a backup." in ended.stderr
    assert "Traceback" not in ended.stderr
