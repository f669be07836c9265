"""What the engine needs of originals, wherever they are kept.

A name is the SHA-256 of the content. A damaged or forged row may contain any other name: then `UnsafeName`, a
`DamagedOriginal`, is raised before a file or an object is touched. `release` ignores such a name.

An original is written before the row that refers to it and removed after the last one is gone. Whatever a crash leaves
between the two is a stray, and is removed later.
"""

from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from kb.engine.originals.incoming import IncomingFile


@dataclass(frozen=True)
class Bucket:
    """Where originals are kept on an S3 server, and the key to it; without one, that of the machine's role is used."""

    url: str
    """s3://BUCKET or s3://BUCKET/PREFIX"""
    endpoint: str | None = None
    """The address of the server; None is that of AWS in the region."""
    region: str = "us-east-1"
    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)


@dataclass(frozen=True)
class OpenOriginal:
    size_bytes: int
    pieces: Generator[bytes]
    """Its content, read as it is asked for; close it when done. Nobody has compared it with the name."""


Watch = Callable[[], object]
"""Called again and again while an original has to be waited for; whatever it raises ends that."""


def nothing() -> None:
    """For who waits in any case."""


class Originals(Protocol):
    @property
    def place(self) -> str:
        """Where they are, for a person."""
        ...

    def read_mark(self) -> str:
        """What tells this place from all others, on whichever machine it is looked at."""
        ...

    def belong_to(self, base_id: str) -> None:
        """Have them belong to this base. Raises `Conflict` if they are another's: none may sweep what it knows
        nothing of."""
        ...

    def receive(self) -> AbstractContextManager[IncomingFile]:
        """A file to write an upload into; gone when the block ends unless it was kept."""
        ...

    def locked(self) -> AbstractContextManager[None]:
        """What is kept in the block stays until its end; write the row that refers to it before that."""
        ...

    def keep(self, incoming: IncomingFile, name: str) -> None:
        """Give a finished upload its place, while `locked`. One that is damaged is replaced: adding the file again
        repairs it."""
        ...

    def renew(self, name: str) -> int:
        """Keep one that is there already, while `locked`, as if it had been uploaded anew; returns its size. Raises
        `DamagedOriginal`."""
        ...

    def check(self, name: str, watch: Watch = nothing) -> int:
        """Read all of it and compare it with its name; returns its size. Raises `DamagedOriginal`."""
        ...

    def open_file(self, name: str, watch: Watch = nothing) -> AbstractContextManager[Path]:
        """A file with its content, to read until the block ends. Raises `DamagedOriginal`, but need not notice."""
        ...

    def open_pieces(self, name: str) -> OpenOriginal:
        """Raises `DamagedOriginal`, but may not notice that the content has changed."""
        ...

    def release(self, names: Iterable[str], is_in_use: Callable[[str], bool]) -> int:
        """Remove those that nothing refers to; returns the bytes freed.

        One that cannot be removed now is removed later.
        """
        ...

    def release_all(self, is_in_use: Callable[[str], bool]) -> int:
        """Remove every original that nothing refers to; returns the bytes freed."""
        ...

    def sweep(self, is_in_use: Callable[[str], bool]) -> None:
        """Remove what a crash left behind, at the start of an engine that is alone."""
        ...

    def remove_strays(self, is_in_use: Callable[[str], bool]) -> None:
        """Remove what could not be removed before, while others are at work: to be called now and then."""
        ...
