"""One call of the engine by a command: settings in, an answer out, and every error an exit code.

An error ends the command: its sentence goes to stderr, and `typer.Exit` carries the code. No error of a
person, of the network or of the engine shows as a traceback, nor does Ctrl-C.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import httpx
import typer

from kb.cli.exits import Exit
from kb.cli.render.problems import (
    ENGINE_IS_AWAY,
    HOW_TO_UPDATE,
    QUEUE_IS_FULL,
    STOPPED,
    advise,
    engine_is_silent,
    engine_is_unreachable,
    not_an_engine,
)
from kb.cli.render.terminal import complain
from kb.client import EngineClient, EngineTooOld, NotAnEngine
from kb.settings import ClientSettings, SettingsError, load_client_settings, warnings

Answer = TypeVar("Answer")

EXIT_OF_STATUS = {
    400: Exit.REFUSED,
    401: Exit.NOT_AUTHORISED,
    403: Exit.NOT_AUTHORISED,
    404: Exit.NOT_FOUND,
    409: Exit.REFUSED,
    412: Exit.REFUSED,
    413: Exit.REFUSED,
    415: Exit.REFUSED,
    422: Exit.REFUSED,
}
# An engine that is started anew is there again within seconds, unless it brings its data up to date first.
COME_BACK_WITHIN_SECONDS = 60.0
LOOK_AGAIN_AFTER_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0


@dataclass(frozen=True)
class Failure:
    """Why something did not work, for a person, for a script and for this program."""

    sentence: str
    exit: Exit
    code: str | None = None


def call_engine(engine_url: str | None, work: Callable[[EngineClient], Awaitable[Answer]]) -> Answer:
    """What `work` returns, given a client of the engine. An engine that is too old is refused before."""
    try:
        settings = load_client_settings({"engine_url": engine_url})
        for warning in warnings():
            complain(warning)
    except SettingsError as error:
        raise end(Failure(str(error), Exit.FAILED)) from None
    try:
        return asyncio.run(_call(settings, work))
    except KeyboardInterrupt:
        complain(STOPPED)
        raise typer.Exit(Exit.INTERRUPTED) from None
    except (httpx.HTTPStatusError, httpx.TransportError, NotAnEngine, EngineTooOld) as error:
        raise end(_explain(error, settings.engine_url)) from None


async def _call(settings: ClientSettings, work: Callable[[EngineClient], Awaitable[Answer]]) -> Answer:
    async with EngineClient(settings.engine_url, settings.api_key.get_secret_value()) as engine:
        await engine.require_supported_engine()
        return await work(engine)


def _explain(error: Exception, url: str) -> Failure:
    match error:
        case httpx.HTTPStatusError():
            return failure_of(error.response)
        case EngineTooOld():
            return Failure(f"{error} {HOW_TO_UPDATE}", Exit.REFUSED)
        case NotAnEngine():
            return Failure(not_an_engine(url), Exit.UNREACHABLE)
        case httpx.ReadTimeout() | httpx.WriteTimeout():
            return Failure(engine_is_silent(url), Exit.UNREACHABLE)
        case _:
            return Failure(engine_is_unreachable(url), Exit.UNREACHABLE)


def failure_of(response: httpx.Response) -> Failure:
    """The problem that the engine told; if none was told, it was no engine that answered."""
    try:
        problem = response.json()
        detail, code = str(problem["detail"]), str(problem["code"])
    except (ValueError, LookupError, TypeError):
        return Failure(not_an_engine(str(response.url.join("/"))), Exit.UNREACHABLE)
    return Failure(f"{detail} {advise(code)}".strip(), EXIT_OF_STATUS.get(response.status_code, Exit.FAILED), code)


def end(failure: Failure) -> typer.Exit:
    """To be raised: `raise end(failure)`."""
    complain(failure.sentence)
    return typer.Exit(failure.exit)


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
