"""What the server says unasked: that its list of tools has changed. Each transport has its own way to hear it.

It changes when the engine begins or ceases to let the server write. The list itself is not in the announcement:
whoever hears it asks anew.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ServerEvent, ToolsListChanged

from kb.client import Json

# A list that changed twice while nobody read is a list that changed.
HELD_BACK = 1


class Announcements:
    """Clients of the newest protocol listen through `listen`, all others through a stream of their own."""

    def __init__(self) -> None:
        self._bus = InMemorySubscriptionBus()
        self._streams: set[MemoryObjectSendStream[Json]] = set()
        self.listen = ListenHandler(self._bus)

    async def tools_changed(self) -> None:
        await self._bus.publish(ToolsListChanged())

    @contextmanager
    def open_stream(self) -> Iterator[MemoryObjectReceiveStream[Json]]:
        """The announcements from now on; it ends when the server stops."""
        sending, receiving = anyio.create_memory_object_stream[Json](HELD_BACK)

        def deliver(event: ServerEvent) -> None:
            if not isinstance(event, ToolsListChanged) or sending not in self._streams:
                return
            if sending.statistics().current_buffer_used < HELD_BACK:
                sending.send_nowait({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})

        unsubscribe = self._bus.subscribe(deliver)
        self._streams.add(sending)
        try:
            with sending, receiving:
                yield receiving
        finally:
            unsubscribe()
            self._streams.discard(sending)

    def close(self) -> None:
        self.listen.close()
        while self._streams:
            self._streams.pop().close()
