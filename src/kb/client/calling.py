"""A call of the engine: how its connections are kept, what is sent, and what is taken for an answer."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, BinaryIO, Self, TypeAlias
from urllib.parse import quote

import httpx

from kb.client.errors import EngineTooOld, NotAnEngine
from kb.client.sending import PIECE_BYTES, OnBytes
from kb.version import VERSION, is_supported, version_in

Json: TypeAlias = dict[str, Any]  # Any: the engine's JSON, whose shapes its reference page tells
Id: TypeAlias = int | str

CONNECT_WITHIN_SECONDS = 5.0
# The slowest answer is a note of a million characters, rewritten and embedded while its author waits.
ANSWER_WITHIN_SECONDS = 300.0
# httpx looks at each of them whenever a request begins or ends: with 64, that was most of what a request cost.
CONNECTIONS = 32


class EngineConnection:
    """What `EngineClient` calls its routes through."""

    def __init__(self, base_url: str, api_key: str | None = None, *, timeout: float = ANSWER_WITHIN_SECONDS) -> None:
        headers = {"User-Agent": f"kb/{VERSION}"}
        if api_key:
            headers["Authorization"] = f"Bearer {api_key}"
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers=headers,
            timeout=httpx.Timeout(timeout, connect=min(timeout, CONNECT_WITHIN_SECONDS)),
            # For a program with many callers of its own; the default would close all but 20 after each request.
            limits=httpx.Limits(max_connections=CONNECTIONS, max_keepalive_connections=CONNECTIONS),
            # Loading the certificates of all authorities takes longer than a search, and http has a use for none.
            verify=httpx.URL(base_url).scheme == "https",
            # The engine is a local program: neither a proxy nor a .netrc of the machine concerns it.
            trust_env=False,
        )
        # Requests beyond that wait here, in order: a thousand in httpx's own queue keep each other from being sent.
        self._turn = asyncio.Semaphore(CONNECTIONS)

    async def __aenter__(self) -> Self:
        await self._http.__aenter__()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._http.aclose()

    async def require_supported_engine(self) -> None:
        """Raise `EngineTooOld` if the engine is older than `MIN_ENGINE_VERSION`, `NotAnEngine` if it is none.

        No other method asks. A program asks before its first change, and again when the engine may be another one.
        """
        version = version_in((await self._http.get("/health/live")).headers.get("Server", ""))
        try:
            # Before it told its version with every answer, the engine told it only here.
            version = version or str((await self._call("GET", "/status"))["version"])
        except (ValueError, LookupError, TypeError) as error:
            raise NotAnEngine(str(self._http.base_url)) from error
        except httpx.HTTPStatusError as error:
            if error.response.status_code != httpx.codes.NOT_FOUND:
                raise
            raise NotAnEngine(str(self._http.base_url)) from error
        if not is_supported(version):
            raise EngineTooOld(version)

    async def _change(self, method: str, path: str, expected: int | None, body: Json | None = None) -> Json:
        headers = {} if expected is None else {"If-Match": f'"{expected}"'}
        return await self._call(method, path, json=body, headers=headers)

    async def _call(self, method: str, path: str, **request: Any) -> Json:
        return self._read(await self._send(method, f"/api/v1{path}", **request))

    def _read(self, response: httpx.Response) -> Json:
        try:
            answer = response.json()
        # The second, for what is nested without an end.
        except (ValueError, RecursionError) as error:
            raise NotAnEngine(str(self._http.base_url)) from error
        if not isinstance(answer, dict):
            raise NotAnEngine(str(self._http.base_url))
        return answer

    async def _download(
        self, path: str, destination: BinaryIO, on_progress: OnBytes | None, media_type: str | None = None
    ) -> None:
        async with self._stream(path) as response:
            if media_type and response.headers.get("Content-Type") != media_type:
                raise NotAnEngine(str(self._http.base_url))
            async for piece in response.aiter_bytes(PIECE_BYTES):
                await asyncio.to_thread(destination.write, piece)
                if on_progress is not None:
                    on_progress(len(piece))

    async def _send(self, method: str, path: str, **request: Any) -> httpx.Response:
        async with self._turn:
            response = await self._http.request(method, path, **request)
        return response.raise_for_status()

    @asynccontextmanager
    async def _stream(self, path: str, **request: Any) -> AsyncIterator[httpx.Response]:
        async with self._turn, self._http.stream("GET", f"/api/v1{path}", **request) as response:
            if response.is_error:
                await response.aread()
            yield response.raise_for_status()


def given(**fields: Any) -> Json:
    """What the caller left out is left out of the request too: the engine has the defaults."""
    return {name: value for name, value in fields.items() if value is not None}


def quote_id(name: Id) -> str:
    # The engine reads %2F as a slash and so as the way to another route; no id has one, so it is sent as text.
    # Nor is any id made of dots, which would lead to another route as well.
    return quote(str(name).replace("/", "%2F"), safe="").replace(".", "%252E")
