"""Waiting for an engine that cannot answer now."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import httpx

from kb.cli.render.problems import ENGINE_IS_AWAY, QUEUE_IS_FULL
from kb.client import EngineClient

Answer = TypeVar("Answer")

# An engine that is started anew is there again within seconds, unless it brings its data up to date first.
COME_BACK_WITHIN_SECONDS = 60.0
LOOK_AGAIN_AFTER_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0


class Patience:
    """Makes calls again that the engine could not answer now, and says once what is waited for.

    A full queue is waited for as long as it takes; an engine that is away, being started anew, for a minute.
    The same call may reach the engine twice.
    """

    def __init__(self, engine: EngineClient, tell: Callable[[str], None]) -> None:
        self._engine = engine
        self._tell = tell
        self._told: set[str] = set()

    async def call(self, request: Callable[[], Awaitable[Answer]]) -> Answer:
        away_since: float | None = None
        while True:
            began_at = time.monotonic()
            try:
                if away_since is not None:
                    # Another engine may have taken its place.
                    await self._engine.require_supported_engine()
                return await request()
            except httpx.HTTPStatusError as error:
                is_full = error.response.status_code == httpx.codes.TOO_MANY_REQUESTS
                if not is_full and error.response.status_code != httpx.codes.SERVICE_UNAVAILABLE:
                    raise
                if not is_full and _is_too_long(away_since or began_at):
                    raise
                pause = _pause_wanted(error.response)
            except httpx.TransportError:
                is_full, pause = False, LOOK_AGAIN_AFTER_SECONDS
                if _is_too_long(away_since or began_at):
                    raise
            if not is_full:
                away_since = away_since or began_at
            self._tell_once(QUEUE_IS_FULL if is_full else ENGINE_IS_AWAY)
            await asyncio.sleep(pause)

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._tell(sentence)


def _is_too_long(away_since: float) -> bool:
    return time.monotonic() - away_since > COME_BACK_WITHIN_SECONDS


def _pause_wanted(response: httpx.Response) -> float:
    try:
        wanted = float(response.headers["Retry-After"])
    except (KeyError, ValueError):
        return LOOK_AGAIN_AFTER_SECONDS
    return wanted if 0 <= wanted <= LONGEST_PAUSE_SECONDS else LONGEST_PAUSE_SECONDS
