"""Bytes whose size and hash are sent before them. They are kept until complete: in memory, or on disk if many."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Self

from kb.engine.originals import translated_errors

IN_MEMORY_BYTES = 1024 * 1024
PIECE_BYTES = 256 * 1024


class Spool:
    """Use it in `with`, which removes the file on disk."""

    def __init__(self, folder: Path) -> None:
        self.size_bytes = 0
        self._hash = hashlib.sha256()
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY_BYTES, dir=str(folder))  # noqa: SIM115 - closed by __exit__

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()

    def write(self, piece: bytes) -> None:
        with translated_errors():
            self._file.write(piece)
        self._hash.update(piece)
        self.size_bytes += len(piece)

    def read_pieces(self) -> Iterator[bytes]:
        with translated_errors():
            self._file.seek(0)
            while piece := self._file.read(PIECE_BYTES):
                yield piece
