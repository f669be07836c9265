"""A WebSocket whose client has to keep up. Only for programs that have the library."""

import sys
import time
from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from kb.serving.connections import Attended
from kb.serving.held_bodies import MAX_HELD_BYTES

# A message of no more is always taken.
SMALL_BYTES = 64 * 1024
# The most bytes of unsent messages: one of 100 kB for each of 1,000 connections, and some more.
MAX_UNSENT_BYTES = 128 * 1024 * 1024


class WebSocketConnection(Attended, WebSocketsSansIOProtocol):
    """Whether the client is still there uvicorn finds out by pings, and then closes; here that comes to an end.

    While a client does not take its messages, nothing more is read from it. Messages that have not arrived completely
    are bounded, and so are all messages together that wait to be sent.
    """

    arriving_bytes = 0
    waiting_bytes = 0
    paused_since = 0.0

    def data_received(self, data: bytes) -> None:
        self.arriving_bytes += len(data)
        super().data_received(data)
        if self.arriving_bytes > SMALL_BYTES and self._all_arriving_bytes() > MAX_HELD_BYTES:
            self.transport.abort()

    def send_receive_event_to_app(self) -> None:
        self.arriving_bytes = 0
        super().send_receive_event_to_app()

    def pause_writing(self) -> None:
        self.paused_since = time.monotonic()
        super().pause_writing()
        # Each ping that is read is answered, so reading stops too.
        self.transport.pause_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.read_paused:
            self.transport.resume_reading()

    def shutdown(self) -> None:
        super().shutdown()
        if self.is_writing_paused:
            # A client that does not take its messages must not keep the server from stopping.
            self.transport.abort()

    async def receive(self) -> Any:
        await self.writable.wait()
        if self.disconnected and self.is_writing_paused:
            # The client has gone without taking its answers, so its further requests are not answered either.
            return {"type": "websocket.disconnect", "code": 1006}
        return await super().receive()

    async def send(self, message: Any) -> None:
        size = sys.getsizeof(message.get("text"))
        self.waiting_bytes += size
        try:
            if self.is_writing_paused:
                self._make_room_for_unsent()
            await super().send(message)
        finally:
            self.waiting_bytes -= size

    def _make_room_for_unsent(self) -> None:
        """End the connection that has been behind for the longest time, if too many bytes are unsent."""
        websockets = [one for one in self.connections if isinstance(one, WebSocketConnection) and one.is_under_way]
        behind = [one for one in websockets if one.is_writing_paused]
        if sum(one.waiting_bytes + one.transport.get_write_buffer_size() for one in behind) > MAX_UNSENT_BYTES:
            min(behind, key=lambda one: one.paused_since).transport.abort()

    def _all_arriving_bytes(self) -> int:
        return sum(one.arriving_bytes for one in self.connections if isinstance(one, WebSocketConnection))
