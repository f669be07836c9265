"""The engine behind the server: whether it is one that we can speak with, and what it lets us do.

It may be replaced at any time, by an older one or by one with other keys, and need not be there at all.
"""

import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import httpx

from kb.client import EngineClient
from kb.mcp.errors import EngineTrouble, explain_engine_trouble

# Asking it at each call would double its requests.
TRUST_SECONDS = 5.0
# Keys change when somebody changes them; who has done so looks again after a moment.
LOOK_EVERY_SECONDS = 15.0


class WatchedEngine:
    def __init__(self, client: EngineClient, url: str) -> None:
        self.client = client
        self.url = url
        self.can_write = True
        """False while the engine lets us only read; true until it says so."""
        self._in_doubt = anyio.Event()
        self._trust_until = 0.0
        self._looking = anyio.Lock()
        self._trouble: Exception | None = None
        self._trouble_at = 0.0

    @asynccontextmanager
    async def asked(self) -> AsyncIterator[EngineClient]:
        """An engine that is recent enough. What goes wrong with it is raised as a `ToolError`."""
        try:
            await self._require_supported()
            yield self.client
        except EngineTrouble as error:
            if not isinstance(error, httpx.HTTPStatusError):
                self._trust_until = 0.0
            told = explain_engine_trouble(error, self.url)
            if self.can_write and told.details.get("access") == "read":
                self._in_doubt.set()
            raise told from error

    async def watch(self, on_change: Callable[[], Awaitable[None]], every_seconds: float) -> None:
        """Keep `can_write` true to what the engine says, and call `on_change` whenever it changes. Never ends.

        It looks at once when a call was refused. An engine that does not answer changes nothing.
        """
        while True:
            could_write = self.can_write
            with suppress(*EngineTrouble):
                # An engine that does not tell is one from before it could.
                self.can_write = (await self.client.get_status()).get("access") != "read"
            if self.can_write != could_write:
                await on_change()
            with anyio.move_on_after(every_seconds):
                await self._in_doubt.wait()
            self._in_doubt = anyio.Event()

    async def _require_supported(self) -> None:
        if time.monotonic() < self._trust_until:
            return
        # A thousand calls at once need one look, and if it fails it has failed for all that waited for it.
        came_at = time.monotonic()
        async with self._looking:
            if self._trouble is not None and self._trouble_at > came_at:
                raise self._trouble
            if time.monotonic() >= self._trust_until:
                await self._look()

    async def _look(self) -> None:
        try:
            await self.client.require_supported_engine()
        except EngineTrouble as error:
            self._trouble, self._trouble_at = error, time.monotonic()
            raise
        self._trust_until = time.monotonic() + TRUST_SECONDS
