"""Files that agents send in pieces, staged on disk until they are whole.

Each chunk is a file of its own, under a name that is never used twice; which file is chunk 3 stands in memory
alone. So a chunk counts once it is written wholly, a repeated one replaces the former at once, and a call that is
cancelled or fails half-way leaves nothing that counts. One call at a time works on an upload, by its lock. Memory
is lost when the server stops, and `upload_folder` sees to it that the files are too.
"""

import base64
import errno
import shutil
import time
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, TypeAlias

import anyio
import anyio.to_thread
import httpx

from kb.client import Json
from kb.mcp.errors import ToolError
from kb.mcp.upload_folder import claim_folder, release_folder, remove_folder
from kb.sizes import BYTES_PER_MB

# Enough for a team of agents; more at once means that somebody starts uploads and never finishes them.
MAX_OPEN_UPLOADS = 32
# Ten of the largest files that the engine accepts by default. While it is sent on, a file needs its size once more.
MAX_STAGED_BYTES = 1024 * BYTES_PER_MB
# Each is a file. A file of 100 MB may come in chunks of a hundredth of the recommended size.
MAX_CHUNKS = 10_000
# A few hundred bytes each; they answer an agent that did not hear the first answer.
MAX_REMEMBERED_JOBS = 1000
# Too large, of no format that can be read, or wrong: it would be the same the next time.
REFUSED_FOR_GOOD = (413, 415, 422)
# A list of thousands helps no agent.
MAX_NAMED_MISSING = 100
LONGEST_SWEEP_PAUSE_SECONDS = 15.0
SHORTEST_SWEEP_PAUSE_SECONDS = 0.25


@dataclass(frozen=True)
class _Chunk:
    path: Path
    size: int


@dataclass(eq=False)
class Upload:
    id: str
    owner: str
    filename: str
    total_size: int
    tags: tuple[str, ...]
    expires_at: float
    chunks: dict[int, _Chunk] = field(default_factory=dict)
    job: Json | None = None
    """What the upload has become; from then on it has no chunks."""
    refusal: httpx.HTTPStatusError | None = None
    """Why it will never become one; it has no chunks then, either."""
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    @property
    def is_open(self) -> bool:
        return self.job is None and self.refusal is None

    @property
    def received_bytes(self) -> int:
        return sum(chunk.size for chunk in self.chunks.values())

    def is_abandoned(self, now: float) -> bool:
        # The lock passes from one call to the next without being free in between.
        return self.expires_at <= now and not self.lock.locked()


Send: TypeAlias = Callable[[BinaryIO, Upload], Awaitable[Json]]


class Uploads:
    """What agents are sending. An upload is known only to its owner; to others it does not exist."""

    def __init__(self, folder: Path, ttl: timedelta) -> None:
        self._folder = folder
        self.ttl_seconds = ttl.total_seconds()
        self._uploads: dict[str, Upload] = {}

    def start(self, owner: str, *, filename: str, total_size: int, tags: Iterable[str]) -> Upload:
        sizes = [upload.total_size for upload in self._uploads.values() if upload.is_open]
        if len(sizes) >= MAX_OPEN_UPLOADS or sum(sizes) + total_size > MAX_STAGED_BYTES:
            raise ToolError(
                "too_many_uploads",
                f"At most {MAX_OPEN_UPLOADS} uploads, of together {MAX_STAGED_BYTES} bytes, can be open at once. "
                f"Finish the ones you have begun, or try again in {self.ttl_seconds:g} seconds: by then those that "
                "nobody continues are removed.",
            )
        upload = Upload(str(uuid.uuid4()), owner, filename, total_size, tuple(tags), self._new_expiry())
        self._uploads[upload.id] = upload
        return upload

    def get_upload(self, owner: str, upload_id: str) -> Upload:
        upload = self._uploads.get(upload_id)
        if upload is None or upload.owner != owner or upload.is_abandoned(time.monotonic()):
            raise ToolError(
                "upload_not_found",
                f"There is no upload {upload_id!r}. Begin again with kb_upload_start. An upload is removed "
                f"{self.ttl_seconds:g} seconds after its last chunk, and when the server restarts.",
            )
        return upload

    async def add_chunk(self, owner: str, upload_id: str, index: int, data: str) -> int:
        """Keep the chunk that `data` holds in base64, instead of an earlier one with this index.

        Answers how many bytes of the upload are there now.
        """
        upload = self.get_upload(owner, upload_id)
        async with upload.lock:
            if upload.refusal is not None:
                raise upload.refusal
            if upload.job is not None:
                raise ToolError(
                    "upload_finished",
                    f"The upload is already finished, as job {upload.job.get('job_id')}. To send another file begin "
                    "with kb_upload_start.",
                )
            former = upload.chunks.get(index)
            room = upload.total_size - upload.received_bytes + (former.size if former else 0)
            path = self._folder_of(upload) / f"{index}-{uuid.uuid4().hex}"
            # A call that is cancelled meanwhile must not leave a file that nobody knows of.
            with anyio.CancelScope(shield=True):
                upload.chunks[index] = await anyio.to_thread.run_sync(_write_chunk, path, data, room)
                upload.expires_at = self._new_expiry()
                if former is not None:
                    await anyio.to_thread.run_sync(former.path.unlink)
            return upload.received_bytes

    async def finish(self, owner: str, upload_id: str, send: Send) -> Json:
        """Give the whole file to `send` and answer the job that it answers; a second time the same job.

        If `send` raises, the upload stays as it is and can be finished again. But a file that is refused for good takes
        no more room, and a second time it is refused in the same words.
        """
        upload = self.get_upload(owner, upload_id)
        async with upload.lock:
            if upload.is_open:
                _require_whole(upload)
                paths = [upload.chunks[index].path for index in range(len(upload.chunks))]
                try:
                    upload.job = await _send_joined(paths, upload, send)
                except httpx.HTTPStatusError as error:
                    if error.response.status_code not in REFUSED_FOR_GOOD:
                        raise
                    upload.refusal = error
                upload.chunks.clear()
                upload.expires_at = self._new_expiry()
                self._forget_oldest_jobs()
                await anyio.to_thread.run_sync(remove_folder, self._folder_of(upload))
            if upload.refusal is not None:
                raise upload.refusal
            assert upload.job is not None  # noqa: S101 - it is open, refused or a job
            return upload.job

    async def sweep_for_ever(self) -> None:
        """Remove what is abandoned, with its files, even if nobody calls."""
        pause = max(min(self.ttl_seconds / 4, LONGEST_SWEEP_PAUSE_SECONDS), SHORTEST_SWEEP_PAUSE_SECONDS)
        while True:
            await anyio.sleep(pause)
            now = time.monotonic()
            abandoned = [upload for upload in self._uploads.values() if upload.is_abandoned(now)]
            for upload in abandoned:
                del self._uploads[upload.id]
            for upload in abandoned:
                await anyio.to_thread.run_sync(remove_folder, self._folder_of(upload))

    def _folder_of(self, upload: Upload) -> Path:
        return self._folder / upload.id

    def _new_expiry(self) -> float:
        return time.monotonic() + self.ttl_seconds

    def _forget_oldest_jobs(self) -> None:
        finished = [upload.id for upload in self._uploads.values() if not upload.is_open]
        for upload_id in finished[:-MAX_REMEMBERED_JOBS]:
            del self._uploads[upload_id]


@asynccontextmanager
async def open_uploads(parent: Path, ttl: timedelta) -> AsyncIterator[Uploads]:
    """A place for uploads in a folder of its own below `parent`, swept until the block ends.

    Raises what `claim_folder` raises, and the block's own exceptions in a group.
    """
    folder, lock = await anyio.to_thread.run_sync(claim_folder, parent)
    uploads = Uploads(folder, ttl)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(uploads.sweep_for_ever)
            yield uploads
            tasks.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(release_folder, folder, lock)


@contextmanager
def _translated_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise ToolError(
            "storage_full", "The MCP server's disk is full. Try again later, or tell whoever runs the server."
        ) from error


def _write_chunk(path: Path, data: str, room: int) -> _Chunk:
    try:
        # The program `base64` wraps its lines.
        content = base64.b64decode(b"".join(data.encode("ascii").split()), validate=True)
    except ValueError as error:
        raise ToolError(
            "invalid_parameter",
            "data is not base64. Encode the chunk's bytes with the standard alphabet (A-Z a-z 0-9 + /) and padding, "
            "and send the chunk again.",
            parameter="data",
        ) from error
    if not content:
        raise ToolError("invalid_parameter", "data is empty. Send at least one byte.", parameter="data")
    if len(content) > room:
        raise ToolError(
            "invalid_parameter",
            f"The chunk has {len(content)} bytes, and only {room} are missing to the total_size of kb_upload_start. "
            "Check chunk_index and data, or begin again with the right total_size.",
            parameter="data",
        )
    with _translated_errors():
        path.parent.mkdir(exist_ok=True)
        try:
            path.write_bytes(content)
        except OSError:
            path.unlink(missing_ok=True)
            raise
    return _Chunk(path, len(content))


async def _send_joined(paths: list[Path], upload: Upload, send: Send) -> Json:
    whole = await anyio.to_thread.run_sync(_join, paths)
    try:
        return await send(whole, upload)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(whole.close)


def _join(paths: list[Path]) -> BinaryIO:
    """One file of all chunks, open at its beginning; it has lost its name, so that closing it removes it."""
    with _translated_errors():
        path_of_whole = paths[0].with_name(uuid.uuid4().hex)
        whole = path_of_whole.open("w+b")
        try:
            path_of_whole.unlink()
            for path in paths:
                with path.open("rb") as chunk:
                    shutil.copyfileobj(chunk, whole, BYTES_PER_MB)
            whole.seek(0)
        except OSError:
            whole.close()
            raise
    return whole


def _require_whole(upload: Upload) -> None:
    received, total = upload.received_bytes, upload.total_size
    missing = [index for index in range(max(upload.chunks, default=-1) + 1) if index not in upload.chunks]
    if not missing and received == total:
        return
    have = f"{received} of {total} bytes have arrived"
    if received == total:
        advice = f"All bytes have arrived, but no chunk {missing[0]}: begin again and count chunk_index from 0."
    elif missing:
        advice = f"{have}, and chunks are missing: {_render_indexes(missing)}. Send them and finish again."
    else:
        missing = [len(upload.chunks)]
        advice = f"{have}. Send the rest, beginning with chunk {missing[0]}, and finish again."
    raise ToolError(
        "incomplete_upload",
        advice,
        missing_chunks=missing[:MAX_NAMED_MISSING],
        received_bytes=received,
        total_size=total,
    )


def _render_indexes(indexes: list[int]) -> str:
    named = ", ".join(str(index) for index in indexes[:10])
    return named if len(indexes) <= 10 else f"{named} and {len(indexes) - 10} more"
