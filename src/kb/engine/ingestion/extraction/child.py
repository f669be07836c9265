"""The process that reads one file. `sandbox.py` starts it, and hears what it says: a JSON object a line.

    {"title", "metadata", "unit", "method", "parts": 12}        first, what is known of the whole document
    {"sections": [[text, heading, page, header, numbers]]}      then each part in its turn,
    {"unread": {"code", "message", "trace"}}                    or why it cannot be read
    {"error": {"code", "message", "trace"}}                     instead of all that, why nothing can

Before it is confined it imports nothing but the standard library and what is kb's own.
"""

import json
import os
import traceback
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from kb.engine.errors import Unreadable
from kb.engine.ingestion.extraction.cleaning import clean
from kb.engine.ingestion.extraction.confinement import confine
from kb.engine.ingestion.extraction.formats import READERS
from kb.engine.ingestion.sections import Section

_DAMAGED = Unreadable(
    "corrupt_file",
    "The file is damaged, or not what it claims to be. Open it in the program that it comes from, save it again, "
    "and add that.",
)
_TOO_MUCH = Unreadable(
    "extraction_limit",
    "Reading the file takes more than a document may. If it is an honest one, split it and add the pieces.",
)
_LAST_OF_TRACE = 2_000


def main(told: str) -> None:
    task = json.loads(told)
    # What a parser prints goes where errors go, to nowhere.
    channel = os.dup(1)
    os.dup2(2, 1)
    confine(memory_bytes=task["memory_bytes"], cpu_seconds=task["cpu_seconds"], parent=task["parent"])
    with open(channel, "wb") as lines:
        for message in _read(task["format"], Path(task["path"]), task["first_part"]):
            lines.write(json.dumps(message, ensure_ascii=False).encode("utf-8", errors="replace") + b"\n")
            lines.flush()


def _read(format: str, path: Path, first_part: int) -> Iterator[dict[str, Any]]:
    try:
        document = import_module(f"kb.engine.ingestion.extraction.readers.{READERS[format]}").read(path)
        count = len(document.parts)
    except Exception as error:  # noqa: BLE001 - whatever a parser raises, the file is to blame
        yield {"error": _explain(error)}
        return
    yield {
        "title": document.title,
        "metadata": document.metadata,
        "unit": document.unit,
        "method": document.processing_method,
        "parts": count,
    }
    for number in range(first_part, count):
        try:
            message: dict[str, Any] = {"sections": [_plain(section) for section in document.parts[number]]}
        except Exception as error:  # noqa: BLE001 - the next part may be whole
            message = {"unread": _explain(error)}
        yield message


def _plain(section: Section) -> list[Any]:
    if section.rows is None:
        return [clean(section.text), section.heading, section.page_num, None, None]
    lines = [" ".join(clean(line).split("\n")) for line in section.text.split("\n")]
    return ["\n".join(lines), section.heading, section.page_num, section.rows.header, section.rows.numbers]


def _explain(error: Exception) -> dict[str, str]:
    reason = error if isinstance(error, Unreadable) else _DAMAGED
    if isinstance(error, MemoryError | RecursionError):
        reason = _TOO_MUCH
    trace = "".join(traceback.format_exception(error))[-_LAST_OF_TRACE:]
    return {"code": reason.reason, "message": reason.message, "trace": trace}
