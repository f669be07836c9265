"""A file on its way to the engine: a form that is read while it is sent, so memory stays flat.

Threads read it, because a disk may take long or never answer, and the other callers of the client must not wait.
"""

import asyncio
import errno
import io
import os
import re
import secrets
import stat
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeAlias, TypeVar

from kb.client.errors import FileChanged

Result = TypeVar("Result")
NamedFile: TypeAlias = tuple[str, bytes | BinaryIO]
OnBytes: TypeAlias = Callable[[int], None]
"""Takes how many more bytes are done."""

PIECE_BYTES = 256 * 1024
READ_WITHIN_SECONDS = 30.0
# No header can hold a line end, and the engine takes these out of names anyway.
_CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f]")


@dataclass(frozen=True)
class Form:
    """The body of a request; without a length in `headers` where nobody knows it beforehand."""

    headers: Mapping[str, str]
    content: AsyncIterator[bytes]


async def build_form(fields: Iterable[tuple[str, str]], file: NamedFile, on_progress: OnBytes | None = None) -> Form:
    """The fields and then the file, from its beginning on; `on_progress` is told of the file's bytes alone.

    What is sent is as long as the file is now, even if it grows meanwhile. If it shrinks, `content` raises
    `FileChanged`.
    """
    filename, content = file
    boundary = secrets.token_hex(16)
    head = b"".join(_render_head(fields, filename, f"--{boundary}\r\n"))
    tail = f"\r\n--{boundary}--\r\n".encode()
    size = len(content) if isinstance(content, bytes) else await asyncio.to_thread(_measure, content)
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    if size is not None:
        headers["Content-Length"] = str(len(head) + size + len(tail))

    async def send() -> AsyncIterator[bytes]:
        yield head
        async for piece in _read(content, size):
            yield piece
            if on_progress is not None:
                on_progress(len(piece))
        yield tail

    return Form(headers, send())


@asynccontextmanager
async def open_file(path: str | Path, opener: Callable[[str, int], int] | None = None) -> AsyncIterator[BinaryIO]:
    """Open the file in a thread, since a disk may be slow. It is closed in any case, even if the caller was cancelled.

    `opener` is passed to Python's `open`.
    """
    opened: list[BinaryIO] = []
    is_unwanted = False

    def open_it() -> None:
        # Without a buffer, whose lock a read that hangs would hold: closing it would then hang as well.
        opened.append(open(path, "rb", buffering=0, opener=opener))  # noqa: SIM115  closed below, whoever is first
        if is_unwanted:
            opened[0].close()

    try:
        await asyncio.to_thread(open_it)
        yield opened[0]
    finally:
        is_unwanted = True
        for file in opened:
            file.close()


async def read_pieces(source: BinaryIO) -> AsyncIterator[bytes]:
    """From where it stands to its end."""
    while piece := await asyncio.to_thread(source.read, PIECE_BYTES):
        yield piece


def _render_head(fields: Iterable[tuple[str, str]], filename: str, delimiter: str) -> Iterator[bytes]:
    for name, value in fields:
        yield f'{delimiter}Content-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
    told = _CONTROL_CHARACTERS.sub("", filename).replace("\\", "\\\\").replace('"', '\\"')
    disposition = f'Content-Disposition: form-data; name="file"; filename="{told}"\r\n'
    # A name on disk may be bytes that are no text at all; those become question marks.
    yield f"{delimiter}{disposition}Content-Type: application/octet-stream\r\n\r\n".encode(errors="replace")


async def run_in_own_thread(function: Callable[[], Result], *, within_seconds: float) -> Result:
    """What the function returns or raises; `OSError` if it takes too long because a disk does not answer.

    Nobody waits for its thread then: not a pool of threads, which a few such would fill, nor the end of the program.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[Result] = loop.create_future()

    def settle(settling: Callable[[], None]) -> None:
        # The program may have ended, or its caller have gone.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(lambda: None if outcome.done() else settling())

    def run() -> None:
        try:
            result = function()
        except Exception as error:  # noqa: BLE001 - raised again where somebody waits for it
            settle(partial(outcome.set_exception, error))
        else:
            settle(partial(outcome.set_result, result))

    threading.Thread(target=run, name="file", daemon=True).start()
    try:
        async with asyncio.timeout(within_seconds):
            return await outcome
    except TimeoutError:
        raise OSError(errno.ETIMEDOUT, "its disk does not answer") from None


def _measure(file: BinaryIO) -> int | None:
    """None if that takes reading it. Others have a descriptor too, but of what they make their content from."""
    if not isinstance(getattr(file, "raw", file), io.FileIO):
        return None
    # Whoever wrote it may not have written all of it to the disk.
    file.flush()
    status = os.fstat(file.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


async def _read(content: bytes | BinaryIO, size: int | None) -> AsyncIterator[bytes]:
    if isinstance(content, bytes):
        yield content
    elif size is None:
        if await asyncio.to_thread(content.seekable):
            await asyncio.to_thread(content.seek, 0)
        async for piece in read_pieces(content):
            yield piece
    else:
        position = 0
        while position < size:
            # Not by the file object: while a read of it hangs its owner could not close it.
            wanted = min(PIECE_BYTES, size - position)
            reading = partial(os.pread, content.fileno(), wanted, position)
            piece = await run_in_own_thread(reading, within_seconds=READ_WITHIN_SECONDS)
            if not piece:
                raise FileChanged
            yield piece
            position += len(piece)
