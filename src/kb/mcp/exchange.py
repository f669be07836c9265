"""One message in, at most one message out: what the transports share.

A session is a name and nothing else. The server keeps nothing under it, so a session cannot be lost: a client
that goes on after the server was restarted, or that never opened one, is answered like any other. The name
tells whose requests to cancel: `notifications/cancelled` names one by a number that is unique only within its session,
and the end of a session ends all of them.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import anyio
from mcp.server.connection import Connection
from mcp.server.runner import serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.inbound import InboundLadderRejection, classify_inbound_request
from mcp.shared.jsonrpc_dispatcher import cancelled_request_id_from_params, progress_token_from_params
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp.types import INVALID_REQUEST, PARSE_ERROR, JSONRPCNotification, JSONRPCRequest, RequestId
from mcp.types import PROTOCOL_VERSION_META_KEY as VERSION_KEY
from pydantic import ValidationError
from pydantic_core import from_json
from starlette.requests import HTTPConnection

from kb.client import Json
from kb.mcp.errors import error_data, error_message
from kb.mcp.server import CANCEL_TASK, KnowledgeServer

# The first revision in which a tool's answer is more than text; what names no revision speaks this one.
DEFAULT_VERSION = "2025-06-18"

Notify: TypeAlias = Callable[[Json], Awaitable[None]]
Message: TypeAlias = JSONRPCRequest | JSONRPCNotification


class SilentRequest(JSONRPCRequest):
    """A task's cancellation without an id: it is done, and nobody waits for an answer."""


class Malformed(Exception):
    """Not a message of the protocol; `answer` is what its sender gets."""

    def __init__(self, answer: Json) -> None:
        super().__init__("malformed message")
        self.answer = answer


def parse_message(text: bytes | str) -> Message | None:
    """A request or a notification; None is an answer to a question that this server never asks. Raises `Malformed`."""
    try:
        body = from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise Malformed(error_message(None, PARSE_ERROR, "This is not JSON.")) from error
    if isinstance(body, list):
        raise Malformed(error_message(None, INVALID_REQUEST, "Send one message at a time: batches are not allowed."))
    if not isinstance(body, dict):
        raise Malformed(error_message(None, INVALID_REQUEST, "A message is a JSON object."))
    if "method" not in body and ("result" in body or "error" in body):
        return None
    try:
        if "id" in body:
            return JSONRPCRequest.model_validate(body)
        if body.get("method") == CANCEL_TASK:
            return SilentRequest.model_validate({**body, "id": 0})
        return JSONRPCNotification.model_validate(body)
    except ValidationError as error:
        wrong = ", ".join(sorted({str(fault["loc"][0]) for fault in error.errors(include_input=False)}))
        request_id = body.get("id") if isinstance(body.get("id"), str | int) else None
        told = f"This is not a JSON-RPC 2.0 message; look at: {wrong}."
        raise Malformed(error_message(request_id, INVALID_REQUEST, told)) from error


def is_modern(params: Mapping[str, Any] | None) -> bool:
    """Whether the request speaks of its protocol by itself, as from 2026-07-28 on."""
    return VERSION_KEY in _meta_of(params)


def without_progress(request: JSONRPCRequest) -> JSONRPCRequest:
    """For a client that cannot be told of any: no tool may take its time because somebody seems to listen."""
    meta = _meta_of(request.params)
    if request.params is None or "progressToken" not in meta:
        return request
    others = {name: value for name, value in meta.items() if name != "progressToken"}
    return request.model_copy(update={"params": {**request.params, "_meta": others}})


def _meta_of(params: Mapping[str, Any] | None) -> Mapping[str, Any]:
    meta = (params or {}).get("_meta")
    return meta if isinstance(meta, dict) else {}


class Exchange:
    """Answers requests, and knows which of them are under way so that they can be cancelled."""

    def __init__(self, server: KnowledgeServer) -> None:
        self._server = server
        self._under_way: dict[tuple[str, RequestId], anyio.CancelScope] = {}

    async def answer(
        self,
        request: JSONRPCRequest,
        http: HTTPConnection,
        *,
        session: str | None,
        version: str = DEFAULT_VERSION,
        notify: Notify | None = None,
    ) -> Json | None:
        """The answer to a request: a result or an error, never an exception; None if it was cancelled.

        `notify` gets what comes before it.
        """
        with anyio.CancelScope() as scope:
            if session is not None:
                self._under_way[session, request.id] = scope
            try:
                return await self._serve(request, http, version, notify)
            finally:
                # A client may give two requests one id; the second is then the one that can be cancelled.
                if session is not None and self._under_way.get((session, request.id)) is scope:
                    del self._under_way[session, request.id]
        return None

    def cancel(self, session: str, notification: JSONRPCNotification) -> None:
        """Cancel what a `notifications/cancelled` names; every other notification says nothing that we need."""
        named = cancelled_request_id_from_params(notification.params)
        if notification.method == "notifications/cancelled" and named is not None:
            scope = self._under_way.get((session, named))
            if scope is not None:
                scope.cancel()

    def cancel_all(self, session: str) -> None:
        for (owner, _), scope in [*self._under_way.items()]:
            if owner == session:
                scope.cancel()

    async def _serve(self, request: JSONRPCRequest, http: HTTPConnection, version: str, notify: Notify | None) -> Json:
        connection = Connection.from_envelope(version, None, None)
        if is_modern(request.params):
            route = classify_inbound_request({"method": request.method, "params": request.params})
            if isinstance(route, InboundLadderRejection):
                return _error(request.id, route.code, route.message, route.data)
            connection = Connection.from_envelope(route.protocol_version, route.client_info, route.client_capabilities)
        token = progress_token_from_params(request.params) if notify else None
        context = _Dispatch(
            transport=TransportContext(kind="kb", can_send_request=False, headers=http.headers),
            request_id=request.id,
            message_metadata=ServerMessageMetadata(request_context=http),
            progress_token=token,
            send=notify,
        )
        params = (without_progress(request) if token is None else request).params
        try:
            result = await serve_one(
                self._server, context, request.method, params, connection=connection, lifespan_state=None
            )
        except MCPError as error:
            return _error(request.id, error.error.code, error.error.message, error.error.data)
        return {"jsonrpc": "2.0", "id": request.id, "result": result}


def _error(request_id: RequestId, code: int, message: str, data: object) -> Json:
    error = {"code": code, "message": message, "data": error_data(code, data)}
    return {"jsonrpc": "2.0", "id": request_id, "error": error}


@dataclass
class _Dispatch:
    """What the SDK asks of a transport: where notifications go. Questions to the client go nowhere."""

    transport: TransportContext
    request_id: RequestId
    message_metadata: MessageMetadata
    progress_token: str | int | None
    send: Notify | None
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    can_send_request: bool = False

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> Json:
        raise NoBackChannelError(method)

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:
        if self.send is not None:
            await self.send({"jsonrpc": "2.0", "method": method, "params": dict(params or {})})

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        if self.progress_token is None:
            return
        told = {"progressToken": self.progress_token, "progress": progress, "total": total, "message": message}
        given = {name: value for name, value in told.items() if value is not None}
        await self.notify("notifications/progress", given)
