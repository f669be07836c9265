"""The three tools by which an agent on another machine sends a file."""

from typing import BinaryIO

from kb.client import Json
from kb.mcp.errors import ToolError
from kb.mcp.tools import Call, Effect, Schema, Tool
from kb.mcp.toolsets.jobs import accept_job
from kb.mcp.toolsets.parameters import JOB, TAGS
from kb.mcp.uploads import MAX_CHUNKS, MAX_STAGED_BYTES, Upload
from kb.sizes import BYTES_PER_MB

# Small enough for every client to send in one message, and a file of 100 MB is still only a hundred of them.
CHUNK_BYTES = BYTES_PER_MB

_UPLOAD_ID: Schema = {"type": "string", "minLength": 1, "maxLength": 100, "description": "From kb_upload_start."}


async def _start(call: Call, arguments: Json) -> Json:
    status = await call.engine.get_status()
    max_mb = min(status["configuration"]["max_file_size_mb"], MAX_STAGED_BYTES // BYTES_PER_MB)
    if arguments["total_size"] > max_mb * BYTES_PER_MB:
        raise ToolError(
            "file_too_large",
            f"The largest accepted file is {max_mb} MB ({max_mb * BYTES_PER_MB} bytes). Split the file, or add what "
            "matters of it as notes.",
            max_size_mb=max_mb,
        )
    upload = call.uploads.start(
        call.caller,
        filename=arguments["filename"],
        total_size=arguments["total_size"],
        tags=arguments.get("tags", ()),
    )
    return {"upload_id": upload.id, "chunk_size": CHUNK_BYTES, "expires_in_seconds": int(call.uploads.ttl_seconds)}


async def _add_chunk(call: Call, arguments: Json) -> Json:
    upload_id, index = arguments["upload_id"], arguments["chunk_index"]
    received = await call.uploads.add_chunk(call.caller, upload_id, index, arguments["data"])
    return {"upload_id": upload_id, "chunk_index": index, "received_bytes": received}


async def _finish(call: Call, arguments: Json) -> Json:
    async def send(file: BinaryIO, upload: Upload) -> Json:
        # By the key, a file that did arrive although its answer was lost is not added twice.
        return await call.engine.submit_file((upload.filename, file), tags=upload.tags, idempotency_key=upload.id)

    return accept_job(await call.uploads.finish(call.caller, arguments["upload_id"], send))


UPLOAD_TOOLS = (
    Tool(
        name="kb_upload_start",
        title="Begin to upload a file",
        description=(
            "Begin to send a file to the knowledge base, in three steps. For text that you write "
            "yourself use kb_addnote instead. Example, a report.md of 2,500,000 bytes: "
            '1. kb_upload_start {"filename": "report.md", "total_size": 2500000} answers {"upload_id": "U", '
            '"chunk_size": 1048576}. '
            "2. Cut the file's bytes into chunks of 1 MB (1,048,576 bytes before base64; the last one is shorter) and "
            'send each: kb_upload_chunk {"upload_id": "U", "chunk_index": 0, "data": "<base64 of bytes 0 to '
            '1048575>"}, then chunk_index 1 and 2. '
            '3. kb_upload_finish {"upload_id": "U"} answers the job_id.'
        ),
        effect=Effect.ADDS,
        run=_start,
        parameters={
            "filename": {
                "type": "string",
                "minLength": 1,
                "maxLength": 255,
                "description": "With its extension; the format is told by content and extension.",
            },
            "total_size": {"type": "integer", "minimum": 1, "description": "The file's size in bytes."},
            "tags": {**TAGS, "description": "Tags of the new document, exactly these."},
        },
        required=("filename", "total_size"),
        answers={
            "upload_id": {"type": "string"},
            "chunk_size": {"type": "integer", "description": "recommended bytes in a chunk, before base64"},
            "expires_in_seconds": {
                "type": "integer",
                "description": "so long after its last chunk an upload that is not finished is removed",
            },
        },
    ),
    Tool(
        name="kb_upload_chunk",
        title="Send a chunk of a file",
        description=(
            "Send one piece of a file after kb_upload_start: 1 MB (1,048,576 bytes) before base64, or less. Chunks "
            "may come in any order and at once; a chunk sent again with the same chunk_index replaces the former, so "
            'repeat it if you are unsure. Example: {"upload_id": "U", "chunk_index": 0, "data": "IyBSZXBvcnQK"}. '
            "After the last one call kb_upload_finish."
        ),
        effect=Effect.ADDS,
        run=_add_chunk,
        parameters={
            "upload_id": _UPLOAD_ID,
            "data": {"type": "string", "minLength": 1, "description": "The chunk's bytes in standard base64."},
            "chunk_index": {
                "type": "integer",
                "minimum": 0,
                "maximum": MAX_CHUNKS - 1,
                "description": "0 for the first piece of the file, 1 for the next, ...",
            },
        },
        required=("upload_id", "data", "chunk_index"),
        answers={
            "upload_id": {"type": "string"},
            "chunk_index": {"type": "integer"},
            "received_bytes": {"type": "integer", "description": "of the whole upload so far"},
        },
        is_idempotent=True,
    ),
    Tool(
        name="kb_upload_finish",
        title="Finish an upload",
        description=(
            "Add the uploaded file to the knowledge base, once all chunks are sent. Answers a job_id at once, while "
            "the file is still being read: follow it with kb_jobs. If chunks are missing it says which; send them and "
            'call it again. Example: {"upload_id": "U"}.'
        ),
        effect=Effect.ADDS,
        run=_finish,
        parameters={"upload_id": _UPLOAD_ID},
        required=("upload_id",),
        answers=JOB,
        is_idempotent=True,
    ),
)
