"""The door to every format: what a file is, and what it says.

A new format is one module here and one entry in `_READERS` and `_EXTENSIONS`.
"""

from collections.abc import Callable
from pathlib import Path, PureWindowsPath

from kb.engine.errors import Unreadable, UnsupportedFormat
from kb.engine.ingestion.extraction.content import recognise_binary
from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.extraction.markdown import read_markdown, sections_of_markdown
from kb.engine.ingestion.extraction.plain_text import read_plain_text

__all__ = ["Extracted", "detect_format", "extract", "sections_of_markdown", "supported_formats"]

_READERS: dict[str, Callable[[Path], Extracted]] = {
    "md": read_markdown,
    "txt": read_plain_text,
}
_EXTENSIONS = {
    ".md": "md",
    ".markdown": "md",
    ".txt": "txt",
    ".text": "txt",
    ".log": "txt",
    "": "txt",  # README, Makefile, and .env: a name that only begins with a dot has no extension
}


def supported_formats() -> list[str]:
    return sorted(_READERS)


def detect_format(filename: str, head: bytes) -> str:
    """The format of a file by its first bytes, and only among kinds of text by its name.

    `head` should be the first few kilobytes. Raises `UnsupportedFormat`.
    """
    kind = recognise_binary(head)
    if kind:
        raise _unsupported(filename, f"This is {kind}, which cannot be read.")
    # A Windows path is read rightly from any system: it takes both slashes.
    extension = PureWindowsPath(filename.strip()).suffix.lower()
    if extension not in _EXTENSIONS:
        raise _unsupported(filename, f"Files named *{extension} cannot be read.")
    return _EXTENSIONS[extension]


def extract(format: str, path: Path) -> Extracted:
    """The text of a file; raises `Unreadable` if it has none, or is of a format that cannot be read."""
    reader = _READERS.get(format)
    if reader is None:
        raise Unreadable("unsupported_format", f"Files of format {format} cannot be read.")
    return reader(path)


def _unsupported(filename: str, reason: str) -> UnsupportedFormat:
    formats = supported_formats()
    return UnsupportedFormat(
        f"{reason} Supported formats: {', '.join(formats)}.", supported_formats=formats, filename=filename
    )
