"""Reading a file as the engine does: its format by its content, its text by a child process."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from kb.engine.ingestion.extraction import file_child
from kb.engine.ingestion.extraction.detection import detect_format
from kb.engine.ingestion.extraction.extracted import Extracted, Picture
from kb.engine.ingestion.extraction.ocr import child as ocr_child
from kb.engine.ingestion.extraction.reader_process import Limits
from kb.engine.ingestion.extraction.sandbox import DEFAULT_LIMITS, open_extraction
from kb.engine.ingestion.sections import Section

SAMPLES = Path(__file__).parent / "samples"
FILE_READER = file_child.PROCESS_NAME
PICTURE_READER = ocr_child.PROCESS_NAME


@dataclass(frozen=True)
class ReadDocument:
    format: str
    title: str | None
    metadata: dict[str, Any]
    parts: list[list[Section]]
    unread: list[int]
    found: dict[str, Any]
    """What the document tells of its pictures."""

    @property
    def sections(self) -> list[Section]:
        return [section for part in self.parts for section in part]

    @property
    def text(self) -> str:
        return "\n\n".join(section.text for section in self.sections)


def read_sample(name: str, *, force_ocr: bool = False) -> ReadDocument:
    return read_file(SAMPLES / name, force_ocr=force_ocr)


def read_file(path: Path, limits: Limits = DEFAULT_LIMITS, *, force_ocr: bool = False) -> ReadDocument:
    """Raises what the engine would: `UnsupportedFormat` at once, `Unreadable` when it is read."""
    format = detect_format(path.name, path)
    with open_extraction(format, path, force_ocr=force_ocr, watch=lambda: None, limits=limits) as extraction:
        parts = list(extraction.parts())
        head, found = extraction.head, extraction.findings.describe()
        return ReadDocument(format, head.title, head.metadata, parts, extraction.unread, found)


def list_parts(extracted: Extracted) -> list[list[Section | Picture]]:
    """All that a reader reads, when it is called without a child."""
    return [list(extracted.parts[index]) for index in range(len(extracted.parts))]


def list_sections(extracted: Extracted) -> list[list[Section]]:
    """The same without the pictures."""
    return [[item for item in part if isinstance(item, Section)] for part in list_parts(extracted)]


def find_readers_of(parent: psutil.Process, *kinds: str) -> list[psutil.Process]:
    """Those of its processes that read a document, or its pictures; or of these kinds alone."""
    kinds = kinds or (FILE_READER, PICTURE_READER)
    return [process for process in parent.children(recursive=True) if _name_of(process) in kinds]


def _name_of(process: psutil.Process) -> str | None:
    try:
        return str(process.name())
    except psutil.NoSuchProcess:
        return None
