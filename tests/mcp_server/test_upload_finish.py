from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

import anyio
import pytest
from tests.mcp_server.staging import Recipient, encoded, staged_files, start

from kb.client import Json
from kb.mcp import uploads as uploads_module
from kb.mcp.errors import ToolError
from kb.mcp.uploads import Upload, Uploads, open_uploads

pytestmark = pytest.mark.anyio


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "uploads"


@pytest.fixture
async def uploads(folder: Path) -> AsyncIterator[Uploads]:
    async with open_uploads(folder, timedelta(minutes=1)) as opened:
        yield opened


@pytest.mark.parametrize(
    ("chunks", "missing", "words"),
    [
        ({}, [0], "0 of 10 bytes .* beginning with chunk 0"),
        ({0: b"abc", 3: b"d"}, [1, 2], "4 of 10 bytes .* missing: 1, 2"),
        ({0: b"abc", 1: b"d"}, [2], "beginning with chunk 2"),
        ({0: b"abcde", 2: b"fghij"}, [1], "count chunk_index from 0"),
    ],
)
async def test_finishing_too_early_names_what_is_missing(
    uploads: Uploads, chunks: dict[int, bytes], missing: list[int], words: str
) -> None:
    """M13"""
    upload_id = start(uploads, 10)
    for index, content in chunks.items():
        await uploads.add_chunk("agent", upload_id, index, encoded(content))

    with pytest.raises(ToolError, match=words) as refused:
        await uploads.finish("agent", upload_id, Recipient().send)

    assert refused.value.code == "incomplete_upload"
    assert refused.value.details == {
        "missing_chunks": missing,
        "received_bytes": sum(map(len, chunks.values())),
        "total_size": 10,
    }


async def test_an_upload_that_was_not_whole_can_be_completed_and_finished(uploads: Uploads) -> None:
    recipient = Recipient()
    upload_id = start(uploads, 4)
    await uploads.add_chunk("agent", upload_id, 1, encoded(b"cd"))
    with pytest.raises(ToolError, match="missing"):
        await uploads.finish("agent", upload_id, recipient.send)

    await uploads.add_chunk("agent", upload_id, 0, encoded(b"ab"))
    await uploads.finish("agent", upload_id, recipient.send)

    assert recipient.contents == [b"abcd"]


async def test_two_finishes_at_once_send_the_file_once(uploads: Uploads) -> None:
    """M13"""
    recipient = Recipient()
    upload_id = start(uploads, 2)
    await uploads.add_chunk("agent", upload_id, 0, encoded(b"ab"))
    jobs: list[Json] = []

    async def finish() -> None:
        jobs.append(await uploads.finish("agent", upload_id, recipient.send))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(finish)
        tasks.start_soon(finish)
    await finish()

    assert recipient.contents == [b"ab"]
    assert [job["job_id"] for job in jobs] == [1, 1, 1]


async def test_a_finish_whose_sending_failed_can_be_repeated(uploads: Uploads, folder: Path) -> None:
    recipient = Recipient()

    async def fail(file: BinaryIO, upload: Upload) -> Json:
        file.read()
        raise ConnectionError("the engine is away")

    upload_id = start(uploads, 2)
    await uploads.add_chunk("agent", upload_id, 0, encoded(b"ab"))
    with pytest.raises(ConnectionError):
        await uploads.finish("agent", upload_id, fail)
    assert len(staged_files(folder)) == 1

    await uploads.finish("agent", upload_id, recipient.send)

    assert recipient.contents == [b"ab"]
    assert staged_files(folder) == []


async def test_a_chunk_that_comes_while_the_file_is_sent_on_does_not_change_it(uploads: Uploads) -> None:
    sending = anyio.Event()
    go_on = anyio.Event()
    contents: list[bytes] = []
    refusals: list[ToolError] = []

    async def send_slowly(file: BinaryIO, upload: Upload) -> Json:
        sending.set()
        await go_on.wait()
        contents.append(file.read())
        return {"job_id": 7}

    async def add_late() -> None:
        with pytest.raises(ToolError) as refused:
            await uploads.add_chunk("agent", upload_id, 0, encoded(b"XY"))
        refusals.append(refused.value)

    upload_id = start(uploads, 2)
    await uploads.add_chunk("agent", upload_id, 0, encoded(b"ab"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(uploads.finish, "agent", upload_id, send_slowly)
        await sending.wait()
        tasks.start_soon(add_late)
        await anyio.wait_all_tasks_blocked()
        go_on.set()

    assert contents == [b"ab"]
    assert [(refusal.code, "job 7" in refusal.message) for refusal in refusals] == [("upload_finished", True)]


async def test_a_cancelled_finish_leaves_the_upload_as_it_was(uploads: Uploads) -> None:
    recipient = Recipient()
    upload_id = start(uploads, 2)
    await uploads.add_chunk("agent", upload_id, 0, encoded(b"ab"))
    with anyio.CancelScope() as scope:

        async def send_until_cancelled(file: BinaryIO, upload: Upload) -> Json:
            scope.cancel()
            await anyio.sleep_forever()
            raise AssertionError

        await uploads.finish("agent", upload_id, send_until_cancelled)

    await uploads.finish("agent", upload_id, recipient.send)

    assert recipient.contents == [b"ab"]


async def test_the_oldest_finished_uploads_are_forgotten_first(
    uploads: Uploads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads_module, "MAX_REMEMBERED_JOBS", 2)
    recipient = Recipient()
    ids = [start(uploads, 1) for _ in range(3)]

    for upload_id in ids:
        await uploads.add_chunk("agent", upload_id, 0, encoded(b"a"))
        await uploads.finish("agent", upload_id, recipient.send)

    with pytest.raises(ToolError, match="no upload"):
        uploads.get_upload("agent", ids[0])
    assert None not in [uploads.get_upload("agent", upload_id).job for upload_id in ids[1:]]
