"""Plain text in whatever encoding it comes."""

from pathlib import Path

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.cleaning import clean
from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.readers.shared.charsets import decode
from kb.engine.ingestion.sections import Section


def read(path: Path) -> Extracted:
    return Extracted([[Section(read_text(path))]])


def read_text(path: Path) -> str:
    """The text with `\\n` line ends and no control characters; raises `Unreadable` if there is none."""
    text = clean(decode(path.read_bytes()))
    if not text.strip():
        raise Unreadable("no_text_found", "The file holds no text. Check that it is the one you meant to add.")
    return text
