"""`knowledge-add`: a file of this machine becomes a document."""

import asyncio
import logging
import math
from contextlib import ExitStack, suppress
from functools import partial

import anyio.lowlevel
import httpx

from kb.client import FINISHED, EngineClient, Json
from kb.client.sending import run_in_own_thread
from kb.mcp.errors import EngineTrouble, ToolError, read_problem
from kb.mcp.file_roots import OpenedFile
from kb.mcp.tasks import cancel_task
from kb.mcp.tools import Call
from kb.mcp.toolsets.jobs import ANSWER_WITHIN_SECONDS, follow_job
from kb.mcp.toolsets.knowledge.estimates import estimate_seconds
from kb.sizes import BYTES_PER_MB

log = logging.getLogger(__name__)

# A disk that has not answered by then is not there.
OPEN_WITHIN_SECONDS = 30.0
TAKE_BACK_AFTER_SECONDS = (0, 0.5, 1, 2, 4, 8, 15, 30, 60)


async def add(call: Call, arguments: Json) -> Json:
    async with call.files.turns:
        job, size_bytes = await _send(call, arguments)
    # If the caller has cancelled meanwhile, this is where it is learned.
    await anyio.lowlevel.checkpoint_if_cancelled()
    if arguments.get("async", True):
        return _tell_queued(job, "Document queued for processing", size_bytes)
    job = await follow_job(call, job)
    if job["status"] not in FINISHED:
        message = (
            f"Document still being processed after {ANSWER_WITHIN_SECONDS:.0f} seconds. It goes on: look at "
            "knowledge-task-status with this task_id."
        )
        return _tell_queued(job, message, size_bytes)
    return await _tell_added(call, job)


async def _send(call: Call, arguments: Json) -> tuple[Json, int]:
    """The job and the size of the file. Raises `ToolError` if there is no such file or the engine refuses it."""
    path = arguments["file_path"]
    try:
        with ExitStack() as closing:
            opening = partial(closing.enter_context, call.files.open_file(path))
            file = await run_in_own_thread(opening, within_seconds=OPEN_WITHIN_SECONDS)
            await _check_size(call.engine, file)
            # A cancellation waits meanwhile, or nobody would know whether the engine has got the file.
            with anyio.CancelScope(shield=True):
                job = await _submit(call.engine, file, arguments)
                call.undoings.append(partial(_take_back, call.engine, job))
    except OSError as error:
        told = f"The file could not be read to its end: {error.strerror or error}. Try again when nobody changes it."
        raise ToolError("file_not_readable", told, file_path=path) from error
    return job, file.size_bytes


async def _check_size(engine: EngineClient, file: OpenedFile) -> None:
    """The engine would say the same, but only when all of it is sent."""
    if file.size_bytes == 0:
        raise ToolError("file_not_readable", "The file is empty. Add it when there is something in it.")
    max_mb = (await engine.get_status())["configuration"]["max_file_size_mb"]
    if file.size_bytes > max_mb * BYTES_PER_MB:
        size_mb = math.ceil(file.size_bytes / BYTES_PER_MB)
        told = f"File size ({size_mb} MB) exceeds maximum allowed size ({max_mb} MB)"
        raise ToolError("file_too_large", told, max_size_mb=max_mb)


async def _submit(engine: EngineClient, file: OpenedFile, arguments: Json) -> Json:
    """The job. Raises `ToolError` if the file is of no supported format, `OSError` if it cannot be read."""
    metadata = dict(arguments.get("metadata", {}))
    title, tags = metadata.pop("title", None), metadata.pop("tags", ())
    try:
        return await engine.submit_file(
            (file.path.name, file.content),
            title=title,
            tags=tags,
            source_path=str(file.path),
            metadata=metadata,
            force_ocr=arguments.get("force_ocr", False),
        )
    except httpx.HTTPStatusError as error:
        problem = read_problem(error.response)
        if problem.get("code") != "unsupported_format":
            raise
        told = f"Unsupported file format: {file.path.suffix or 'no extension'}. {problem['detail']}"
        raise ToolError("unsupported_format", told, supported_formats=problem["supported_formats"]) from error


async def _take_back(engine: EngineClient, job: Json) -> None:
    """Cancel it, also if the engine is just being started anew: it would take the job up again."""
    for pause in TAKE_BACK_AFTER_SECONDS:
        await asyncio.sleep(pause)
        with suppress(*EngineTrouble):
            await cancel_task(engine, job["uuid"])
            return
    log.warning("Task %s was cancelled, but the engine could not be told; it may become a document.", job["uuid"])


def _tell_queued(job: Json, message: str, size_bytes: int) -> Json:
    return {
        "success": True,
        "task_id": job["uuid"],
        "message": message,
        "estimated_time_seconds": estimate_seconds(job["filename"], size_bytes),
    }


async def _tell_added(call: Call, job: Json) -> Json:
    if job["status"] == "failed":
        failure = job["error"]
        raise ToolError(failure["code"], failure["message"], task_id=job["uuid"])
    if job["status"] == "cancelled":
        raise ToolError("task_cancelled", "The task was cancelled; nothing was added.", task_id=job["uuid"])
    document = await call.engine.get_document(job["document_uuid"], chunks=False)
    return {
        "success": True,
        "document_id": job["document_uuid"],
        "filename": job["filename"],
        "chunks_created": job["chunks_created"],
        "processing_method": document["processing_method"],
        "processing_time_seconds": job["elapsed_seconds"],
        **({"duplicate": True} if job["duplicate"] else {}),
    }
