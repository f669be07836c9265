"""Streamable HTTP: requests by POST, announcements by GET, the end of a session by DELETE.

Requests of the handshake protocols (2025-11-25 and earlier) are answered here, those of later ones by the SDK,
which alone knows their rules for headers. A request is answered as JSON; only one that asks for progress gets
a stream of events, if its sender can read one.
"""

import re
import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.types import JSONRPCNotification, JSONRPCRequest
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from pydantic_core import to_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from kb.client import Json
from kb.mcp.announcements import Announcements
from kb.mcp.caller import caller_of
from kb.mcp.errors import SERVER_ERROR, error_message
from kb.mcp.exchange import DEFAULT_VERSION, Exchange, Malformed, SilentRequest, parse_message, without_progress
from kb.mcp.refusals import refuse
from kb.mcp.sdk_errors import with_named_errors
from kb.mcp.server import KnowledgeServer
from kb.serving.held_bodies import Bodies, Body, NoRoom, TooManyValues

# A note of 1,000,000 characters, each escaped as a pair of surrogates (twelve bytes), is 12 MB.
MAX_BODY_BYTES = 16 * 1024 * 1024
# Held in memory for as long as its stream is open.
MAX_SUBSCRIPTION_BYTES = 64 * 1024
# Proxies close a connection on which nothing moves, most of them after a minute.
PING_SECONDS = 15.0
# Enough to tell the clients of a day that theirs has ended; forgetting one only means to answer it again.
ENDED_SESSIONS_KEPT = 10_000

SESSION_NAME = re.compile(r"[0-9a-f]{32}")
SESSION_HEADER = "mcp-session-id"
VERSION_HEADER = "mcp-protocol-version"
STREAM_HEADERS = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache, no-transform",
    "X-Accel-Buffering": "no",
}


class HttpEndpoint:
    """One address of the server, with the tools of one `KnowledgeServer`."""

    def __init__(
        self, server: KnowledgeServer, exchange: Exchange, announcements: Announcements, bodies: Bodies
    ) -> None:
        self._exchange = exchange
        self._announcements = announcements
        self._bodies = bodies
        self._ended: dict[str, None] = {}
        self._modern, self._modern_json = (
            StreamableHTTPSessionManager(
                server, json_response=only_json, stateless=True, max_request_body_size=MAX_BODY_BYTES
            )
            for only_json in (False, True)
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._modern.run(), self._modern_json.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        match request.method:
            case "POST":
                with closing(self._bodies.open()) as body:
                    await self._post(request, body, send)
            case "GET" if _accepts_events(request.headers, by_default=False):
                await self._announce(request, send)
            case "DELETE":
                await self._end_session(request)(scope, receive, send)
            case _:
                told = "Send messages by POST; GET is for a stream of events (Accept: text/event-stream)."
                allow = {"Allow": "GET, POST, DELETE"}
                await refuse(405, "method_not_allowed", told, headers=allow)(scope, receive, send)

    async def _post(self, request: Request, held: Body, send: Send) -> None:
        try:
            refusal, body = await _read_body(request, held)
        except ClientDisconnect:
            return
        if refusal is not None:
            await refusal(request.scope, request.receive, send)
            return
        try:
            message = parse_message(body)
        except Malformed as malformed:
            await _json_response(malformed.answer, status=400)(request.scope, request.receive, send)
            return
        finally:
            held.end_turn()
        version = request.headers.get(VERSION_HEADER, DEFAULT_VERSION)
        if isinstance(message, SilentRequest):
            await self._exchange.answer(message, request, session=None)
            await Response(status_code=202)(request.scope, request.receive, send)
        elif version not in HANDSHAKE_PROTOCOL_VERSIONS:
            await self._serve_modern(message, request, body, held, send)
        elif isinstance(message, JSONRPCRequest):
            await self._answer(message, request, version, send)
        else:
            if isinstance(message, JSONRPCNotification):
                self._exchange.cancel(_session_of(request, _named_session(request)), message)
            await Response(status_code=202)(request.scope, request.receive, send)

    async def _answer(self, message: JSONRPCRequest, request: Request, version: str, send: Send) -> None:
        name = _named_session(request)
        headers = {}
        if _is_initialize(message):
            name = uuid.uuid4().hex
            headers = {SESSION_HEADER: name}
        session = _session_of(request, name) if name else None
        if session in self._ended:
            told = "This session was ended. Open a new one with initialize, or leave its name out."
            await refuse(404, "session_not_found", told, request_id=message.id)(request.scope, request.receive, send)
            return
        wants_progress = not headers and progress_token_from_params(message.params) is not None
        if wants_progress and _accepts_events(request.headers, by_default=True):
            await self._answer_as_events(message, request, session, version, send)
            return
        answer = await self._exchange.answer(message, request, session=session, version=version)
        await _json_response(answer or _cancelled(message), headers=headers)(request.scope, request.receive, send)

    async def _answer_as_events(
        self, message: JSONRPCRequest, request: Request, session: str | None, version: str, send: Send
    ) -> None:
        sending, receiving = anyio.create_memory_object_stream[Json](1)

        async def run() -> None:
            async with sending:
                answer = await self._exchange.answer(
                    message, request, session=session, version=version, notify=sending.send
                )
                await sending.send(answer or _cancelled(message))

        async with receiving, anyio.create_task_group() as group:
            group.start_soon(run)
            await _send_events(receiving, send)

    async def _announce(self, request: Request, send: Send) -> None:
        with self._announcements.open_stream() as announced:
            async with _ending_with_client(request):
                await _send_events(announced, send)

    def _end_session(self, request: Request) -> Response:
        name = _named_session(request)
        if not name:
            return refuse(400, "session_not_found", "Name the session to end in the header Mcp-Session-Id.")
        session = _session_of(request, name)
        self._exchange.cancel_all(session)
        # Only what could be a name of ours: others may be of any length.
        if SESSION_NAME.fullmatch(name):
            self._ended[session] = None
        if len(self._ended) > ENDED_SESSIONS_KEPT:
            del self._ended[next(iter(self._ended))]
        return Response(status_code=204)

    async def _serve_modern(self, message: object, request: Request, body: bytes, held: Body, send: Send) -> None:
        is_stream = isinstance(message, JSONRPCRequest) and message.method == "subscriptions/listen"
        if is_stream and len(body) > MAX_SUBSCRIPTION_BYTES:
            told = f"A subscription may have at most {MAX_SUBSCRIPTION_BYTES} bytes."
            await refuse(413, "payload_too_large", told)(request.scope, request.receive, send)
            return
        if is_stream:
            # It may stay for ever, and is small enough not to count.
            held.close()
        wants_events = is_stream or _accepts_events(request.headers, by_default=True)
        if not wants_events and isinstance(message, JSONRPCRequest):
            silent = without_progress(message)
            body = body if silent is message else to_json(silent.model_dump(exclude_unset=True))
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def receive() -> Message:
            return unread.pop() if unread else await request.receive()

        # The SDK refuses a client that does not say that it can read both; we know what to send it.
        scope = {**request.scope, "headers": [*request.scope["headers"]]}
        MutableHeaders(scope=scope)["accept"] = "application/json, text/event-stream"
        if wants_events:
            await with_named_errors(self._modern.handle_request)(scope, receive, send)
            return
        # Who hangs up has cancelled the request; the SDK looks out for that only where it sends events.
        async with _ending_with_client(request):
            await with_named_errors(self._modern_json.handle_request)(scope, receive, send)


@asynccontextmanager
async def _ending_with_client(request: Request) -> AsyncIterator[None]:
    """The block ends at the latest when the client hangs up. What it sent must have been read before."""
    async with anyio.create_task_group() as group:

        async def watch_client() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass
            group.cancel_scope.cancel()

        group.start_soon(watch_client)
        yield
        group.cancel_scope.cancel()


def _cancelled(request: JSONRPCRequest) -> Json:
    """Nobody waits for it any more, but an HTTP request has to have an answer."""
    return error_message(request.id, SERVER_ERROR, "The request was cancelled.", "request_cancelled")


def _json_response(answer: Json, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(to_json(answer), status_code=status, headers=headers, media_type="application/json")


async def _read_body(request: Request, held: Body) -> tuple[Response | None, bytes]:
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        return refuse(415, "unsupported_media_type", "Send JSON, with Content-Type: application/json."), b""
    body = bytearray()
    try:
        async for part in request.stream():
            body += part
            await held.add(part, is_last=False)
            if len(body) > MAX_BODY_BYTES:
                told = f"A message may have at most {MAX_BODY_BYTES} bytes. Send a file in chunks (kb_upload_start)."
                return refuse(413, "payload_too_large", told, headers={"Connection": "close"}), b""
        await held.add(b"", is_last=True)
    except TooManyValues as error:
        return refuse(413, "payload_too_large", str(error), headers={"Connection": "close"}), b""
    except NoRoom as error:
        return refuse(503, "unavailable", str(error), headers={"Connection": "close", "Retry-After": "1"}), b""
    return None, bytes(body)


async def _send_events(events: MemoryObjectReceiveStream[Json], send: Send) -> None:
    raw = [(name.lower().encode(), value.encode()) for name, value in STREAM_HEADERS.items()]
    await send({"type": "http.response.start", "status": 200, "headers": raw})
    # The headers go out with the first part of the body; without one the client would wait for both.
    part = b": open\n\n"
    while True:
        await send({"type": "http.response.body", "body": part, "more_body": True})
        part = b": ping\n\n"
        with anyio.move_on_after(PING_SECONDS):
            try:
                part = b"event: message\ndata: " + to_json(await events.receive()) + b"\n\n"
            except anyio.EndOfStream:
                break
    await send({"type": "http.response.body", "body": b"", "more_body": False})


def _accepts_events(headers: Headers, *, by_default: bool) -> bool:
    accepted = headers.get("accept", "")
    if not accepted or "*/*" in accepted:
        return by_default
    return "text/event-stream" in accepted or "text/*" in accepted


def _named_session(request: Request) -> str:
    return request.headers.get(SESSION_HEADER, "")


def _session_of(request: Request, name: str) -> str:
    """Clients may choose the name. With a key that stands for another caller it is another session."""
    return f"{caller_of(request).name} {name}"


def _is_initialize(message: object) -> bool:
    return isinstance(message, JSONRPCRequest) and message.method == "initialize"
