"""`knowledge-show`, `knowledge-remove` and `knowledge-clear`."""

import uuid
from functools import partial

from kb.client import CONFIRMATION_PHRASE, Json
from kb.mcp.answers import fit_list
from kb.mcp.errors import ToolError, absence_told
from kb.mcp.tools import Call
from kb.sizes import BYTES_PER_MB

DOCUMENTS_AT_ONCE = 100


async def show(call: Call, arguments: Json) -> Json:
    limit, offset = arguments.get("limit", DOCUMENTS_AT_ONCE), arguments.get("offset", 0)
    found = await call.engine.list_documents(
        sort=arguments.get("sort_by", "date_added"),
        order=arguments.get("sort_order", "desc"),
        limit=limit,
        offset=offset,
    )
    if found["total"] == 0:
        return {"success": True, "documents": [], "total_count": 0, "message": "Knowledge base is empty"}
    answer = {
        "success": True,
        "documents": [_to_document(document) for document in found["documents"]],
        "total_count": found["total"],
        "limit": limit,
        "offset": offset,
    }
    return fit_list(answer, "documents", tool="knowledge-show", offset=offset, end=found["total"])


async def remove(call: Call, arguments: Json) -> Json:
    document_id = arguments["document_id"]
    absence = partial(
        absence_told, "document_not_found", f"Document with ID '{document_id}' not found", document_id=document_id
    )
    with absence():
        # Never as it was given: the engine would take a number for the id of any document.
        document = await call.engine.get_document(str(uuid.UUID(document_id)), chunks=False)
    if not arguments.get("confirm", False):
        raise ToolError(
            "confirmation_required",
            "Set confirm=true to remove this document",
            document={"id": document["uuid"], "filename": document["filename"], "chunks": document["chunk_count"]},
        )
    with absence():
        removed = await call.engine.delete_document(document["uuid"])
    return {
        "success": True,
        "document_id": document["uuid"],
        "filename": document["filename"],
        "chunks_removed": removed["chunks_removed"],
        "message": "Document removed successfully",
    }


async def clear(call: Call, arguments: Json) -> Json:
    """Takes whatever it is given: all but the two right values is a question, not a mistake."""
    if arguments.get("confirm") is not True or arguments.get("confirmation_phrase") != CONFIRMATION_PHRASE:
        count = (await call.engine.list_documents(limit=1))["total"]
        raise ToolError(
            "confirmation_required",
            f"This action will delete ALL documents. Set confirm=true and confirmation_phrase='{CONFIRMATION_PHRASE}' "
            "to proceed",
            current_document_count=count,
        )
    cleared = await call.engine.clear_documents(confirm=True, confirmation_phrase=CONFIRMATION_PHRASE)
    return {
        "success": True,
        "documents_removed": cleared["documents_removed"],
        "embeddings_removed": cleared["embeddings_removed"],
        "storage_freed_mb": round(cleared["bytes_freed"] / BYTES_PER_MB, 2),
        "message": "Knowledge base cleared successfully",
    }


def _to_document(document: Json) -> Json:
    return {
        "id": document["uuid"],
        "filename": document["filename"],
        "format": document["format"],
        "size_bytes": document["size_bytes"],
        "date_added": document["created_at"],
        "chunk_count": document["chunk_count"],
        "processing_status": document["processing_status"],
        "processing_method": document["processing_method"],
    }
