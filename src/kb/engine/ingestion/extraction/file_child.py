"""The process that reads one file, all but its pictures. `sandbox.py` starts it and hears what it says
(`messages.py`).

Before it is confined it imports nothing but the standard library and what is kb's own.
"""

from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

from kb.engine.ingestion.extraction.cleaning import clean
from kb.engine.ingestion.extraction.confinement import be_known_as, confine
from kb.engine.ingestion.extraction.extracted import Extracted, Picture
from kb.engine.ingestion.extraction.formats import READER_OF
from kb.engine.ingestion.extraction.messages import (
    Message,
    explain,
    open_channel,
    render_head,
    render_item,
    render_trace,
)
from kb.engine.ingestion.extraction.parts import cut_into_parts
from kb.engine.ingestion.sections import Section

PROCESS_NAME = "kb-reader"


def main(task: dict[str, Any]) -> None:
    be_known_as(PROCESS_NAME)
    with open_channel() as say:
        is_confined = confine(**task["confinement"], file=Path(task["path"]))
        messages = _read(task["format"], Path(task["path"]), task["first_part"], force_ocr=task["force_ocr"])
        for message in messages:
            say({**message, "confined": is_confined})


def _read(format: str, path: Path, first_part: int, *, force_ocr: bool) -> Iterator[Message]:
    try:
        reader = import_module(f"kb.engine.ingestion.extraction.readers.{READER_OF[format]}")
        read = getattr(reader, "read_as_pictures", reader.read) if force_ocr else reader.read
        path.open("rb").close()
    except (ImportError, OSError) as error:
        # Neither the file nor whoever sent it is to blame.
        yield {"fault": render_trace(error)}
        return
    try:
        document = _cut_if_long(_clean_head(read(path)))
        head = render_head(document)
    except Exception as error:  # noqa: BLE001 - whatever a parser raises, the file is to blame
        yield {"error": explain(error)}
        return
    yield head
    for number in range(first_part, len(document.parts)):
        try:
            message: Message = {"sections": [render_item(_clean(item)) for item in document.parts[number]]}
        except Exception as error:  # noqa: BLE001 - the next part may be whole
            message = {"unread": explain(error)}
        yield message


def _cut_if_long(document: Extracted) -> Extracted:
    """What was read in one go need not be sent in one."""
    if not isinstance(document.parts, list):
        return document
    parts = [part for sections in document.parts for part in cut_into_parts(sections)]
    return document if len(parts) == len(document.parts) else replace(document, parts=parts, unit="part")


def _clean_head(document: Extracted) -> Extracted:
    metadata = {clean(name): _clean_value(value) for name, value in document.metadata.items()}
    return replace(document, title=document.title and clean(document.title), metadata=metadata)


def _clean_value(value: Any) -> Any:
    if isinstance(value, list):
        return [_clean_value(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def _clean(section: Section | Picture) -> Section | Picture:
    heading = section.heading and _on_one_line(section.heading)
    if isinstance(section, Picture) or section.rows is None:
        return replace(section, text=clean(section.text), heading=heading)
    # A row must stay a line.
    text = "\n".join(map(_on_one_line, section.text.split("\n")))
    return replace(
        section, text=text, heading=heading, rows=replace(section.rows, header=_on_one_line(section.rows.header))
    )


def _on_one_line(text: str) -> str:
    return clean(text).replace("\n", " ")
