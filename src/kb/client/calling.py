"""A call of the engine: how its connections are kept, what is sent, and what is taken for an answer."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, BinaryIO, Self, TypeAlias
from urllib.parse import quote

import httpx

from kb.client.errors import EngineTooOld, NotAnEngine
from kb.client.sending import PIECE_BYTES, OnBytes
from kb.version import VERSION, asks_for_key, is_supported, version_in

Json: TypeAlias = dict[str, Any]  # Any: the engine's JSON, whose shapes its reference page tells
Id: TypeAlias = int | str

CONNECT_WITHIN_SECONDS = 5.0
# The slowest answer is a note of a million characters, rewritten and embedded while its author waits.
ANSWER_WITHIN_SECONDS = 300.0
# httpx looks at each of them whenever a request begins or ends: with 64, that was most of what a request cost.
CONNECTIONS = 32
# Another program may take the port of an engine that has ended, so the engine is recognised again after this time.
# Doing so before each call would double the requests.
RECOGNISED_FOR_SECONDS = 5.0


class EngineConnection:
    """The calls of `EngineClient` to the engine.

    The key is sent only to a program that has answered as an engine without it. A program that imitates an engine can
    still get the key: only TLS prevents that, if another user of the machine has taken the engine's port.
    """

    def __init__(self, base_url: str, api_key: str | None = None, *, timeout: float = ANSWER_WITHIN_SECONDS) -> None:
        self._key = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._recognising = asyncio.Lock()
        self._recognised_until = 0.0
        self._http = httpx.AsyncClient(
            base_url=base_url,
            headers={"User-Agent": f"kb/{VERSION}"},
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
        version = await self._recognise()
        if version is None:
            version = _version_of(await self._call("GET", "/status"), self._http.base_url)
        if not is_supported(version):
            raise EngineTooOld(version)

    async def _recognise(self) -> str | None:
        """The engine's version, or None if the engine gives it only to clients with the key. Does not send the key.

        Raises `NotAnEngine` if another program answers.
        """
        version = version_in((await self._http.get("/health/live")).headers.get("Server", ""))
        if version is None:
            # A proxy may put its own name into `Server`, and publish nothing but the API.
            answer = await self._http.get("/api/v1/status")
            status = self._read(answer)
            if answer.is_success:
                version = _version_of(status, self._http.base_url)
            elif "code" not in status or answer.status_code == httpx.codes.NOT_FOUND:
                raise NotAnEngine(str(self._http.base_url))
            elif not asks_for_key(answer.status_code, status):
                answer.raise_for_status()
        self._recognised_until = time.monotonic() + RECOGNISED_FOR_SECONDS
        return version

    async def _headers(self, given: Mapping[str, str] | None) -> dict[str, str]:
        """The given headers, and the key if there is one. Raises `NotAnEngine` if another program would get the key."""
        if self._key:
            async with self._recognising:
                if time.monotonic() >= self._recognised_until:
                    await self._recognise()
        return {**(given or {}), **self._key}

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

    async def _send(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, **request: Any
    ) -> httpx.Response:
        async with self._turn:
            # The engine is recognised only here: while this call waited, another program may have taken the port.
            response = await self._http.request(method, path, headers=await self._headers(headers), **request)
        return response.raise_for_status()

    @asynccontextmanager
    async def _stream(
        self, path: str, *, headers: Mapping[str, str] | None = None, **request: Any
    ) -> AsyncIterator[httpx.Response]:
        async with self._turn:
            headers = await self._headers(headers)
            async with self._http.stream("GET", f"/api/v1{path}", headers=headers, **request) as response:
                if not response.is_success:
                    await response.aread()
                yield response.raise_for_status()


def _version_of(status: Json, url: httpx.URL) -> str:
    version = status.get("version")
    if not isinstance(version, str):
        raise NotAnEngine(str(url))
    return version


def given(**fields: Any) -> Json:
    """What the caller left out is left out of the request too: the engine has the defaults."""
    return {name: value for name, value in fields.items() if value is not None}


def quote_id(name: Id) -> str:
    # The engine reads %2F as a slash and so as the way to another route; no id has one, so it is sent as text.
    # Nor is any id made of dots, which would lead to another route as well.
    return quote(str(name).replace("/", "%2F"), safe="").replace(".", "%252E")
