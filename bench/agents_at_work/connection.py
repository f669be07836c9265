"""One connection of one client: HTTP as plainly as it goes, since clients and servers share the machine's cores."""

import asyncio
import json
import time
from dataclasses import dataclass
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]  # Any: JSON


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    content: bytes
    milliseconds: float

    def json(self) -> Json:
        parsed: Json = json.loads(self.content)
        return parsed


class Connection:
    """Stays open from one request to the next, and is opened anew where the server has closed it in between."""

    def __init__(self, port: int, key: str) -> None:
        self._port = port
        self.headers = {"Host": "localhost", "Authorization": f"Bearer {key}"}
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(
        self, method: str, path: str, body: Json | bytes | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        """Raises `ConnectionError` or `EOFError` if the server hangs up."""
        content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        kind = {} if body is None else {"Content-Type": "application/json"}
        given = {**self.headers, **kind, "Content-Length": str(len(content)), **(headers or {})}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in given.items())
        begun = time.perf_counter()
        try:
            reader, writer = await self._open()
            writer.write(head.encode() + b"\r\n" + content)
            status, received = parse_head(await reader.readuntil(b"\r\n\r\n"))
            answer = await reader.readexactly(int(received.get("content-length", 0)))
        except BaseException:
            self.close()
            raise
        return Answer(status, received, answer, (time.perf_counter() - begun) * 1000)

    async def _open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None or self._streams[0].at_eof():
            self.close()
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None


def parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    fields = (line.partition(":") for line in lines)
    return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in fields}
