"""The one place where the engine's errors become HTTP: RFC 9457 problems with a stable code."""

import logging
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from kb.engine.api.marks import REQUEST_ID
from kb.engine.api.parameters import NO_NUL, NOT_BLANK
from kb.engine.errors import InvalidRequest, KbError

log = logging.getLogger(__name__)

STATUS_OF_CODE = {
    "invalid_request": 422,
    "corrupt_file": 422,
    "encrypted_file": 422,
    "extraction_limit": 422,
    "extraction_timeout": 422,
    "unauthorized": 401,
    "forbidden": 403,
    "not_found": 404,
    "document_not_found": 404,
    "job_not_found": 404,
    "method_not_allowed": 405,
    "not_a_note": 409,
    "conflict": 409,
    "job_finished": 409,
    "confirmation_required": 409,
    "version_conflict": 412,
    "file_too_large": 413,
    "payload_too_large": 413,
    "unsupported_format": 415,
    "too_many_requests": 429,
    "internal_error": 500,
    "unavailable": 503,
    "storage_full": 507,
}
# What the framework raises by itself, it raises with nothing but a status.
CODE_OF_STATUS = {
    400: "invalid_request",
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_format",
    503: "unavailable",
}


# A busy base is free again in a moment; a full queue has room again when some jobs are done.
RETRY_AFTER_SECONDS = {"unavailable": "1", "too_many_requests": "5"}

WORDS_OF_PATTERN = {
    NO_NUL: "must hold no NUL character",
    NOT_BLANK: "must hold some text and no NUL character",
}

METHODS = ("DELETE", "GET", "HEAD", "PATCH", "POST", "PUT")


class Unparseable(InvalidRequest):
    """A body that cannot even be taken apart: 400, where one that says something wrong is 422."""


class Problem(BaseModel):
    """An error: what happened, and what the caller can do about it."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="A URN that names the kind of problem.")
    title: str
    status: int
    detail: str = Field(description="What is wrong and what to do, for a person.")
    code: str = Field(description="What is wrong, for a program. Stable.")


def problem(
    code: str,
    detail: str,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    details: Mapping[str, object] | None = None,
) -> JSONResponse:
    status = status or STATUS_OF_CODE[code]
    body = {
        "type": f"urn:kb:problem:{code}",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        "code": code,
        **(details or {}),
    }
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def add_error_handlers(app: FastAPI) -> None:
    app.add_exception_handler(KbError, _render_kb_error)
    app.add_exception_handler(RequestValidationError, _render_validation_error)
    app.add_exception_handler(HTTPException, _render_http_error)
    app.add_exception_handler(ClientDisconnect, _render_disconnection)
    app.add_exception_handler(Exception, _render_unexpected)


def _render_kb_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, KbError)  # noqa: S101 - registered for this class
    code = error.code
    if STATUS_OF_CODE[code] >= 500:
        # What was said on purpose says all; only where something else is behind it does the way there tell more.
        log.warning("%s %s: %s", request.method, request.url.path, error.message, exc_info=error.__cause__)
    status = 400 if isinstance(error, Unparseable) else None
    headers = {"Retry-After": RETRY_AFTER_SECONDS[code]} if code in RETRY_AFTER_SECONDS else None
    return problem(code, error.message, status=status, headers=headers, details=error.details)


def _render_validation_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - registered for this class
    return invalid_request(error.errors())


def invalid_request(faults: Sequence[Mapping[str, Any]]) -> JSONResponse:
    """A problem that names each fault by its place; the values sent are not repeated."""
    errors = [{"field": _place_of(fault), "message": _words_of(fault)} for fault in faults]
    is_unparseable = any(fault["type"] == "json_invalid" for fault in faults)
    told = "; ".join(f"{error['field']}: {error['message']}" for error in errors[:5])
    return problem(
        "invalid_request",
        "The body is not valid JSON." if is_unparseable else f"The request is not valid. {told}",
        status=400 if is_unparseable else 422,
        details={"errors": errors},
    )


def _words_of(fault: Mapping[str, Any]) -> str:
    message: str = WORDS_OF_PATTERN.get(fault.get("ctx", {}).get("pattern"), fault["msg"])
    return message.removeprefix("Value error, ")


def _place_of(fault: Mapping[str, Any]) -> str:
    place = ".".join(str(part) for part in fault["loc"])
    # An unknown field may have any name, even one that is not text.
    return place.encode(errors="replace").decode()


def _render_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - registered for this class
    code = CODE_OF_STATUS.get(error.status_code, "internal_error")
    detail = {
        "not_found": "There is nothing at this address.",
        "method_not_allowed": f"{request.method} is not possible at this address.",
        "invalid_request": "The body could not be read.",
    }.get(code, error.detail)
    headers = {"Allow": _methods_at(request)} if code == "method_not_allowed" else error.headers
    return problem(code, detail, status=error.status_code, headers=headers)


def _render_disconnection(request: Request, error: Exception) -> Response:
    """For the measurements: there is nobody left to read it."""
    log.info("%s %s: the client hung up before its request was complete.", request.method, request.url.path)
    return problem("invalid_request", "The request ended before its body did.", status=400)


def _methods_at(request: Request) -> str:
    """All that an address allows; the framework by itself names only those of the first route it meets."""
    scopes = [{**request.scope, "method": method} for method in METHODS]
    return ", ".join(
        scope["method"]
        for scope in scopes
        if any(route.matches(scope)[0] is Match.FULL for route in request.app.routes)
    )


def _render_unexpected(request: Request, error: Exception) -> Response:
    request_id = request.scope.get(REQUEST_ID, "")
    log.error("Request %s: %s %s failed.", request_id, request.method, request.url.path, exc_info=error)
    return problem(
        "internal_error",
        "Something went wrong inside the engine; its log tells more under this request's id.",
        details={"request_id": request_id},
    )
