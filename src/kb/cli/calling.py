"""One call of the engine by a command: settings in, an answer out, and every error an exit code.

An error ends the command: its sentence goes to stderr, and `typer.Exit` carries the code. No error of a
person, of the network or of the engine shows as a traceback, nor does Ctrl-C.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

import httpx

from kb.cli.ending import end_with
from kb.cli.exits import Exit
from kb.cli.render.problems import (
    HOW_TO_UPDATE,
    STOPPED,
    advise,
    engine_is_silent,
    engine_is_unreachable,
    not_an_engine,
)
from kb.cli.unknown_names import warn_once
from kb.client import EngineClient, EngineTooOld, NotAnEngine
from kb.settings import ClientSettings, SettingsError, load_client_settings, present_key

Answer = TypeVar("Answer")

called_engine: ContextVar[str | None] = ContextVar("called_engine", default=None)
"""The URL of the engine that this command has called; None before the first call."""

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
        warn_once()
    except SettingsError as error:
        end_with(str(error), Exit.FAILED)
    called_engine.set(settings.engine_url)
    try:
        return asyncio.run(_call(settings, work))
    except KeyboardInterrupt:
        end_with(STOPPED, Exit.INTERRUPTED)
    except (httpx.HTTPStatusError, httpx.RequestError, NotAnEngine, EngineTooOld) as error:
        failure = _explain(error, settings.engine_url)
        end_with(failure.sentence, failure.exit)


async def _call(settings: ClientSettings, work: Callable[[EngineClient], Awaitable[Answer]]) -> Answer:
    async with EngineClient(settings.engine_url, present_key(settings.api_key)) as engine:
        await engine.require_supported_engine()
        return await work(engine)


def _explain(error: Exception, url: str) -> Failure:
    match error:
        case httpx.HTTPStatusError():
            return failure_of(error.response)
        case EngineTooOld():
            return Failure(f"{error} {HOW_TO_UPDATE}", Exit.REFUSED)
        case NotAnEngine() | httpx.DecodingError():
            return Failure(not_an_engine(url), Exit.UNREACHABLE)
        case httpx.ReadTimeout() | httpx.WriteTimeout():
            return Failure(engine_is_silent(url), Exit.UNREACHABLE)
        case _:
            return Failure(engine_is_unreachable(url), Exit.UNREACHABLE)


def failure_of(response: httpx.Response) -> Failure:
    """The problem that the engine told; if none was told, it was no engine that answered."""
    try:
        problem = response.json()
        # Where in the request it stood says nothing to somebody who typed `kb get abc`.
        detail, code = str(problem["detail"]).removeprefix("path.id: "), str(problem["code"])
    except (ValueError, LookupError, TypeError, RecursionError):
        return Failure(not_an_engine(str(response.url.join("/"))), Exit.UNREACHABLE)
    return Failure(f"{detail} {advise(code)}".strip(), EXIT_OF_STATUS.get(response.status_code, Exit.FAILED), code)
