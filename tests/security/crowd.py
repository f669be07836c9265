"""Many clients at once that are slow, silent or idle, in a thread of their own, for as long as a block runs."""

import asyncio
import socket
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TypeAlias

Client: TypeAlias = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

HOLD_SECONDS = 3600
# Just fast enough not to be sent away.
UPLOAD_BYTES_A_SECOND = 4_000
READ_BYTES_A_SECOND = 20_000
STARTS_WITHIN_SECONDS = 60
# As small as it can be, so that what is not read stays with the server.
RECEIVE_BYTES = 4096


async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def follow(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A stream without an end, read as it comes."""
    writer.write(head)
    while await reader.read(65_536):
        pass


async def read_slowly(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(head)
    for _ in range(HOLD_SECONDS):
        if not await reader.read(READ_BYTES_A_SECOND):
            return
        await asyncio.sleep(1)


async def send_slowly(head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(head)
    # Until the server hangs up: then `drain` raises.
    for _ in range(HOLD_SECONDS):
        writer.write(b"x" * UPLOAD_BYTES_A_SECOND)
        await writer.drain()
        await asyncio.sleep(1)


def get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: localhost", *headers, "", ""]).encode()


def upload_of(path: str, size_bytes: int) -> bytes:
    """The beginning of a form: all but the file's content."""
    length = f"Content-Length: {size_bytes}"
    form = '--B\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    types = "Content-Type: multipart/form-data; boundary=B"
    return "\r\n".join([f"POST {path} HTTP/1.1", "Host: localhost", types, length, "", form]).encode()


@contextmanager
def crowd(address: tuple[str, int], clients: Mapping[Client, int]) -> Iterator[Callable[[], int]]:
    """Connect so many of each kind; the block begins when all are connected. Yields how many still are."""
    connected = threading.Event()
    stopped = threading.Event()
    present: set[asyncio.Task[None]] = set()
    running = threading.Thread(target=lambda: asyncio.run(_gather(address, clients, present, connected, stopped)))
    running.start()
    try:
        assert connected.wait(STARTS_WITHIN_SECONDS), "Not all could connect."
        yield lambda: len(present)
    finally:
        stopped.set()
        running.join()


async def _gather(
    address: tuple[str, int],
    clients: Mapping[Client, int],
    present: set[asyncio.Task[None]],
    connected: threading.Event,
    stopped: threading.Event,
) -> None:
    for client, number in clients.items():
        for _ in range(number):
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)
            connection.settimeout(0)
            await asyncio.get_running_loop().sock_connect(connection, address)
            reader, writer = await asyncio.open_connection(sock=connection, limit=RECEIVE_BYTES)
            task = asyncio.create_task(_run(partial(client, reader, writer), writer))
            present.add(task)
            task.add_done_callback(present.discard)
    connected.set()
    await asyncio.to_thread(stopped.wait, HOLD_SECONDS)
    for task in [*present]:
        task.cancel()
    await asyncio.gather(*present, return_exceptions=True)


async def _run(client: Callable[[], Awaitable[None]], writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        try:
            await client()
        finally:
            writer.transport.abort()
