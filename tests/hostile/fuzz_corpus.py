"""Thousands of files that are almost right. Each is made from its number alone:

    python -m tests.hostile.fuzz_corpus NUMBER... [FAULTS_SEED=...]

writes those of the numbers into the current folder.
"""

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path

from tests.amounts import SEED
from tests.hostile.all_files import GENERATED
from tests.hostile.damage import list_samples
from tests.hostile.fuzz_words import WORDS
from tests.hostile.hostile_file import HostileFile
from tests.hostile.mutations import MAX_BYTES, Chance, mutate, splice
from tests.hostile.shells import mutate_inside

from kb.engine.ingestion.extraction.formats import BY_EXTENSION, PICTURE_FORMATS

# Reading a picture takes seconds, so only one of so many numbers begins with a sample that has pictures.
PICTURES_EVERY = 23
_WITH_PICTURES = {
    "docx": {"letter", "pier"},
    "odt": {"letter"},
    "pptx": {"pier", "quarry"},
    "svg": {"bitmap", "glyphs", "gnuplot"},
    "pdf": {
        "letterhead-reportlab",
        "mixed-qpdf",
        "outlines-ghostscript",
        "scan-img2pdf",
        "scan-reportlab",
        "screenshot-libreoffice",
        "strips-reportlab",
        "turned-img2pdf",
        "unmapped-pikepdf",
    },
}


@dataclass(frozen=True)
class Source:
    name: str
    make: Callable[[], bytes]

    @property
    def extension(self) -> str:
        return Path(self.name).suffix

    @property
    def format(self) -> str:
        return BY_EXTENSION[self.extension]

    @property
    def has_pictures(self) -> bool:
        return self.format in PICTURE_FORMATS or Path(self.name).stem in _WITH_PICTURES.get(self.format, ())


@dataclass(frozen=True)
class FuzzedFile:
    number: int
    filename: str
    content: bytes


def has_pictures(number: int) -> bool:
    return number % PICTURES_EVERY == 0


def fuzzed_file(number: int) -> FuzzedFile:
    chance = chance_of(number)
    source = _choose(chance, with_pictures=has_pictures(number))
    extension = source.extension if chance.random() < 0.95 else chance.choice(list(BY_EXTENSION))
    content = _change(chance, source)
    return FuzzedFile(number, f"{number}-{source.name.removesuffix(source.extension)}{extension}", content)


def chance_of(number: int, purpose: str = "file") -> Chance:
    return random.Random(f"{SEED} {number} {purpose}")  # noqa: S311 - no secret


def _change(chance: Chance, source: Source) -> bytes:
    content, words = source.make(), WORDS[source.format]
    what = chance.random()
    if what < 0.1:
        return splice(chance, content, _choose(chance, with_pictures=False).make())
    if what < 0.7:
        content = mutate_inside(chance, content, words) or mutate(chance, content, words)
        # Some twice: what is odd within and without.
        return content if what < 0.6 else mutate(chance, content, words)
    return mutate(chance, content, words)


def _choose(chance: Chance, *, with_pictures: bool) -> Source:
    """Every format as often as any other; a quarter of them made to do harm from the first."""
    samples = _list_samples() if with_pictures or chance.random() < 0.75 else _list_hostile()
    by_format: dict[str, list[Source]] = {}
    for source in samples:
        if source.has_pictures == with_pictures:
            by_format.setdefault(source.format, []).append(source)
    return chance.choice(by_format[chance.choice(sorted(by_format))])


@cache
def _list_samples() -> list[Source]:
    return [Source(path.name, path.read_bytes) for path in list_samples()]


@cache
def _list_hostile() -> list[Source]:
    files = [file for make in GENERATED.values() for file in make() if not file.is_slow]
    return [Source(file.filename, cache(partial(_make_short, file))) for file in files]


def _make_short(file: HostileFile) -> bytes:
    return file.make()[:MAX_BYTES]


def main() -> None:
    for number in map(int, sys.argv[1:]):
        file = fuzzed_file(number)
        Path(file.filename).write_bytes(file.content)


if __name__ == "__main__":
    main()
