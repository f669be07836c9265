"""A little room on the disk that is given up so that documents can be deleted when the disk is full.

To delete is to write: without room for that, nobody could make room.
"""

import logging
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from kb.engine.errors import StorageFull
from kb.sizes import BYTES_PER_MB

log = logging.getLogger(__name__)

Result = TypeVar("Result")

LARGEST_BYTES = 16 * 1024 * 1024
SMALLEST_BYTES = 256 * 1024
# On a small disk it takes no more than this part of what is free.
SHARE_OF_FREE_SPACE = 16
# Below this much free space whoever looks after the machine should know.
LITTLE_BYTES = 8 * 1024 * 1024


class Reserve:
    def __init__(self, data_dir: Path) -> None:
        self._file = data_dir / "reserve"
        there = shutil.disk_usage(data_dir).free + self._held_bytes()
        self._size_bytes = min(LARGEST_BYTES, there // SHARE_OF_FREE_SPACE)

    def refill(self) -> None:
        """Take the room, or as much of it as there is; what is held already is kept. Only for the engine."""
        held, size = self._held_bytes(), self._size_bytes
        while size >= SMALLEST_BYTES and size > held and not self._grow(held, size):
            size //= 2

    def _held_bytes(self) -> int:
        """Less than was asked for if there was no more, or if a kill came between."""
        return self._file.stat().st_size if self._file.exists() else 0

    def _grow(self, held: int, size: int) -> bool:
        try:
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT, 0o600)
            try:
                _allocate(descriptor, held, size)
            finally:
                os.close(descriptor)
        except OSError:
            if held:
                os.truncate(self._file, held)
            else:
                self._file.unlink(missing_ok=True)
            return False
        return True

    def delete(self, delete: Callable[[], Result]) -> Result:
        """What `delete` returns; if the disk is too full for it, it is tried again without the reserve."""
        try:
            return delete()
        except StorageFull:
            if not self._file.exists():
                raise
            log.warning("The disk is full: giving up the reserve so that something can be deleted.")
            self._file.unlink(missing_ok=True)
            try:
                return delete()
            finally:
                self.refill()


def _allocate(descriptor: int, held: int, size: int) -> None:
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    # macOS gives room only to what is written.
    os.lseek(descriptor, held, os.SEEK_SET)
    left = size - held
    while left:
        left -= os.write(descriptor, bytes(left))


def describe_little_space(data_dir: Path) -> str | None:
    """A sentence for a person if the disk is nearly full."""
    free = shutil.disk_usage(data_dir).free
    if free >= LITTLE_BYTES:
        return None
    return f"The disk is nearly full: {free / BYTES_PER_MB:.1f} MB are left. Free some space."
