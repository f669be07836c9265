"""A connection of HTTP whose client has to keep up, among as many as the server can have.

uvicorn by itself waits for ever: for a head, for a body, and for a client to read its answer. Here each connection
is looked at once a second; what it waits for from its client has to come within limits. What the server does
itself may take as long as it likes, and a stream of events may be silent: then nothing is awaited.

When there are too many connections, the one that has been without work for the longest time gives way. Work is a
request that the application let in, until its answer is taken; so whoever has no key can only take the places of
others like it.
"""

import asyncio
import socket
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any, TypeAlias

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from kb.serving.patience import Awaited, Limits, Patience

# Linux would take up to 4 MB of an answer into its own memory, and not say for minutes that a slow client reads.
UNSENT_BYTES = 64 * 1024

# In the scope of a request: set by an application that knows its sender, or lets in everybody.
IS_ADMITTED = "kb.is_admitted"

RawHeaders: TypeAlias = Sequence[tuple[bytes, bytes]]
Render: TypeAlias = Callable[[HTTPStatus, str], tuple[RawHeaders, bytes]]
"""An answer that no application gave: its headers and its body, from its status and a sentence."""

TOLD = {
    HTTPStatus.BAD_REQUEST: "This is not a valid HTTP request.",
    HTTPStatus.REQUEST_TIMEOUT: "The request did not arrive in time. Send it again, without pauses.",
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE: "The headers of the request are too long.",
    HTTPStatus.NOT_IMPLEMENTED: "This Transfer-Encoding is not known here; chunked is.",
    HTTPStatus.SERVICE_UNAVAILABLE: "There are too many connections. Try again shortly.",
}


class ServerConfig(uvicorn.Config):
    """What uvicorn has no place for: its protocols are handed nothing but their configuration."""

    def __init__(self, app: Any, *, limits: Limits, render: Render, **uvicorn_options: Any) -> None:
        super().__init__(app, **uvicorn_options)
        self.limits = limits
        self.render = render


class Attended(asyncio.Protocol):
    """Put before a protocol of uvicorn's: it is looked at while it is connected, and ended when patience is over."""

    config: Any
    loop: asyncio.AbstractEventLoop
    transport: asyncio.Transport
    scope: Any = None
    patience: Patience
    idle_since: float
    has_given_way = False
    """It is on its way out, and no longer counted."""
    is_writing_paused = False
    _unsent_bytes = 0
    _next_look: asyncio.TimerHandle | None = None

    @property
    def is_under_way(self) -> bool:
        return not self.transport.is_closing()

    @property
    def is_at_work(self) -> bool:
        """For somebody who was let in; also while the end of the answer is still being taken."""
        is_admitted = self.scope is not None and IS_ADMITTED in self.scope
        return is_admitted and (self.is_under_way or self.transport.get_write_buffer_size() > 0)

    def awaited(self) -> Awaited:
        # It closes once all is taken.
        is_taking = self.is_writing_paused or self.transport.is_closing()
        return Awaited.TAKING if is_taking else Awaited.NOTHING

    def give_up(self, awaited: Awaited) -> None:
        # Closed in the usual way, it would stay until everything is sent.
        self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.patience = Patience(self.config.limits)
        self.idle_since = time.monotonic()
        _send_no_more_than_is_taken(self.transport)
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self.leave_alone()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        self.is_writing_paused = True
        self._note_taken()
        super().pause_writing()

    def resume_writing(self) -> None:
        self.is_writing_paused = False
        self._note_taken()
        super().resume_writing()

    def leave_alone(self) -> None:
        if self._next_look is not None:
            self._next_look.cancel()

    def _look_later(self) -> None:
        self._next_look = self.loop.call_later(self.config.limits.look_every_seconds, self._look)

    def _look(self) -> None:
        # First: giving up may end the connection at once.
        self._look_later()
        self._note_taken()
        awaited = self.awaited()
        if self.patience.is_over(awaited):
            self.give_up(awaited)

    def _note_taken(self) -> None:
        """Since the last time. What is written in between hides as much; at least as it begins to pile up we look."""
        before, self._unsent_bytes = self._unsent_bytes, self.transport.get_write_buffer_size()
        if self._unsent_bytes < before:
            self.patience.note_progress(before - self._unsent_bytes)


class StrictParser(h11.Connection):
    """Refuses a request with both Content-Length and Transfer-Encoding: a proxy may use the other one of the two, and
    then see another end of the request.

    h11 itself refuses several lengths that differ; with chunks it ignores Content-Length (RFC 9112, 6.1).
    """

    def next_event(self) -> Any:  # Any: an event, or a class of h11 that means that there is none
        event = super().next_event()
        names = {name for name, _ in event.headers} if isinstance(event, h11.Request) else set()
        if {b"content-length", b"transfer-encoding"} <= names:
            raise h11.RemoteProtocolError("both Content-Length and Transfer-Encoding")
        return event


class HttpConnection(Attended, H11Protocol):
    config: ServerConfig

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.conn = StrictParser(h11.SERVER)

    @property
    def is_under_way(self) -> bool:
        is_answered = self.cycle is None or self.cycle.response_complete
        return super().is_under_way and not is_answered

    def awaited(self) -> Awaited:
        state = super().awaited()
        if state is not Awaited.NOTHING:
            return state
        if self.conn.their_state is h11.IDLE:
            # Between two requests uvicorn's own limit holds, which is longer.
            return Awaited.HEAD if self.cycle is None or self._has_begun_a_head else Awaited.NOTHING
        if self.conn.their_state is not h11.SEND_BODY:
            return Awaited.NOTHING
        if self.cycle.response_complete:
            return Awaited.REST_OF_BODY
        is_ours_to_go_on = self.flow.read_paused or self.cycle.waiting_for_100_continue
        return Awaited.NOTHING if is_ours_to_go_on else Awaited.BODY

    def give_up(self, awaited: Awaited) -> None:
        if awaited is Awaited.BODY or (awaited is Awaited.HEAD and self._has_begun_a_head):
            self._refuse(HTTPStatus.REQUEST_TIMEOUT)
        elif awaited in (Awaited.HEAD, Awaited.REST_OF_BODY):
            self.transport.close()
        else:
            super().give_up(awaited)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        if len(self.connections) > self.config.limits.connections:
            self._make_room()

    def data_received(self, data: bytes) -> None:
        # Who sends and sends, but does not read, does not go on.
        if not self.is_writing_paused:
            self.patience.note_progress(len(data))
        super().data_received(data)
        if self.timeout_keep_alive_task is None and self.conn.their_state is h11.IDLE and not self._has_begun_a_head:
            # The rest of a body that was answered already has come. uvicorn takes it for the beginning of a request.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )

    def on_response_complete(self) -> None:
        self.idle_since = time.monotonic()
        super().on_response_complete()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        self.leave_alone()
        super().handle_websocket_upgrade(event)

    def send_400_response(self, msg: str) -> None:
        """Of what h11 has just refused to parse."""
        hint = getattr(sys.exception(), "error_status_hint", None)
        self._refuse(HTTPStatus(hint) if hint in TOLD else HTTPStatus.BAD_REQUEST)

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing: anybody could fill the log with it."""

    @property
    def _has_begun_a_head(self) -> bool:
        return self.conn.their_state is h11.IDLE and bool(self.conn.trailing_data[0])

    def _make_room(self) -> None:
        attended: list[Attended] = [one for one in self.connections if isinstance(one, Attended)]
        others = [one for one in attended if one is not self and not one.has_given_way]
        if len(others) < self.config.limits.connections:
            return
        idle = [one for one in others if not one.is_at_work]
        if idle:
            first = min(idle, key=lambda one: (not one.transport.is_closing(), one.idle_since))
            first.has_given_way = True
            first.transport.abort()
        else:
            self.has_given_way = True
            self._refuse(HTTPStatus.SERVICE_UNAVAILABLE)

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer in place of the application, if it has not begun to, and hang up."""
        if self.cycle is not None and not self.cycle.response_complete:
            # It learns that the client has gone, and what it says from now on is dropped.
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        headers, body = self.config.render(status, TOLD[status])
        # What has begun already, or may have no body, cannot be answered like this, only cut off.
        with suppress(h11.LocalProtocolError):
            all_headers = [*headers, (b"connection", b"close")]
            begin = h11.Response(status_code=status, headers=all_headers, reason=status.phrase.encode())
            for event in (begin, h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()


def _send_no_more_than_is_taken(transport: asyncio.Transport) -> None:
    if sys.platform == "linux":
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, UNSENT_BYTES)
