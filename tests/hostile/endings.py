"""How the reading of hostile files ended, many of them at once."""

import time
from collections import Counter
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.hostile.hostile_file import NO_TEXT, READ, TIMEOUT, HostileFile
from tests.hostile.markup import FOREIGN_TEXT
from tests.reading import ReadDocument, read_file

from kb.engine.errors import Unreadable, UnsupportedFormat
from kb.engine.ingestion.extraction.reader_process import Limits

AT_ONCE = 2
PATIENT = Limits()
# One that may run out of time is not waited for as long as an honest one is.
IMPATIENT = Limits(seconds_a_part=10)


@dataclass(frozen=True)
class Ending:
    file: HostileFile
    code: str
    seconds: float
    fingerprint: int = 0
    """Of all that was read: many texts of ten megabytes are too many to keep."""
    characters: int = 0
    """With what is repeated: a table's header with each of its parts, a heading with each section."""
    has_foreign_text: bool = False

    @property
    def is_right(self) -> bool:
        return self.code in self.file.ends

    def __str__(self) -> str:
        return f"{self.file.filename}: {self.code} after {self.seconds:.1f} s, not {'/'.join(sorted(self.file.ends))}"


def read_all(files: Iterable[HostileFile]) -> list[Ending]:
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(read_hostile, files))


def read_hostile(file: HostileFile) -> Ending:
    with TemporaryDirectory() as folder:
        path = Path(folder) / file.filename
        path.write_bytes(file.make())
        started_at = time.monotonic()
        try:
            document = read_file(path, IMPATIENT if TIMEOUT in file.ends else PATIENT)
        except (Unreadable, UnsupportedFormat) as error:
            return Ending(file, error.code, time.monotonic() - started_at)
        text, seconds = document.text, time.monotonic() - started_at
        fingerprint, has_foreign_text = hash(repr(document.parts)), FOREIGN_TEXT in text
        code = READ if text.strip() else NO_TEXT
        return Ending(file, code, seconds, fingerprint, count_characters(document), has_foreign_text)


def count_characters(document: ReadDocument) -> int:
    headers = [section.rows.header for section in document.sections if section.rows]
    headings = [section.heading for section in document.sections if section.heading]
    return sum(map(len, [document.text, *headers, *headings]))


def wrong(endings: Iterable[Ending]) -> list[str]:
    return [str(ending) for ending in endings if not ending.is_right]


def count(endings: Iterable[Ending]) -> str:
    counted = Counter(ending.code for ending in endings)
    ended = ", ".join(f"{number} {code}" for code, number in counted.most_common())
    return f"{counted.total()} files: {ended}"
