import base64
import errno
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import anyio
import pytest
from tests.mcp_server.staging import Recipient, encoded, staged_files, start
from tests.waiting import until

from kb.client import Json
from kb.mcp.errors import ToolError
from kb.mcp.uploads import MAX_OPEN_UPLOADS, MAX_STAGED_BYTES, Upload, Uploads, open_uploads

pytestmark = pytest.mark.anyio

MINUTE = timedelta(minutes=1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "uploads"


@pytest.fixture
async def uploads(folder: Path) -> AsyncIterator[Uploads]:
    async with open_uploads(folder, MINUTE) as opened:
        yield opened


async def test_chunks_in_any_order_become_the_file_they_were_cut_from(uploads: Uploads, folder: Path) -> None:
    """M13"""
    recipient = Recipient()
    content = os.urandom(10_000)
    upload_id = start(uploads, len(content))

    received = [
        await uploads.add_chunk("agent", upload_id, 2, encoded(content[7000:])),
        await uploads.add_chunk("agent", upload_id, 0, encoded(content[:1])),
        await uploads.add_chunk("agent", upload_id, 1, encoded(content[1:7000])),
    ]
    job = await uploads.finish("agent", upload_id, recipient.send)

    assert received == [3000, 3001, 10_000]
    assert recipient.contents == [content]
    assert job == {"job_id": 1, "filename": "a.txt", "tags": ["x"]}
    assert staged_files(folder) == []


async def test_many_chunks_sent_at_once_all_arrive(uploads: Uploads) -> None:
    recipient = Recipient()
    content = os.urandom(64 * 1000)
    upload_id = start(uploads, len(content))

    async with anyio.create_task_group() as tasks:
        for index in range(64):
            chunk = encoded(content[index * 1000 : index * 1000 + 1000])
            tasks.start_soon(uploads.add_chunk, "agent", upload_id, index, chunk)
    await uploads.finish("agent", upload_id, recipient.send)

    assert recipient.contents == [content]


async def test_a_repeated_index_replaces_the_chunk_wholly(uploads: Uploads, folder: Path) -> None:
    """M13"""
    recipient = Recipient()
    upload_id = start(uploads, 5)
    await uploads.add_chunk("agent", upload_id, 0, encoded(b"wrong"))

    received = await uploads.add_chunk("agent", upload_id, 0, encoded(b"AB"))
    await uploads.add_chunk("agent", upload_id, 1, encoded(b"cde"))

    assert received == 2
    assert len(staged_files(folder)) == 2
    await uploads.finish("agent", upload_id, recipient.send)
    assert recipient.contents == [b"ABcde"]


@pytest.mark.parametrize("data", ["????", "QUJ", "QQ==QQ==", "-_-_", "QUJD\u00a0", "ÄÖ", "\ud800"])
async def test_wrong_base64_is_refused_and_nothing_of_it_stays(uploads: Uploads, folder: Path, data: str) -> None:
    """M13"""
    upload_id = start(uploads, 10)

    with pytest.raises(ToolError, match="not base64") as refused:
        await uploads.add_chunk("agent", upload_id, 0, data)

    assert (refused.value.code, refused.value.details) == ("invalid_parameter", {"parameter": "data"})
    assert staged_files(folder) == []


async def test_base64_may_be_wrapped_as_programs_wrap_it(uploads: Uploads) -> None:
    recipient = Recipient()
    content = os.urandom(500)
    upload_id = start(uploads, len(content))

    await uploads.add_chunk("agent", upload_id, 0, base64.encodebytes(content).decode().replace("\n", "\r\n"))
    await uploads.finish("agent", upload_id, recipient.send)

    assert recipient.contents == [content]


async def test_an_empty_chunk_is_refused(uploads: Uploads) -> None:
    upload_id = start(uploads, 10)

    with pytest.raises(ToolError, match="empty"):
        await uploads.add_chunk("agent", upload_id, 0, " \n")


async def test_a_chunk_beyond_the_total_size_is_refused(uploads: Uploads, folder: Path) -> None:
    """M13"""
    upload_id = start(uploads, 4)
    await uploads.add_chunk("agent", upload_id, 0, encoded(b"abc"))

    with pytest.raises(ToolError, match="2 bytes, and only 1 ") as refused:
        await uploads.add_chunk("agent", upload_id, 1, encoded(b"de"))

    assert refused.value.code == "invalid_parameter"
    assert len(staged_files(folder)) == 1


async def test_an_unknown_upload_and_one_of_another_owner_are_told_alike(uploads: Uploads) -> None:
    """M13"""
    foreign = start(uploads, 4)
    told = []

    for owner, upload_id in [("other", foreign), ("agent", "nonsense")]:
        with pytest.raises(ToolError) as refused:
            await uploads.add_chunk(owner, upload_id, 0, encoded(b"ab"))
        told.append((refused.value.code, refused.value.message.replace(upload_id, "ID")))
        with pytest.raises(ToolError) as refused:
            await uploads.finish(owner, upload_id, Recipient().send)
        told.append((refused.value.code, refused.value.message.replace(upload_id, "ID")))

    assert len(set(told)) == 1
    assert told[0][0] == "upload_not_found"
    assert "kb_upload_start" in told[0][1]


async def test_an_abandoned_upload_vanishes_with_its_files(folder: Path) -> None:
    """M13"""
    async with open_uploads(folder, timedelta(seconds=0.3)) as uploads:
        upload_id = start(uploads, 4)
        await uploads.add_chunk("agent", upload_id, 0, encoded(b"ab"))
        assert len(staged_files(folder)) == 1

        async def is_clean() -> bool:
            return staged_files(folder) == []

        await until(is_clean)

        with pytest.raises(ToolError, match=r"0\.3 seconds after its last chunk") as refused:
            await uploads.finish("agent", upload_id, Recipient().send)
        assert refused.value.code == "upload_not_found"


async def test_a_restart_loses_uploads_and_their_files(folder: Path) -> None:
    """M13"""
    async with open_uploads(folder, MINUTE) as uploads:
        upload_id = start(uploads, 4)
        await uploads.add_chunk("agent", upload_id, 0, encoded(b"ab"))

    async with open_uploads(folder, MINUTE) as uploads:
        with pytest.raises(ToolError, match="when the server restarts") as refused:
            await uploads.add_chunk("agent", upload_id, 1, encoded(b"cd"))

    assert refused.value.code == "upload_not_found"
    assert staged_files(folder) == []


async def test_an_upload_is_not_swept_while_it_is_sent_on(folder: Path) -> None:
    sent = anyio.Event()
    swept = anyio.Event()

    async def send_slowly(file: BinaryIO, upload: Upload) -> Json:
        sent.set()
        await swept.wait()
        return {"job_id": 1, "content": file.read()}

    async with open_uploads(folder, timedelta(seconds=0.3)) as uploads, anyio.create_task_group() as tasks:
        upload_id = start(uploads, 2)
        await uploads.add_chunk("agent", upload_id, 0, encoded(b"ab"))
        jobs: list[Json] = []

        async def finish() -> None:
            jobs.append(await uploads.finish("agent", upload_id, send_slowly))

        tasks.start_soon(finish)
        await sent.wait()
        other_id = start(uploads, 2)

        async def other_is_swept() -> bool:
            try:
                uploads.get_upload("agent", other_id)
            except ToolError:
                return True
            return False

        await until(other_is_swept)
        swept.set()

    assert jobs == [{"job_id": 1, "content": b"ab"}]


async def test_the_number_of_open_uploads_is_bounded(uploads: Uploads) -> None:
    """M13"""
    first, *_ = [start(uploads, 1) for _ in range(MAX_OPEN_UPLOADS)]

    with pytest.raises(ToolError, match=f"At most {MAX_OPEN_UPLOADS} uploads") as refused:
        start(uploads, 1)
    await uploads.add_chunk("agent", first, 0, encoded(b"a"))
    await uploads.finish("agent", first, Recipient().send)

    assert refused.value.code == "too_many_uploads"
    assert start(uploads, 1)


async def test_the_bytes_of_open_uploads_are_bounded(uploads: Uploads) -> None:
    """M13"""
    start(uploads, MAX_STAGED_BYTES - 10)

    with pytest.raises(ToolError) as refused:
        start(uploads, 11)

    assert refused.value.code == "too_many_uploads"
    assert start(uploads, 10)


async def test_a_full_disk_is_told_and_nothing_half_written_counts(
    uploads: Uploads, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipient = Recipient()
    upload_id = start(uploads, 4)

    def write_half(path: Path, content: bytes) -> int:
        with path.open("wb") as file:
            file.write(content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(Path, "write_bytes", write_half)
        with pytest.raises(ToolError) as refused:
            await uploads.add_chunk("agent", upload_id, 0, encoded(b"abcd"))
    assert refused.value.code == "storage_full"
    assert staged_files(folder) == []

    assert await uploads.add_chunk("agent", upload_id, 0, encoded(b"abcd")) == 4
    await uploads.finish("agent", upload_id, recipient.send)
    assert recipient.contents == [b"abcd"]
