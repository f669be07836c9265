"""What is known of files from the last run, so that only what has changed is read.

It is a cache: whoever deletes or damages it makes the next run slower. Beside that it knows which folders were disks.
"""

import hashlib
import json
import os
import sys
import time
from collections.abc import Container, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from kb.cli.folders.scanning import FoundFile

Stamp: TypeAlias = tuple[int, int, int, int]

UNSUPPORTED = "unsupported"
FAILED_BEFORE = "failed before"

# A file that was changed so shortly before it was read can change again without looking any different: there
# are file systems that count time in steps of two seconds.
SETTLED_AFTER_NS = 3_000_000_000


@dataclass(frozen=True)
class Refusal:
    """Why the engine did not take a content under this name."""

    content_hash: str
    reason: str
    detail: str


def stamp_of(file: FoundFile) -> Stamp:
    """Differs whenever the content of a file may differ."""
    return (file.size_bytes, file.modified_ns, file.changed_ns, file.inode)


def place_of_memory(cache_dir: Path, folder: str, engine_url: str) -> Path:
    """Its file: each folder has one for each engine."""
    name = hashlib.sha256(f"{folder}\0{engine_url}".encode()).hexdigest()[:32]
    return cache_dir / "sync" / f"{name}.json"


@contextmanager
def hold(place: Path) -> Iterator[None]:
    """Be the only one at work on what is remembered there; raises `BlockingIOError` if somebody else is."""
    _make_folder(place)
    descriptor = os.open(place.with_suffix(".lock"), os.O_RDONLY | os.O_CREAT, 0o600)
    try:
        # Windows has no such lock; there it is left to the user.
        if sys.platform != "win32":
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def _make_folder(place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)


class Memory:
    def __init__(self, place: Path) -> None:
        self._place = place
        self._version = ""
        self._hashes: dict[str, tuple[Stamp, str]] = {}
        self._refusals: dict[str, Refusal] = {}
        self._mounts: frozenset[str] = frozenset()
        self._is_changed = False
        # Whatever is wrong with it, it can be done without.
        with suppress(OSError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
            noted = json.loads(place.read_bytes())
            hashes = {path: ((a, b, c, d), str(told)) for path, (a, b, c, d, told) in noted["hashes"].items()}
            refusals = {path: Refusal(*map(str, told)) for path, told in noted["refusals"].items()}
            mounts = frozenset(map(str, noted["mounts"]))
            self._hashes, self._refusals, self._mounts = hashes, refusals, mounts
            self._version = str(noted["version"])

    def use_version(self, version: str) -> None:
        """The engine's: another one may be able to read what was refused."""
        if version != self._version:
            self._version = version
            self._refusals.clear()

    def find_hash(self, path: str, file: FoundFile) -> str | None:
        stamp, content_hash = self._hashes.get(path, (None, ""))
        return content_hash if stamp == stamp_of(file) else None

    def note_hash(self, path: str, file: FoundFile, content_hash: str) -> None:
        if max(file.modified_ns, file.changed_ns) + SETTLED_AFTER_NS < time.time_ns():
            self._hashes[path] = (stamp_of(file), content_hash)
            self._is_changed = True

    def find_refusal(self, path: str, content_hash: str) -> Refusal | None:
        refusal = self._refusals.get(path)
        return refusal if refusal is not None and refusal.content_hash == content_hash else None

    def note_refusal(self, path: str, refusal: Refusal) -> None:
        self._refusals[path] = refusal
        self._is_changed = True

    @property
    def mounts(self) -> frozenset[str]:
        """Folders on which something was mounted."""
        return self._mounts

    def note_mounts(self, folders: Iterable[str]) -> None:
        noted = frozenset(folders)
        self._is_changed |= noted != self._mounts
        self._mounts = noted

    def save(self, paths: Container[str]) -> None:
        """Write down what is known of these paths, and forget the others. Nothing is lost if that fails."""
        known = len(self._hashes) + len(self._refusals)
        self._hashes = {path: told for path, told in self._hashes.items() if path in paths}
        self._refusals = {path: told for path, told in self._refusals.items() if path in paths}
        if not self._is_changed and known == len(self._hashes) + len(self._refusals):
            return
        hashes = {path: (*stamp, told) for path, (stamp, told) in self._hashes.items()}
        refusals = {path: (told.content_hash, told.reason, told.detail) for path, told in self._refusals.items()}
        noted = {"version": self._version, "hashes": hashes, "refusals": refusals, "mounts": sorted(self._mounts)}
        # A dry run does not wait for others who write.
        partial = self._place.with_suffix(f".{os.getpid()}")
        with suppress(OSError):
            _make_folder(self._place)
            partial.write_text(json.dumps(noted))
            os.replace(partial, self._place)
            self._is_changed = False
