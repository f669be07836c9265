"""`knowledge-search`."""

from kb.client import Json
from kb.mcp.answers import fit_list
from kb.mcp.errors import ToolError
from kb.mcp.tools import Call

TOP_K = 10
NOTHING_FOUND = "No documents found matching your query"
NO_MORE = "There are no further results"


async def search(call: Call, arguments: Json) -> Json:
    query, offset = arguments["query"], arguments.get("offset", 0)
    filters = dict(arguments.get("filters", {}))
    if "format" in filters:
        filters["format"] = filters["format"].lower().lstrip(".")
    found = await call.engine.search(
        query,
        top=arguments.get("top_k", TOP_K),
        offset=offset,
        tags=filters.pop("tags", ()),
        filters=filters,
        min_relevance=arguments.get("min_relevance"),
    )
    results = [_to_result(hit) for hit in found["results"]]
    if not results and offset == 0:
        await _refuse_empty_base(call)
    answer = {
        "success": True,
        "query": query,
        "results": results,
        "total_results": len(results),
        **({} if results else {"message": NO_MORE if offset else NOTHING_FOUND}),
        "search_time_ms": round(found["took_ms"]),
        **({"degraded": True} if found["degraded"] else {}),
        **({"suggestion": found["suggestion"]} if found["suggestion"] else {}),
    }
    return fit_list(answer, "results", tool="knowledge-search", offset=offset)


def _to_result(hit: Json) -> Json:
    return {
        "document_id": hit["document_uuid"],
        "chunk_id": hit["chunk_uuid"],
        "filename": hit["filename"],
        "chunk_text": hit["text"],
        "relevance_score": hit["relevance"],
        "metadata": {
            **hit["metadata"],
            "title": hit["title"],
            "heading": hit["heading"],
            "tags": hit["tags"],
            "format": hit["format"],
            "page_num": hit["page_num"],
            "date_added": hit["created_at"],
        },
    }


async def _refuse_empty_base(call: Call) -> None:
    found = await call.engine.list_documents(limit=1)
    if found["total"] == 0:
        told = "Knowledge base is empty. Add documents with knowledge-add first"
        raise ToolError("empty_knowledge_base", told, document_count=0)
