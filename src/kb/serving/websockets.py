"""A WebSocket whose client has to keep up. Only for programs that have the library."""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from kb.serving.connections import Attended
from kb.serving.held_bodies import MAX_HELD_BYTES

# A message of no more is always taken.
SMALL_BYTES = 64 * 1024


class WebSocketConnection(Attended, WebSocketsSansIOProtocol):
    """Whether the client is still there uvicorn finds out by pings, and then closes; here that comes to an end.

    Messages that are not whole yet are bounded, too: all of them together.
    """

    arriving_bytes = 0

    def data_received(self, data: bytes) -> None:
        self.arriving_bytes += len(data)
        super().data_received(data)
        if self.arriving_bytes > SMALL_BYTES and self._all_arriving_bytes() > MAX_HELD_BYTES:
            self.transport.abort()

    def send_receive_event_to_app(self) -> None:
        self.arriving_bytes = 0
        super().send_receive_event_to_app()

    def _all_arriving_bytes(self) -> int:
        return sum(one.arriving_bytes for one in self.connections if isinstance(one, WebSocketConnection))
