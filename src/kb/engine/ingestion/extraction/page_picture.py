"""A page of a document as a picture. It is drawn by a child (`page_child.py`), confined like those that read files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kb.engine.errors import NotFound, Unreadable
from kb.engine.ingestion.extraction.formats import PAGE_DRAWER_OF
from kb.engine.ingestion.extraction.messages import Nonsense, parse, parse_page, parse_png
from kb.engine.ingestion.extraction.reader_process import CRASHED, Limits, ReaderDied, ReaderProcess

# Somebody waits for it. An ordinary page takes a tenth of a second, and a map or a large scan one or two; on a machine
# that has much else to do it takes longer, but no more of the processor.
LIMITS = Limits(cpu_seconds=8, seconds=60, line_bytes=48 * 1024 * 1024)
# What a taken-over child could make us search through.
MAX_CHARACTERS = 200_000
MAX_STRETCHES = 1_000

_MODULE = "kb.engine.ingestion.extraction.page_child"
_ADVICE = "The original can still be downloaded."
_TOLD = {
    "encrypted_file": f"The file is protected by a password, so its pages cannot be shown. {_ADVICE}",
    "extraction_limit": f"The page takes more memory to draw than a page may. {_ADVICE}",
    "extraction_timeout": f"The page takes longer to draw than a page may. {_ADVICE}",
    CRASHED[0]: f"The file is damaged, so the page cannot be shown. {_ADVICE}",
}

FindStretches = Callable[[str], Sequence[tuple[int, int]]]
"""From a text to those places in it, each from its start to its end, that are to be marked."""


@dataclass(frozen=True)
class PagePicture:
    png: bytes
    page_count: int


def has_pages(format: str) -> bool:
    """Whether documents of the format have any that can be drawn."""
    return format in PAGE_DRAWER_OF


def draw_page(
    format: str, path: Path, number: int, *, width: int, find_stretches: FindStretches | None = None
) -> PagePicture:
    """The page, counted from 1; `find_stretches` is given the text on it, if it is known where that stands.

    Raises `NotFound` if there is no such page, and `Unreadable` if it cannot be drawn.
    """
    task = {
        "format": format,
        "path": str(path.absolute()),
        "number": number,
        "width": width,
        "is_read": find_stretches is not None,
    }
    process = ReaderProcess(_MODULE, task, watch=lambda: None, limits=LIMITS)
    try:
        page_count, text = parse_page(parse(process.hear(within_seconds=LIMITS.seconds)))
        if number > page_count:
            raise _no_page(number, page_count)
        process.tell(find_stretches(text[:MAX_CHARACTERS])[:MAX_STRETCHES] if find_stretches else [])
        return PagePicture(parse_png(parse(process.hear(within_seconds=LIMITS.seconds))), page_count)
    except ReaderDied as death:
        raise _cannot_be_shown(death.reason) from death
    except Nonsense as error:
        raise Unreadable(CRASHED[0], _TOLD[CRASHED[0]]) from error
    except Unreadable as reason:
        raise _cannot_be_shown(reason) from reason
    finally:
        process.kill()


def _no_page(number: int, page_count: int) -> NotFound:
    pages = "1 page" if page_count == 1 else f"{page_count:,} pages"
    return NotFound(f"There is no page {number:,}: the document has {pages}.", pages=page_count)


def _cannot_be_shown(reason: Unreadable) -> Unreadable:
    """What readers say is for whoever adds a file; here it is there, and shown in vain."""
    code = reason.code if reason.code in _TOLD else CRASHED[0]
    return Unreadable(code, _TOLD[code])
