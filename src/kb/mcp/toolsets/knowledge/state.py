"""`knowledge-status` and `knowledge-task-status`."""

from kb.client import FINISHED, Json
from kb.mcp.errors import ToolError
from kb.mcp.tasks import get_task
from kb.mcp.tools import Call
from kb.mcp.toolsets.jobs import describe_step, follow_job
from kb.mcp.toolsets.knowledge.estimates import estimate_seconds
from kb.sizes import BYTES_PER_MB


async def tell_status(call: Call, arguments: Json) -> Json:
    status = await call.engine.get_status()
    documents, chunks, size_bytes = status["documents"]["total"], status["chunks"], status["size_bytes"]
    health = {name: value for name, value in status["health"].items() if name != "issues" or value}
    settings = status["configuration"]
    return {
        "success": True,
        "knowledge_base": {
            "name": "default",
            "document_count": documents,
            "total_chunks": chunks,
            "total_size_bytes": size_bytes,
            "total_size_mb": round(size_bytes / BYTES_PER_MB, 2),
            "average_chunks_per_document": round(chunks / documents, 1) if documents else 0.0,
            "storage_path": status["storage"]["originals"],
            # Vectors stand in the database, and that in the engine's folder.
            "vector_db_path": status["storage"]["data_dir"],
        },
        "health": health,
        "configuration": {name: settings[name] for name in ("embedding_model", "chunk_size", "max_file_size_mb")},
        "last_updated": status["last_updated"],
    }


async def tell_task_status(call: Call, arguments: Json) -> Json:
    job = await get_task(call.engine, arguments["task_id"])
    if arguments.get("wait", False):
        job = await follow_job(call, job)
    if job["status"] == "failed":
        failure = job["error"]
        raise ToolError(
            failure["code"],
            failure["message"],
            task_id=job["uuid"],
            status=job["status"],
            elapsed_time_seconds=job["elapsed_seconds"],
        )
    told = _tell_end(job) if job["status"] in FINISHED else _tell_course(job)
    return {"success": True, "task_id": job["uuid"], "status": job["status"], **told}


def _tell_course(job: Json) -> Json:
    elapsed = job["elapsed_seconds"] or 0.0
    remaining = job["estimated_remaining_seconds"]
    if remaining is None:
        remaining = round(max(estimate_seconds(job["filename"]) - elapsed, 1.0), 1)
    return {
        "progress": job["progress"],
        "current_step": job["current_step"] or describe_step(job),
        "completed_steps": job["completed_steps"],
        "total_steps": job["total_steps"],
        "elapsed_time_seconds": elapsed,
        "estimated_remaining_seconds": remaining,
    }


def _tell_end(job: Json) -> Json:
    if job["status"] == "cancelled":
        return {"progress": job["progress"], "elapsed_time_seconds": job["elapsed_seconds"] or 0.0}
    return {
        "progress": 1.0,
        "result": {
            "document_id": job["document_uuid"],
            "filename": job["filename"],
            "chunks_created": job["chunks_created"],
            **({"duplicate": True} if job["duplicate"] else {}),
        },
        "total_time_seconds": job["elapsed_seconds"],
    }
