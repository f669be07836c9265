"""What a reader tells its parent, a JSON object a line, and how far that is believed.

    {"title", "metadata", "unit", "method", "parts": 12}        first, what is known of the whole document
    {"sections": [[text, heading, page, header, numbers]]}      then each part in its turn,
    {"unread": {"code", "message", "trace"}}                    or why it cannot be read
    {"error": {"code", "message", "trace"}}                     instead of all that, why nothing can
    {"fault": trace}                                            or what is wrong here, and not with the file

The parent takes nothing for granted: a reader that was taken over by its file may say anything.
"""

import json
import logging
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from kb.engine.errors import Unavailable, Unreadable
from kb.engine.ingestion.extraction.extracted import Extracted
from kb.engine.ingestion.sections import Rows, Section

log = logging.getLogger(__name__)

# Stored with the document and shown with every hit.
MAX_METADATA_CHARACTERS = 100_000
_MAX_PAGE = 2**31
_MAX_HEADING_CHARACTERS = 5_000
_MAX_HEADER_CHARACTERS = 100_000
_MAX_WORD_CHARACTERS = 30
_MAX_MESSAGE_CHARACTERS = 1_000
_MAX_TRACE_CHARACTERS = 2_000
# What a reader may find wrong with a file.
_CODES = ("corrupt_file", "encrypted_file", "extraction_limit", "no_text_found", "unsupported_format")

Message = dict[str, Any]


class Nonsense(ValueError):
    """No reader of ours would say that."""


@dataclass(frozen=True)
class Head:
    """`is_confined` is False where the kernel lets a reader use the network and change files."""

    title: str | None
    metadata: dict[str, Any]
    unit: str
    processing_method: str
    part_count: int
    is_confined: bool


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
        case {"error": reason}:
            raise _parse_reason(reason)
        case {"fault": str() as trace}:
            log.error("Files of this format cannot be read here: %s", trace[-_MAX_TRACE_CHARACTERS:])
            raise Unavailable("The file cannot be read for a reason that lies in kb itself; its log tells more.")
    raise Nonsense


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


def render_section(section: Section) -> list[Any]:
    rows = section.rows
    return [section.text, section.heading, section.page_num, rows and rows.header, rows and rows.numbers]


def parse_sections(message: Message) -> list[Section]:
    match message:
        case {"sections": list() as sections}:
            return [_parse_section(section) for section in sections]
        case {"unread": reason}:
            raise _parse_reason(reason)
    raise Nonsense


def _parse_section(values: Any) -> Section:
    match values:
        case [str() as text, str() | None as heading, int() | None as page_num, header, numbers]:
            if not 0 <= (page_num or 0) < _MAX_PAGE or len(heading or "") > _MAX_HEADING_CHARACTERS:
                raise Nonsense
            rows = None if numbers is None else _parse_rows(header, numbers, row_count=text.count("\n") + 1)
            return Section(_storable(text), heading and _storable(heading), page_num, rows)
    raise Nonsense


def _parse_rows(header: Any, numbers: Any, *, row_count: int) -> Rows:
    match header, numbers:
        case str(), list() if (
            len(header) <= _MAX_HEADER_CHARACTERS
            and len(numbers) == row_count
            and all(isinstance(number, int) for number in numbers)
        ):
            return Rows(_storable(header), tuple(numbers))
    raise Nonsense


def render_reason(reason: Unreadable, cause: Exception) -> dict[str, str]:
    return {"code": reason.reason, "message": reason.message, "trace": render_trace(cause)}


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
