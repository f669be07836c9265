"""Who may come in: the checks that every request passes before any route sees it."""

import math
import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kb.access import SECURITY_HEADERS, Access, AllowedNames, KeyRing, KnownKey, bearer_key, origin_of_own_pages
from kb.engine.api.errors import problem
from kb.engine.api.marks import HAS_ANSWER, REQUEST_ID
from kb.engine.bundles.bundle import MEDIA_TYPE
from kb.engine.caller import NO_KEY, Caller, acting_for
from kb.engine.errors import FileTooLarge
from kb.logs import log_context
from kb.serving import IS_ADMITTED
from kb.version import VERSION

API_PREFIX = "/api/"
# Reading by POST, because a query does not fit into a URL.
READING_POSTS = frozenset({"/api/v1/search"})
READING_METHODS = frozenset({"GET", "HEAD"})
# These two are read as they arrive, and any other body whole.
UPLOAD = ("/api/v1/jobs", "multipart/form-data")
# Checked member by member, it has no largest size.
BUNDLE = ("/api/v1/import", MEDIA_TYPE)

# A note of 1,000,000 characters, each escaped as a pair of surrogates (twelve bytes), is 12 MB.
MAX_JSON_BYTES = 16 * 1024 * 1024
# What the form around an uploaded file may add to it.
MAX_FORM_BYTES = 2 * 1024 * 1024

WRITING_KEY_NAME, READING_KEY_NAME = "KB_API_KEY", "KB_API_KEY_READONLY"

FOREIGN_PAGE = (
    "Another page may not call the engine. If that page is yours, add its origin, such as https://notes.example:8443, "
    "to KB_ALLOWED_ORIGINS."
)

LENGTH = re.compile(r"[0-9]{1,18}")
USABLE_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

ANSWER_HEADERS = {
    # Clients tell from it, at no cost, whether they can speak with this engine.
    "Server": f"kb/{VERSION}",
    **SECURITY_HEADERS,
}


@dataclass(frozen=True)
class Refusal:
    code: str
    detail: str
    details: Mapping[str, object] = field(default_factory=dict)


class Guard:
    def __init__(self, app: ASGIApp, access: Access, *, max_file_bytes: int) -> None:
        self._app = app
        self._max_file_bytes = max_file_bytes
        self._names = AllowedNames(access)
        self._keys = KeyRing(access)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # No route takes a WebSocket; closed before it is accepted, it is refused.
            await send({"type": "websocket.close", "code": 1008})
            return
        headers = Headers(scope=scope)
        scope[REQUEST_ID] = _choose_request_id(headers.get("x-request-id"))

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                scope[HAS_ANSWER] = True
                answer = MutableHeaders(scope=message)
                answer["X-Request-ID"] = scope[REQUEST_ID]
                for name, value in ANSWER_HEADERS.items():
                    answer.setdefault(name, value)
            await send(message)

        refusal = self._find_refusal(scope, headers)
        if refusal is not None:
            challenge = {"WWW-Authenticate": "Bearer"} if refusal.code == "unauthorized" else None
            answer = problem(refusal.code, refusal.detail, headers=challenge, details=refusal.details)
            await answer(scope, receive, send_with_headers)
            return
        if scope["path"].startswith(API_PREFIX):
            scope[IS_ADMITTED] = True
        with acting_for(self._caller(scope, headers)), log_context(request_id=scope[REQUEST_ID]):
            await self._app(scope, self._limited(scope, headers, receive), send_with_headers)

    def _find_refusal(self, scope: Scope, headers: Headers) -> Refusal | None:
        if not self._names.allow_host(headers):
            return Refusal("forbidden", "This Host is not allowed. Add it to KB_ALLOWED_HOSTS if it is yours.")
        is_api = scope["path"].startswith(API_PREFIX)
        # A link on another page may open the engine's page: then there is no Origin, and the path is not of the API.
        if is_api or "origin" in headers:
            own_origin = origin_of_own_pages(scope.get("scheme", "http"), headers)
            if not self._names.allow_sender(headers, own_origin=own_origin):
                return Refusal("forbidden", FOREIGN_PAGE)
        if is_api and not self._keys.is_open:
            refusal = self._check_key(scope, headers)
            if refusal is not None:
                return refusal
        return self._check_size(scope, headers)

    def _check_key(self, scope: Scope, headers: Headers) -> Refusal | None:
        key = bearer_key(headers.getlist("authorization"))
        if not key:
            return Refusal("unauthorized", "Send the engine's key: Authorization: Bearer <KB_API_KEY>.")
        known = self._keys.recognise(key)
        if known is None:
            return Refusal("unauthorized", "This key is not the engine's KB_API_KEY.")
        if known.can_write or scope["method"] in READING_METHODS or scope["path"] in READING_POSTS:
            return None
        # Told to programs too: the other refusals have the same code, and are mended elsewhere.
        return Refusal("forbidden", "This key can only read.", {"access": "read"})

    def _caller(self, scope: Scope, headers: Headers) -> Caller:
        """Of a request that was let in."""
        known = self._keys.recognise(bearer_key(headers.getlist("authorization")))
        if known is None:
            return Caller(NO_KEY, scope[REQUEST_ID])
        return Caller(_name_of(known), scope[REQUEST_ID], can_write=known.can_write)

    def _check_size(self, scope: Scope, headers: Headers) -> Refusal | None:
        length = headers.get("content-length", "0")
        if LENGTH.fullmatch(length) and int(length) <= self._max_bytes(scope, headers):
            return None
        if is_upload(scope, headers):
            too_large = FileTooLarge(self._max_file_bytes)
            return Refusal(too_large.code, too_large.message, too_large.details)
        return Refusal("payload_too_large", f"The largest accepted body is {MAX_JSON_BYTES} bytes.")

    def _max_bytes(self, scope: Scope, headers: Headers) -> float:
        if is_bundle(scope, headers):
            return math.inf
        return self._max_file_bytes + MAX_FORM_BYTES if is_upload(scope, headers) else MAX_JSON_BYTES

    def _limited(self, scope: Scope, headers: Headers, receive: Receive) -> Receive:
        """The body, cut off with 413 where it grows beyond what its length promised or never told."""
        left = self._max_bytes(scope, headers)

        async def receive_limited() -> Message:
            nonlocal left
            message = await receive()
            if HAS_ANSWER in scope:
                # Who still receives only wants to know when the client goes.
                return message
            left -= len(message.get("body", b""))
            if left < 0 and is_upload(scope, headers):
                raise FileTooLarge(self._max_file_bytes)
            if left < 0:
                # The framework reads a body of JSON by itself, and lets only errors of its own kind through.
                raise HTTPException(413, f"The largest accepted body is {MAX_JSON_BYTES} bytes.")
            return message

        return receive_limited


def _name_of(key: KnownKey) -> str:
    """A key that is on its way out is told apart, so that the audit shows who still uses it."""
    name = WRITING_KEY_NAME if key.can_write else READING_KEY_NAME
    return name if key.number == 1 else f"{name} #{key.number}"


def _choose_request_id(given: str | None) -> str:
    return given if given is not None and USABLE_REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def is_upload(scope: Scope, headers: Headers) -> bool:
    return (scope["path"], media_type_of(headers)) == UPLOAD


def is_bundle(scope: Scope, headers: Headers) -> bool:
    return (scope["path"], media_type_of(headers)) == BUNDLE


def media_type_of(headers: Headers) -> str:
    """The Content-Type without its parameters, in lower case."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()
