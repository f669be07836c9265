"""Every sample, cut short, with bits turned over, and under the names of other formats."""

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.amounts import SEED
from tests.hostile.hostile_file import (
    CORRUPT,
    ENCRYPTED,
    LIMIT,
    NO_TEXT,
    READ,
    UNSUPPORTED,
    HostileFile,
    hostile,
)
from tests.reading import SAMPLES

from kb.engine.ingestion.extraction.formats import BY_EXTENSION, FORMATS

SHARES = (0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99)
"""Of a file, what is left when it is cut."""
FLIPS = (1, 1, 1, 8, 8, 64)
"""How many bits are turned over in each copy."""

ZIPPED = frozenset({"docx", "pptx", "xlsx", "odt", "epub"})
_ANY = (READ, CORRUPT, NO_TEXT, ENCRYPTED, LIMIT, UNSUPPORTED)


def list_samples() -> list[Path]:
    """Those that are documents of a known format."""
    files = sorted(path for path in SAMPLES.rglob("*") if path.is_file() and path.name != "README.md")
    return [path for path in files if path.suffix in BY_EXTENSION and path.parent.name != "bases"]


def damaged_samples() -> Iterator[HostileFile]:
    for path in list_samples():
        name = path.relative_to(SAMPLES).as_posix().replace("/", "-")
        for share in SHARES:
            yield hostile(f"cut-to-{share:.0%}-{name}", partial(cut, path, share), *_ends_of_cut(path))
        for seed, bits in enumerate(FLIPS, SEED):
            yield hostile(f"flipped-{bits}-{seed}-{name}", partial(flip, path, bits, seed), *_ANY)


def _ends_of_cut(path: Path) -> tuple[str, ...]:
    # The list of its members stands at the end of a zip file.
    is_zipped = BY_EXTENSION[path.suffix] in ZIPPED and path.read_bytes().startswith(b"PK")
    return (CORRUPT,) if is_zipped else _ANY


def misnamed_samples() -> Iterator[HostileFile]:
    """Each sample under one name of every other format."""
    for path in list_samples():
        for format in FORMATS:
            if format.name != BY_EXTENSION[path.suffix]:
                yield renamed(path, format.extensions[0])


def renamed(path: Path, extension: str) -> HostileFile:
    return hostile(f"{path.parent.name}-{path.stem}{extension}", path.read_bytes, *_ANY)


def cut(path: Path, share: float) -> bytes:
    content = path.read_bytes()
    return content[: int(len(content) * share)]


def flip(path: Path, bits: int, seed: int) -> bytes:
    content = bytearray(path.read_bytes())
    chance = random.Random(f"{seed} {path.name}")  # noqa: S311 - no secret
    for _ in range(bits):
        bit = chance.randrange(len(content) * 8)
        content[bit // 8] ^= 1 << bit % 8
    return bytes(content)
