"""The same messages over a WebSocket: each frame of text is one. Many requests may be under way at once."""

import uuid
from contextlib import closing

import anyio
import anyio.lowlevel
from mcp.types import JSONRPCNotification, JSONRPCRequest
from pydantic_core import to_json
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from kb.client import Json
from kb.mcp.announcements import Announcements
from kb.mcp.errors import SERVER_ERROR, error_message
from kb.mcp.exchange import DEFAULT_VERSION, Exchange, Malformed, SilentRequest, parse_message
from kb.mcp.guard import offered_protocols
from kb.serving.held_bodies import Bodies, Body, NoRoom, TooManyValues

PROTOCOL = "mcp"
# Of one connection. More than any agent has; a client that never waits for answers cannot pile up work.
MOST_UNDER_WAY = 128
# The most requests on all connections together. The engine answers them, and those of HTTP clients, one after another.
MOST_UNDER_WAY_TOGETHER = 512


class WebSocketEndpoint:
    def __init__(self, exchange: Exchange, announcements: Announcements, bodies: Bodies) -> None:
        self._exchange = exchange
        self._announcements = announcements
        self._bodies = bodies
        self._conversations: set[_Conversation] = set()

    async def serve(self, websocket: WebSocket) -> None:
        # A browser hangs up unless one of the protocols it offered is taken; the key must not be that one.
        chosen = PROTOCOL if PROTOCOL in offered_protocols(websocket.headers) else None
        await websocket.accept(subprotocol=chosen)
        with closing(_Conversation(websocket, self._exchange, self._bodies, self._conversations)) as conversation:
            await self._converse(conversation)

    async def _converse(self, conversation: "_Conversation") -> None:
        async with anyio.create_task_group() as group:
            with self._announcements.open_stream() as announced:

                async def announce() -> None:
                    async for message in announced:
                        await conversation.send(message)

                group.start_soon(announce)
                try:
                    await conversation.listen(group)
                except WebSocketDisconnect:
                    group.cancel_scope.cancel()


class _Conversation:
    def __init__(
        self, websocket: WebSocket, exchange: Exchange, bodies: Bodies, conversations: "set[_Conversation]"
    ) -> None:
        self._conversations = conversations
        self._conversations.add(self)
        self._websocket = websocket
        self._exchange = exchange
        self._bodies = bodies
        self._session = uuid.uuid4().hex
        self._version = DEFAULT_VERSION
        self._under_way = 0
        self._held: set[Body] = set()

    async def send(self, message: Json) -> None:
        await self._send(to_json(message).decode())

    async def _send(self, text: str) -> None:
        try:
            await self._websocket.send_text(text)
        except (WebSocketDisconnect, RuntimeError):
            # The client is gone. `listen` notices it too, and ends the requests under way.
            return

    async def listen(self, group: anyio.abc.TaskGroup) -> None:
        while True:
            frame = await self._websocket.receive()
            if frame["type"] == "websocket.disconnect":
                raise WebSocketDisconnect(frame.get("code", 1000))
            body = self._bodies.open()
            self._held.add(body)
            try:
                message = await _read(frame, body)
                if isinstance(message, JSONRPCNotification):
                    self._exchange.cancel(self._session, message)
                elif isinstance(message, JSONRPCRequest):
                    self._begin(message, body, group)
                    # Let the answer start: if the client does not take it, nothing more is read from the client.
                    await anyio.lowlevel.checkpoint()
                    continue
            except Malformed as malformed:
                await self.send(malformed.answer)
            self._let_go(body)

    def _begin(self, request: JSONRPCRequest, body: Body, group: anyio.abc.TaskGroup) -> None:
        if self._under_way >= MOST_UNDER_WAY:
            told = f"There are {MOST_UNDER_WAY} requests under way on this connection. Wait for some of them."
            raise Malformed(error_message(request.id, SERVER_ERROR, told, "too_many_requests"))
        if sum(one._under_way for one in self._conversations) >= MOST_UNDER_WAY_TOGETHER:
            message = "There are too many requests under way on all connections. Try again shortly."
            raise Malformed(error_message(request.id, SERVER_ERROR, message, "too_many_requests"))
        self._under_way += 1
        group.start_soon(self._answer, request, body)

    async def _answer(self, request: JSONRPCRequest, body: Body) -> None:
        try:
            answer = await self._render_answer(request)
            if answer is not None:
                await self._send(answer)
        finally:
            # Only now: answers that nobody reads count too.
            self._under_way -= 1
            self._let_go(body)

    async def _render_answer(self, request: JSONRPCRequest) -> str | None:
        """The answer as text: while it waits to be sent, it takes a quarter of the memory of the parsed answer."""
        is_silent = isinstance(request, SilentRequest)
        answer = await self._exchange.answer(
            request,
            self._websocket,
            session=None if is_silent else self._session,
            version=self._version,
            notify=self.send,
        )
        if answer is not None and request.method == "initialize" and "result" in answer:
            self._version = answer["result"]["protocolVersion"]
        return None if answer is None or is_silent else to_json(answer).decode()

    def _let_go(self, body: Body) -> None:
        self._held.remove(body)
        body.close()

    def close(self) -> None:
        """Of what was cancelled before it began."""
        self._conversations.discard(self)
        for body in [*self._held]:
            self._let_go(body)


async def _read(frame: Message, body: Body) -> JSONRPCRequest | JSONRPCNotification | None:
    """Raises `Malformed` for what is too much, too."""
    text = frame.get("bytes") or (frame.get("text") or "").encode()
    try:
        await body.add(text, is_last=True)
    except TooManyValues as error:
        raise Malformed(error_message(None, SERVER_ERROR, str(error), "payload_too_large")) from error
    except NoRoom as error:
        raise Malformed(error_message(None, SERVER_ERROR, str(error), "unavailable")) from error
    try:
        return parse_message(text)
    finally:
        body.end_turn()
