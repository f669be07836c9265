"""Who may come in, over HTTP and WebSocket alike: checked before any route sees the request."""

import base64
import binascii

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from kb.access import SECURITY_HEADERS, Access, AllowedNames, KeyRing, bearer_key
from kb.mcp.caller import Caller, note_caller
from kb.mcp.refusals import refuse
from kb.serving import IS_ADMITTED
from kb.version import VERSION

HEALTH_PATH = "/health"
ANSWER_HEADERS = {"Server": f"kb-mcp/{VERSION}", **SECURITY_HEADERS}
FOREIGN_PAGE = (
    "Web pages may not call this server. If the page is yours, add its origin, such as https://chat.example:8443, to "
    "KB_MCP_ALLOWED_ORIGINS."
)
# How a web page sends the key, which cannot set headers on a WebSocket: among the protocols it offers.
KEY_PROTOCOL = "bearer."


class Guard:
    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._keys = KeyRing(access)
        self._names = AllowedNames(access)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # White space around a header's value is no part of it (RFC 9110, 5.5), but uvicorn's parser leaves it there.
        scope["headers"] = [(name, value.strip(b" \t")) for name, value in scope["headers"]]

        async def send_with_headers(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                answer = MutableHeaders(scope=message)
                for name, value in ANSWER_HEADERS.items():
                    answer.setdefault(name, value)
            await send(message)

        admitted = self._admit(HTTPConnection(scope))
        if isinstance(admitted, Caller):
            note_caller(scope, admitted)
            if scope["path"] != HEALTH_PATH:
                scope[IS_ADMITTED] = True
            await self._app(scope, receive, send_with_headers)
        else:
            # Starlette answers a WebSocket that is not accepted yet in the words of HTTP.
            await admitted(scope, receive, send_with_headers)

    def _admit(self, connection: HTTPConnection) -> Caller | Response:
        headers = connection.headers
        if not self._names.allow_host(headers):
            return refuse(
                421, "host_not_allowed", "This Host is not allowed. Add it to KB_MCP_ALLOWED_HOSTS if it is yours."
            )
        # The server has no pages.
        if not self._names.allow_sender(headers, own_origin=None):
            return refuse(403, "origin_not_allowed", FOREIGN_PAGE)
        if self._keys.is_open:
            return Caller("anyone", can_write=True)
        if connection.scope["path"] == HEALTH_PATH:
            return Caller("nobody", can_write=False)
        return self._recognise(_presented_keys(connection))

    def _recognise(self, presented: list[str]) -> Caller | Response:
        challenge = {"WWW-Authenticate": 'Bearer realm="kb"'}
        if not presented:
            told = "Send the server's key: Authorization: Bearer <KB_MCP_API_KEY>."
            return refuse(401, "unauthorized", told, headers=challenge)
        for key in presented:
            known = self._keys.recognise(key)
            if known is not None:
                return Caller("writer" if known.can_write else "reader", known.can_write)
        challenge = {"WWW-Authenticate": 'Bearer realm="kb", error="invalid_token"'}
        return refuse(401, "unauthorized", "This key is not the server's KB_MCP_API_KEY.", headers=challenge)


def _presented_keys(connection: HTTPConnection) -> list[str]:
    """The one key of a header; of a WebSocket without one, whatever its protocols may mean as a key."""
    given = connection.headers.getlist("authorization")
    if given or connection.scope["type"] != "websocket":
        key = bearer_key(given)
        return [key] if key else []
    offered = [name for name in offered_protocols(connection.headers) if name.lower().startswith(KEY_PROTOCOL)]
    return [key for name in offered for key in _readings(name[len(KEY_PROTOCOL) :])]


def offered_protocols(headers: Headers) -> list[str]:
    return [name.strip() for name in ",".join(headers.getlist("sec-websocket-protocol")).split(",") if name.strip()]


def _readings(text: str) -> list[str]:
    """A key may hold characters that no protocol's name can; then it is sent in base64url."""
    try:
        return [text, base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")]
    except (binascii.Error, ValueError):
        return [text]
