"""The process that draws one page of a file for people to look at. `page_picture.py` starts it and hears what it says
(`messages.py`).

The module that `formats.py` names has a function `open_pages(path) -> Pages`. Both raise `Unreadable`.
Before it is confined it imports nothing but the standard library and what is kb's own.
"""

import base64
import json
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from kb.engine.ingestion.extraction.confinement import be_known_as, confine
from kb.engine.ingestion.extraction.formats import PAGE_DRAWER_OF
from kb.engine.ingestion.extraction.messages import Message, explain, open_channel, render_trace

PROCESS_NAME = "kb-page"


class Page(Protocol):
    def read(self) -> str:
        """The words on it, as far as it is known where each stands."""
        ...

    def draw(self, width: int, stretches: Sequence[tuple[int, int]], /) -> bytes:
        """A PNG with these stretches of what was read marked, so many pixels wide, unless it would be too high."""
        ...


class Pages(Protocol):
    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Page: ...


def main(task: dict[str, Any]) -> None:
    be_known_as(PROCESS_NAME)
    with open_channel() as say:
        confine(**task["confinement"], file=Path(task["path"]))
        for message in _show(task["format"], Path(task["path"]), task["number"], task["width"], task["is_read"]):
            say(message)


def _show(format: str, path: Path, number: int, width: int, is_read: bool) -> Iterator[Message]:  # noqa: FBT001 - told by JSON
    try:
        drawer = import_module(f"kb.engine.ingestion.extraction.readers.{PAGE_DRAWER_OF[format]}")
        path.open("rb").close()
    except (ImportError, OSError) as error:
        # Neither the file nor whoever sent it is to blame.
        yield {"fault": render_trace(error)}
        return
    try:
        pages: Pages = drawer.open_pages(path)
        if number > len(pages):
            yield {"pages": len(pages), "text": ""}
            return
        page = pages[number - 1]
        yield {"pages": len(pages), "text": page.read() if is_read else ""}
        stretches = json.loads(sys.stdin.buffer.readline())
        yield {"png": base64.b64encode(page.draw(width, stretches)).decode()}
    except Exception as error:  # noqa: BLE001 - whatever a parser raises, the file is to blame
        yield {"error": explain(error)}
