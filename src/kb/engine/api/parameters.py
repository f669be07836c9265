"""What routes take besides a body: names of things, pages of lists, versions."""

import re
from typing import Annotated, get_args, get_origin
from uuid import UUID

from fastapi import Depends, Header, Path, Query, Request
from fastapi.exceptions import RequestValidationError

from kb.engine.model import Ref
from kb.engine.wiring import Engine

REF_PATTERN = "^([0-9]{1,19}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$"
NO_NUL = r"^[^\x00]*$"
# What is blank to Python (U+001C to U+001F and U+0085 among it) is blank here; regexes differ about those.
NOT_BLANK = r"^[^\x00]*[^\s\x00\x1c-\x1f\x85][^\x00]*$"

# An ETag that no version has: it came from elsewhere, so it cannot match.
NO_VERSION = -1


# Those that only look something up are asynchronous: the framework would take each of the others to a thread and back.


async def get_engine(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


async def _parse_ref(
    name: Annotated[
        str, Path(alias="id", description="Integer id or UUID.", json_schema_extra={"pattern": REF_PATTERN})
    ],
) -> Ref:
    if re.fullmatch(REF_PATTERN, name) is None:
        fault = {"type": "ref", "loc": ("path", "id"), "msg": "An id is a whole number or a UUID."}
        raise RequestValidationError([fault])
    return int(name) if name.isdecimal() else UUID(name)


async def _parse_if_match(
    if_match: Annotated[
        str | None,
        Header(description="The ETag of the version you have seen: another one is refused with 412."),
    ] = None,
) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    version = re.fullmatch(r'\s*"(\d{1,18})"\s*', if_match)
    return int(version[1]) if version else NO_VERSION


async def refuse_unread_parameters(request: Request) -> None:
    """Mistyped, or given twice where one is read: it would be ignored otherwise, and its caller none the wiser."""
    dependant = request.scope["route"].dependant
    fields = {field.alias: field for part in (dependant, *dependant.dependencies) for field in part.query_params}
    faults = []
    for name in sorted(set(request.query_params)):
        if name not in fields:
            faults.append({"type": "extra_forbidden", "loc": ("query", name), "msg": "There is no such parameter."})
        elif len(request.query_params.getlist(name)) > 1 and not _takes_many(fields[name].field_info.annotation):
            faults.append({"type": "too_many", "loc": ("query", name), "msg": "This can be given only once."})
    if faults:
        raise RequestValidationError(faults)


def _takes_many(annotation: object) -> bool:
    """Whether it is a list, or perhaps a list."""
    return any(get_origin(part) is list for part in (annotation, *get_args(annotation)))


EngineDep = Annotated[Engine, Depends(get_engine)]
RefDep = Annotated[Ref, Depends(_parse_ref)]
ExpectedVersion = Annotated[int | None, Depends(_parse_if_match)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Offset = Annotated[int, Query(ge=0, le=2**53)]
PlainText = Annotated[str, Query(pattern=NO_NUL, max_length=4096)]


def etag(version: int) -> str:
    return f'"{version}"'
