"""Requests as bytes on a socket: what no client library would send must be sent too."""

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

# Far more than a server that is alive takes to answer or to hang up.
ANSWER_WITHIN_SECONDS = 20.0
CONNECTIONS = 16
HEAD = re.compile(rb"HTTP/1\.[01] (\d{3})[^\r\n]*\r\n(.*?)\r\n\r\n", re.DOTALL)
LENGTH = re.compile(rb"^content-length: *(\d+)", re.IGNORECASE | re.MULTILINE)

Header = tuple[str, str]


@dataclass(frozen=True)
class Request:
    """Its server hangs up when it has answered, unless `Connection` is taken away."""

    method: str
    target: str
    headers: tuple[Header, ...]
    body: bytes = b""
    version: str = "HTTP/1.1"

    def plus(self, *headers: Header) -> Self:
        return replace(self, headers=(*self.headers, *headers))

    def less(self, *names: str) -> Self:
        return replace(self, headers=tuple(header for header in self.headers if header[0] not in names))

    def encode(self) -> bytes:
        lines = [f"{self.method} {self.target} {self.version}", *(f"{name}: {value}" for name, value in self.headers)]
        return "\r\n".join([*lines, "", ""]).encode("latin-1") + self.body


def request_to(host: str, method: str, target: str, *headers: Header, body: bytes = b"") -> Request:
    length = [("Content-Length", str(len(body)))] if body or method in ("POST", "PUT", "PATCH") else []
    return Request(method, target, (("Host", host), ("Connection", "close"), *length, *headers), body)


@dataclass(frozen=True)
class Answer:
    status: int
    head: bytes
    body: bytes

    @property
    def is_success(self) -> bool:
        """A WebSocket that is accepted (101) counts as one."""
        return self.status == 101 or 200 <= self.status < 400

    @property
    def is_endless(self) -> bool:
        """It may be: a stream, or a WebSocket. Its beginning is enough."""
        return self.is_success and LENGTH.search(self.head) is None


def parse_answers(stream: bytes) -> list[Answer]:
    answers = []
    while head := HEAD.match(stream):
        length = LENGTH.search(head[2])
        end = head.end() + (int(length[1]) if length else len(stream))
        status = int(head[1])
        if status == 100:
            end = head.end()
        else:
            answers.append(Answer(status, head[2], stream[head.end() : end]))
        stream = stream[end:]
    return answers


async def _send(host: str, port: int, sent: bytes) -> list[Answer]:
    reader, writer = await asyncio.open_connection(host, port)
    stream = b""
    try:
        writer.write(sent)
        async with asyncio.timeout(ANSWER_WITHIN_SECONDS):
            while part := await reader.read(65_536):
                stream += part
                if any(answer.is_endless for answer in parse_answers(stream)):
                    break
    except ConnectionResetError:
        # A server may hang up before it has read all of what it refused.
        pass
    finally:
        writer.close()
    return parse_answers(stream)


def send_all(requests: Iterable[tuple[str, bytes]]) -> Sequence[list[Answer]]:
    """The answers to each of the texts, which go to `host:port` on a connection of their own.

    Raises `TimeoutError` if a server neither answers nor hangs up.
    """

    async def send_each() -> Sequence[list[Answer]]:
        turn = asyncio.Semaphore(CONNECTIONS)

        async def send(address: str, sent: bytes) -> list[Answer]:
            host, _, port = address.rpartition(":")
            async with turn:
                try:
                    return await _send(host, int(port), sent)
                except TimeoutError:
                    raise TimeoutError(f"no end of the answer to {sent!r}") from None

        return await asyncio.gather(*(send(address, sent) for address, sent in requests))

    return asyncio.run(send_each())
