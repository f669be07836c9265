"""Files on their way to the engine, as the engine's own reader of forms takes them in."""

import asyncio
import fcntl
import gzip
import io
import os
import re
import termios
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.engine_program import EngineProgram

from kb.client import EngineClient, FileChanged, Json, NamedFile
from kb.client.sending import PIECE_BYTES, Form, build_form
from kb.engine.api.uploads import UploadForm, receive_form
from kb.engine.originals import FolderOriginals

Answer = TypeVar("Answer")
HANGS_AT_MOST_SECONDS = 10
SIZES = (0, 1, PIECE_BYTES - 1, PIECE_BYTES, PIECE_BYTES + 1, 2 * PIECE_BYTES)


@pytest.fixture(scope="session")
def originals(tmp_path_factory: pytest.TempPathFactory) -> FolderOriginals:
    return FolderOriginals(tmp_path_factory.mktemp("originals"))


def call(engine: EngineProgram, work: Callable[[EngineClient], Awaitable[Answer]]) -> Answer:
    async def run() -> Answer:
        async with EngineClient(engine.url) as client:
            return await work(client)

    return asyncio.run(run())


async def pieces_of(form: Form) -> list[bytes]:
    return [piece async for piece in form.content]


async def receive(originals: FolderOriginals, form: Form) -> tuple[UploadForm, bytes, int]:
    """What the engine makes of it: the form, the file's bytes, and the length of the whole body."""
    pieces = await pieces_of(form)

    async def body() -> AsyncIterator[bytes]:
        for piece in pieces:
            yield piece

    with originals.receive() as incoming:
        received = await receive_form(form.headers["Content-Type"], body(), incoming, max_file_bytes=10**9)
        incoming.finish()
        return received, incoming.path.read_bytes(), sum(map(len, pieces))


class HangingFile(io.RawIOBase):
    """No descriptor, and no byte before it is told to go on."""

    def __init__(self, content: bytes) -> None:
        self.is_read = threading.Event()
        self.may_go_on = threading.Event()
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # a buffer of any kind in the stubs
        self.is_read.set()
        assert self.may_go_on.wait(HANGS_AT_MOST_SECONDS), "The event loop waited for the file."
        return self._content.readinto(buffer)


class ShrinkingFile(io.FileIO):
    """Shorter as soon as it has been measured."""

    is_measured = False

    def fileno(self) -> int:
        if self.is_measured:
            self.truncate(PIECE_BYTES)
        self.is_measured = True
        return super().fileno()


@given(
    filename=st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from('";\\=%'), max_size=200),
    fields=st.lists(st.tuples(st.sampled_from(["title", "tags"]), st.text(st.characters(exclude_categories=["Cs"])))),
)
def test_names_and_fields_arrive_as_they_were(
    originals: FolderOriginals, filename: str, fields: list[tuple[str, str]]
) -> None:
    """E4"""
    told = re.sub(r"[\x00-\x1f\x7f]", "", filename)
    # The engine takes these for whole paths of Windows.
    assume(told[1:3] != ":\\" and not told.startswith("\\\\"))

    received, content, _ = asyncio.run(_build_and_receive(originals, (filename, b"x"), fields))

    assert received.filename == told
    assert [value for name in received.fields for value in received.fields[name]] == sorted_by_name(fields)
    assert content == b"x"


def sorted_by_name(fields: list[tuple[str, str]]) -> list[str]:
    names = dict(fields)
    return [value for name in names for other, value in fields if other == name]


async def _build_and_receive(
    originals: FolderOriginals, file: NamedFile, fields: list[tuple[str, str]]
) -> tuple[UploadForm, bytes, int]:
    return await receive(originals, await build_form(fields, file))


@pytest.mark.parametrize("size", SIZES)
def test_a_file_of_any_size_arrives_whole_and_as_long_as_announced(
    originals: FolderOriginals, tmp_path: Path, size: int
) -> None:
    content = os.urandom(size)
    path = tmp_path / "file"
    path.write_bytes(content)

    async def work() -> None:
        with path.open("rb") as buffered, path.open("rb", buffering=0) as raw, path.open("r+b") as writable:
            sources: list[bytes | BinaryIO] = [content, buffered, raw, writable, io.BytesIO(content)]
            forms = [await build_form([], ("a", source)) for source in sources]
            arrived = [await receive(originals, form) for form in forms]

        assert [file for _, file, _ in arrived] == [content] * len(sources)
        told = [form.headers.get("Content-Length") for form in forms]
        assert told == [str(length) for _, _, length in arrived[:-1]] + [None]

    asyncio.run(work())


def test_no_more_than_a_piece_of_a_file_is_in_memory_at_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * (3 * PIECE_BYTES))

    async def work() -> list[bytes]:
        with path.open("rb") as file, io.BytesIO(path.read_bytes()) as stream:
            measured, unmeasured = await build_form([], ("a", file)), await build_form([], ("a", stream))
            return [*await pieces_of(measured), *await pieces_of(unmeasured)]

    pieces = asyncio.run(work())

    assert max(map(len, pieces)) == PIECE_BYTES


def test_a_file_is_sent_from_its_beginning_and_with_what_was_just_written(
    originals: FolderOriginals, tmp_path: Path
) -> None:
    async def work() -> list[bytes]:
        with (tmp_path / "file").open("w+b") as file:
            file.write(b"all of it")
            stream = io.BytesIO(b"all of it")
            stream.seek(4)
            return [
                (await _build_and_receive(originals, ("a", source), []))[1] for source in (file, stream, file, stream)
            ]

    assert asyncio.run(work()) == [b"all of it"] * 4


def test_a_file_that_grows_is_sent_as_long_as_it_was(originals: FolderOriginals, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")

    async def work() -> tuple[bytes, int, str]:
        with path.open("rb") as file:
            form = await build_form([], ("a", file))
            with path.open("ab") as growing:
                growing.write(b" and after")
            _, content, length = await receive(originals, form)
            return content, length, form.headers["Content-Length"]

    content, length, announced = asyncio.run(work())

    assert content == b"before"
    assert announced == str(length)


def test_a_file_that_shrinks_is_told_of_and_becomes_no_job(running_engine: EngineProgram, tmp_path: Path) -> None:
    path = tmp_path / "shrinking.txt"
    path.write_bytes(b"x" * (2 * PIECE_BYTES))

    async def work(client: EngineClient) -> tuple[FileChanged, int, int]:
        before = await client.list_jobs()
        with ShrinkingFile(path, "r+b") as file, pytest.raises(FileChanged) as caught:
            await client.submit_file((path.name, file))
        return caught.value, before["total"], (await client.list_jobs())["total"]

    error, before, after = call(running_engine, work)

    assert error.strerror == "it became shorter while it was being sent"
    assert after == before


def test_what_a_file_object_reads_is_sent_and_not_what_lies_below_it(
    originals: FolderOriginals, tmp_path: Path
) -> None:
    path = tmp_path / "file.gz"
    path.write_bytes(gzip.compress(b"unpacked"))

    async def work() -> bytes:
        with gzip.open(path) as unpacking:
            _, content, _ = await _build_and_receive(originals, ("file", io.BufferedReader(unpacking)), [])
            return content

    assert asyncio.run(work()) == b"unpacked"


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ('a "quoted" name.txt', 'a "quoted" name.txt'),
        ('semi;colon";.txt', 'semi;colon";.txt'),
        ("100%22.txt", "100%22.txt"),
        ("żółw 🐢.txt", "żółw 🐢.txt"),
        ("two\r\nlines.txt", "twolines.txt"),
        ("no text \udcff.txt", "no text ?.txt"),
    ],
)
def test_a_name_of_any_shape_is_kept(running_engine: EngineProgram, name: str, kept: str) -> None:
    """E4"""
    job = call(running_engine, lambda client: client.submit_file((name, b"The name is what counts here.")))

    assert job["filename"] == kept


def test_others_are_served_while_a_file_hangs(running_engine: EngineProgram) -> None:
    file = HangingFile(b"Onion soup.")

    async def work(client: EngineClient) -> tuple[Json, Json]:
        async with asyncio.TaskGroup() as tasks:
            sending = tasks.create_task(client.submit_file(("late.txt", cast(BinaryIO, file))))
            assert await asyncio.to_thread(file.is_read.wait, HANGS_AT_MOST_SECONDS)
            live = await client.check_live()
            assert not sending.done()
            file.may_go_on.set()
        return live, sending.result()

    live, job = call(running_engine, work)

    assert live["status"] == "live"
    assert job["filename"] == "late.txt"


def test_whoever_gives_up_a_file_that_hangs_need_not_wait_for_it(running_engine: EngineProgram, tmp_path: Path) -> None:
    fifo = tmp_path / "pipe"
    os.mkfifo(fifo)

    def wait_until_read(descriptor: int) -> None:
        while fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)) != bytes(4):
            time.sleep(0.01)

    async def work(client: EngineClient) -> bool:
        sending = asyncio.create_task(client.submit_file(fifo))
        writer = await asyncio.to_thread(fifo.open, "wb", buffering=0)
        has_waited = threading.Event()

        def end_the_wait() -> None:
            has_waited.set()
            writer.close()

        rescue = threading.Timer(HANGS_AT_MOST_SECONDS, end_the_wait)
        rescue.start()
        writer.write(b"x")
        await asyncio.to_thread(wait_until_read, writer.fileno())
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        rescue.cancel()
        writer.close()
        return has_waited.is_set()

    assert not call(running_engine, work)
