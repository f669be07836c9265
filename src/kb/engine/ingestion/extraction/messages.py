"""What a reader tells its parent, a JSON object a line, and how far that is believed.

    {"title", "metadata", "unit", "method", "parts": 12}        first, what is known of the whole document
    {"sections": [[text, heading, page, header, numbers]]}      then each part in its turn,
    {"unread": {"code", "message", "trace"}}                    or why it cannot be read
    {"error": {"code", "message", "trace"}}                     instead of all that, why nothing can
    {"fault": trace}                                            or what is wrong here, and not with the file

Among the sections of a part may be pictures, {"picture": name, "text", "heading", "page", "is_page"}. Whoever reads
those is told their names, each in a line, and answers each with

    {"text": "...", "confidence": 0.98}                         what stands in it,
    {"unread": ...} or {"fault": ...}                           or as above

Whoever draws a page says

    {"pages": 12, "text": "..."}                                how many there are and what it says; is told which
    {"png": "..."}                                              stretches of that to mark, and answers in base64
    {"error": ...} or {"fault": ...}                            or as above

The parent takes nothing for granted: a reader that was taken over by its file may say anything.
"""

import base64
import json
import logging
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

from kb.engine.errors import Unavailable, Unreadable
from kb.engine.ingestion.extraction.extracted import Extracted, Picture
from kb.engine.ingestion.extraction.ocr.reading import Reading
from kb.engine.ingestion.sections import Rows, Section

log = logging.getLogger(__name__)

# Stored with the document and shown with every hit.
MAX_METADATA_CHARACTERS = 100_000
_MAX_PAGE = 2**31
_MAX_ROW = 2**53
_MAX_HEADING_CHARACTERS = 5_000
_MAX_HEADER_CHARACTERS = 100_000
_MAX_WORD_CHARACTERS = 30
_MAX_NAME_CHARACTERS = 200
_MAX_MESSAGE_CHARACTERS = 1_000
_MAX_TRACE_CHARACTERS = 2_000
_PNG = b"\x89PNG\r\n\x1a\n"
# What a reader may find wrong with a file.
_CODES = ("corrupt_file", "encrypted_file", "extraction_limit", "no_text_found", "ocr_failed", "unsupported_format")

_DAMAGED = Unreadable(
    "corrupt_file",
    "The file is damaged, or not what it claims to be. Open it in the program that it comes from, save it again, "
    "and add that.",
)
_TOO_MUCH = Unreadable(
    "extraction_limit",
    "Reading the file takes more than a document may. If it is an honest one, split it and add the pieces.",
)

Message = dict[str, Any]


class Nonsense(ValueError):
    """No reader of ours would say that."""


class Fault(Exception):
    """What went wrong in a reader, and not with its file: the trace that it sent."""


@dataclass(frozen=True)
class Head:
    """`is_confined` is False where the kernel lets a reader use the network and change files."""

    title: str | None
    metadata: dict[str, Any]
    unit: str
    processing_method: str
    part_count: int
    is_confined: bool


@contextmanager
def open_channel() -> Iterator[Callable[[Message], None]]:
    """The way to the parent. What a parser prints goes where errors go, to nowhere."""
    channel = os.dup(1)
    os.dup2(2, 1)
    with open(channel, "wb") as lines:

        def say(message: Message) -> None:
            lines.write(render(message))
            lines.flush()

        yield say


def render(message: Message) -> bytes:
    # Half of a character cannot be stored; a reader may have found one in a damaged file.
    return json.dumps(message, ensure_ascii=False).encode("utf-8", errors="replace") + b"\n"


def parse(line: bytes) -> Message:
    try:
        message = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise Nonsense from error
    if not isinstance(message, dict):
        raise Nonsense
    return message


def render_head(document: Extracted) -> Message:
    return {
        "title": document.title,
        "metadata": document.metadata,
        "unit": document.unit,
        "method": document.processing_method,
        "parts": len(document.parts),
    }


def parse_head(message: Message) -> Head:
    match message:
        case {
            "title": str() | None as title,
            "metadata": dict() as metadata,
            "unit": str() as unit,
            "method": str() as method,
            "parts": int() as parts,
        } if parts >= 0 and max(len(unit), len(method)) <= _MAX_WORD_CHARACTERS:
            told = [title or "", *_list_texts(metadata)]
            if sum(len(_storable(text)) for text in told) > MAX_METADATA_CHARACTERS:
                raise Nonsense
            return Head(title, metadata, unit, method, parts, is_confined=message.get("confined") is True)
    _raise_reason(message)


def _raise_fault(trace: str) -> NoReturn:
    # Not logged here: the file may be gone because nobody wants it any more, and only whoever wanted it knows.
    told = "The file cannot be read for a reason that lies in kb itself; its log tells more."
    raise Unavailable(told) from Fault(trace[-_MAX_TRACE_CHARACTERS:])


def _list_texts(metadata: dict[str, Any]) -> Iterator[str]:
    """All that is said in it: texts, numbers and lists of texts, each under a name."""
    for name, value in metadata.items():
        yield name
        match value:
            case str():
                yield value
            case list() if all(isinstance(item, str) for item in value):
                yield from value
            case int() | float():
                pass
            case _:
                raise Nonsense


def render_item(item: Section | Picture) -> list[Any] | Message:
    if isinstance(item, Picture):
        return {
            "picture": item.name,
            "text": item.text,
            "heading": item.heading,
            "page": item.page_num,
            "is_page": item.is_page,
        }
    rows = item.rows
    return [item.text, item.heading, item.page_num, rows and rows.header, rows and rows.numbers]


def parse_part(message: Message) -> list[Section | Picture]:
    match message:
        case {"sections": list() as items}:
            return [_parse_item(item) for item in items]
        case {"unread": reason}:
            raise _parse_reason(reason)
    raise Nonsense


def _parse_item(item: Any) -> Section | Picture:
    match item:
        case [str() as text, str() | None as heading, int() | None as page_num, header, numbers]:
            _bound_place(heading, page_num)
            rows = None if numbers is None else _parse_rows(header, numbers, row_count=text.count("\n") + 1)
            return Section(_storable(text), heading and _storable(heading), page_num, rows)
        case {
            "picture": str() as name,
            "text": str() as text,
            "heading": str() | None as heading,
            "page": int() | None as page_num,
            "is_page": bool() as is_page,
        } if len(name) <= _MAX_NAME_CHARACTERS and name.isprintable():
            _bound_place(heading, page_num)
            return Picture(_storable(name), page_num, heading and _storable(heading), is_page, _storable(text))
    raise Nonsense


def _bound_place(heading: str | None, page_num: int | None) -> None:
    if not 0 <= (page_num or 0) < _MAX_PAGE or len(heading or "") > _MAX_HEADING_CHARACTERS:
        raise Nonsense


def render_reading(reading: Reading) -> Message:
    return {"text": reading.text, "confidence": reading.confidence}


def parse_reading(message: Message) -> Reading:
    match message:
        case {"text": str() as text, "confidence": int() | float() as confidence} if 0 <= confidence <= 1:
            return Reading(_storable(text), float(confidence))
        case {"unread": reason}:
            raise _parse_reason(reason)
        case {"fault": str() as trace}:
            _raise_fault(trace)
    raise Nonsense


def parse_page(message: Message) -> tuple[int, str]:
    """How many pages there are, and what stands on the one asked for."""
    match message:
        case {"pages": int() as pages, "text": str() as text} if 0 <= pages < _MAX_PAGE:
            return pages, _storable(text)
    _raise_reason(message)


def parse_png(message: Message) -> bytes:
    match message:
        case {"png": str() as encoded}:
            try:
                png = base64.b64decode(encoded, validate=True)
            except ValueError as error:
                raise Nonsense from error
            if png.startswith(_PNG):
                return png
    _raise_reason(message)


def _raise_reason(message: Message) -> NoReturn:
    match message:
        case {"error": reason}:
            raise _parse_reason(reason)
        case {"fault": str() as trace}:
            _raise_fault(trace)
    raise Nonsense


def _parse_rows(header: Any, numbers: Any, *, row_count: int) -> Rows:
    match header, numbers:
        case str(), list() if (
            len(header) <= _MAX_HEADER_CHARACTERS
            and len(numbers) == row_count
            and all(isinstance(number, int) and 0 <= number < _MAX_ROW for number in numbers)
        ):
            return Rows(_storable(header), tuple(numbers))
    raise Nonsense


def explain(error: Exception) -> dict[str, str]:
    """Why a file cannot be read, whatever it was that a parser raised."""
    if isinstance(error, Unreadable):
        reason = error
    else:
        reason = _TOO_MUCH if isinstance(error, MemoryError | RecursionError) else _DAMAGED
    return {"code": reason.code, "message": reason.message, "trace": _render_places(error)}


def _render_places(error: BaseException | None) -> str:
    """Where a parser gave up, and with what kinds of errors. Their words are left out: they may quote the file."""
    places: list[str] = []
    while error is not None:
        places[:0] = [*traceback.format_tb(error.__traceback__), f"{type(error).__qualname__}\n"]
        error = error.__cause__ or error.__context__
    return "".join(places)[-_MAX_TRACE_CHARACTERS:]


def render_trace(cause: Exception) -> str:
    return "".join(traceback.format_exception(cause))[-_MAX_TRACE_CHARACTERS:]


def _parse_reason(told: Any) -> Unreadable:
    match told:
        case {"code": str() as code, "message": str() as message, "trace": str() as trace} if code in _CODES:
            log.info("A file cannot be read: %s", trace[-_MAX_TRACE_CHARACTERS:])
            return Unreadable(code, _storable(message)[:_MAX_MESSAGE_CHARACTERS])
    raise Nonsense


def _storable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Nonsense from error
    if "\0" in text:
        raise Nonsense
    return text


def _refuse(constant: str) -> NoReturn:
    raise Nonsense
