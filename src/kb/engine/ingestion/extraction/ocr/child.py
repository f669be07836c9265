"""The process that reads a document's pictures. `recognition.py` starts it, tells it their names and hears its
answers.

Before it is confined it imports nothing but the standard library and what is kb's own.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.cleaning import clean
from kb.engine.ingestion.extraction.confinement import (
    allow_cpu_seconds,
    be_known_as,
    confine,
    give_way,
    refuse_threads,
)
from kb.engine.ingestion.extraction.formats import PICTURE_LOADER_OF
from kb.engine.ingestion.extraction.messages import Message, explain, open_channel, render_reading, render_trace
from kb.engine.ingestion.extraction.ocr.reading import OCR_FAILED, Reading

# A page full of print takes ten.
CPU_SECONDS_A_PICTURE = 300
PROCESS_NAME = "kb-ocr"


def main(task: dict[str, Any]) -> None:
    be_known_as(PROCESS_NAME)
    with open_channel() as say:
        give_way()
        confine(**task["confinement"], file=Path(task["path"]), starts_threads=True)
        for message in _read(task["format"], Path(task["path"]), task["threads"], _hear_names()):
            say(message)


def _hear_names() -> Iterator[str]:
    for line in sys.stdin.buffer:
        yield json.loads(line)


def _read(format: str, path: Path, threads: int, names: Iterator[str]) -> Iterator[Message]:
    try:
        loader = import_module(f"kb.engine.ingestion.extraction.readers.{PICTURE_LOADER_OF[format]}")
        page_reader = import_module("kb.engine.ingestion.extraction.ocr.page").PageReader(threads=threads)
        refuse_threads()
        path.open("rb").close()
    except Exception as error:  # noqa: BLE001 - nothing of the file is read yet, so it is not to blame
        yield {"fault": render_trace(error)}
        return
    load: Any = None
    for name in names:
        allow_cpu_seconds(CPU_SECONDS_A_PICTURE)
        try:
            load = load or loader.open_pictures(path)
            message = render_reading(_read_picture(page_reader, load(name)))
        except Exception as error:  # noqa: BLE001 - the picture is to blame, and the next may be whole
            message = {"unread": explain(error)}
        yield message


def _read_picture(page_reader: Any, picture: Any) -> Reading:
    try:
        reading: Reading = page_reader.read(picture)
    except MemoryError:
        raise
    except Exception as error:
        raise Unreadable(*OCR_FAILED) from error
    return replace(reading, text=clean(reading.text))
