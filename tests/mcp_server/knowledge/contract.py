"""The contract of the toolset `knowledge` as data: what its tools take and what they answer, and what we add to it.

Tests are made from these tables. A shape is an answer whose values say what may stand there: a value stands for
itself, a type for its values (`float` for any number), a pattern for texts, a list of one shape for a list of any
length, and a tuple for a choice.
"""

import re
from typing import Any, TypeAlias

Schemas: TypeAlias = dict[str, dict[str, Any]]  # Any: JSON Schema
Shape: TypeAlias = Any  # Any: see above

PARAMETERS: dict[str, Schemas] = {
    "knowledge-add": {
        "file_path": {"type": "string"},
        "metadata": {"type": "object"},
        "force_ocr": {"type": "boolean", "default": False},
        "async": {"type": "boolean", "default": True},
    },
    "knowledge-search": {
        "query": {"type": "string", "minLength": 1, "maxLength": 500},
        "top_k": {"type": "integer", "default": 10, "maximum": 50},
        "min_relevance": {"type": "number", "default": 0.0, "minimum": 0.0, "maximum": 1.0},
        "filters": {"type": "object"},
    },
    "knowledge-remove": {
        "document_id": {"type": "string"},
        "confirm": {"type": "boolean", "default": False},
    },
    "knowledge-show": {
        "limit": {"type": "integer", "default": 100, "maximum": 1000},
        "offset": {"type": "integer", "default": 0},
        "sort_by": {"type": "string", "enum": ["date_added", "filename", "size"]},
        "sort_order": {"type": "string", "enum": ["asc", "desc"], "default": "desc"},
    },
    "knowledge-clear": {
        "confirm": {"type": "boolean"},
        "confirmation_phrase": {"type": "string"},
    },
    "knowledge-status": {},
    "knowledge-task-status": {
        "task_id": {"type": "string", "format": "uuid"},
    },
}
REQUIRED: dict[str, list[str]] = {
    "knowledge-add": ["file_path"],
    "knowledge-search": ["query"],
    "knowledge-remove": ["document_id"],
    "knowledge-show": [],
    "knowledge-clear": ["confirm", "confirmation_phrase"],
    "knowledge-status": [],
    "knowledge-task-status": ["task_id"],
}
FILTERS = {"format", "date_range"}

# What we add: parameters of our own, and bounds where the contract names none.
ADDED_PARAMETERS: dict[str, Schemas] = {
    "knowledge-search": {"offset": {"type": "integer", "default": 0, "minimum": 0, "maximum": 10_000}},
    "knowledge-task-status": {"wait": {"type": "boolean", "default": False}},
}
ADDED_BOUNDS: dict[str, Schemas] = {
    "knowledge-add": {"file_path": {"minLength": 1, "maxLength": 4096}},
    "knowledge-search": {"top_k": {"minimum": 1}},
    "knowledge-remove": {"document_id": {"minLength": 1, "maxLength": 100}},
    "knowledge-show": {
        "limit": {"minimum": 1},
        "offset": {"minimum": 0, "maximum": 2**53},
        "sort_by": {"default": "date_added"},
    },
    "knowledge-task-status": {"task_id": {"maxLength": 36}},
}
ADDED_FILTERS = {"tags", "doc_type", "source_path", "metadata"}

CONFIRMATION = {"confirm": True, "confirmation_phrase": "DELETE ALL"}

UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
TEXT = re.compile(r".*\S.*", re.DOTALL)
CODE = re.compile(r"[a-z]+(_[a-z]+)*")
METHOD = ("text_extraction", "ocr", "image_analysis")

_KNOWLEDGE_BASE: Shape = {
    "name": "default",
    "document_count": int,
    "total_chunks": int,
    "total_size_bytes": int,
    "total_size_mb": float,
    "average_chunks_per_document": float,
    "storage_path": TEXT,
    "vector_db_path": TEXT,
}
_CONFIGURATION: Shape = {"embedding_model": TEXT, "chunk_size": int, "max_file_size_mb": int}

SHAPES: dict[str, Shape] = {
    "async add": {
        "success": True,
        "task_id": UUID,
        "message": "Document queued for processing",
        "estimated_time_seconds": int,
    },
    "sync add": {
        "success": True,
        "document_id": UUID,
        "filename": TEXT,
        "chunks_created": int,
        "processing_method": METHOD,
        "processing_time_seconds": float,
    },
    "unsupported format": {
        "success": False,
        "error": "unsupported_format",
        "message": re.compile(r"Unsupported file format: \.xyz\. .+"),
        "supported_formats": [CODE],
    },
    "file too large": {
        "success": False,
        "error": "file_too_large",
        "message": re.compile(r"File size \(\d+ MB\) exceeds maximum allowed size \(\d+ MB\)"),
        "max_size_mb": int,
    },
    "search": {
        "success": True,
        "query": TEXT,
        "results": [
            {
                "document_id": UUID,
                "chunk_id": UUID,
                "filename": TEXT,
                "chunk_text": TEXT,
                "relevance_score": float,
                "metadata": {"format": CODE, "page_num": (int, None), "date_added": TIME},
            }
        ],
        "total_results": int,
        "search_time_ms": int,
    },
    "no results": {
        "success": True,
        "query": TEXT,
        "results": [],
        "total_results": 0,
        "message": "No documents found matching your query",
        "search_time_ms": int,
    },
    "empty base": {
        "success": False,
        "error": "empty_knowledge_base",
        "message": "Knowledge base is empty. Add documents with knowledge-add first",
        "document_count": 0,
    },
    "remove": {
        "success": True,
        "document_id": UUID,
        "filename": TEXT,
        "chunks_removed": int,
        "message": "Document removed successfully",
    },
    "unconfirmed remove": {
        "success": False,
        "error": "confirmation_required",
        "message": "Set confirm=true to remove this document",
        "document": {"id": UUID, "filename": TEXT, "chunks": int},
    },
    "document not found": {
        "success": False,
        "error": "document_not_found",
        "message": re.compile(r"Document with ID '.+' not found"),
        "document_id": str,
    },
    "show": {
        "success": True,
        "documents": [
            {
                "id": UUID,
                "filename": TEXT,
                "format": CODE,
                "size_bytes": int,
                "date_added": TIME,
                "chunk_count": int,
                "processing_status": "completed",
                "processing_method": METHOD,
            }
        ],
        "total_count": int,
        "limit": int,
        "offset": int,
    },
    "empty show": {"success": True, "documents": [], "total_count": 0, "message": "Knowledge base is empty"},
    "clear": {
        "success": True,
        "documents_removed": int,
        "embeddings_removed": int,
        "storage_freed_mb": float,
        "message": "Knowledge base cleared successfully",
    },
    "unconfirmed clear": {
        "success": False,
        "error": "confirmation_required",
        "message": (
            "This action will delete ALL documents. Set confirm=true and confirmation_phrase='DELETE ALL' to proceed"
        ),
        "current_document_count": int,
    },
    "status": {
        "success": True,
        "knowledge_base": _KNOWLEDGE_BASE,
        "health": {
            "status": "healthy",
            "vector_db_connected": True,
            "storage_accessible": True,
            "embedding_model_loaded": True,
        },
        "configuration": _CONFIGURATION,
        "last_updated": TIME,
    },
    "unhealthy status": {
        "success": True,
        "knowledge_base": _KNOWLEDGE_BASE,
        "health": {
            "status": "degraded",
            "vector_db_connected": bool,
            "storage_accessible": bool,
            "embedding_model_loaded": bool,
            "issues": [TEXT],
        },
    },
    "running task": {
        "success": True,
        "task_id": UUID,
        "status": "running",
        "progress": float,
        "current_step": TEXT,
        "completed_steps": int,
        "total_steps": int,
        "elapsed_time_seconds": float,
        "estimated_remaining_seconds": float,
    },
    "completed task": {
        "success": True,
        "task_id": UUID,
        "status": "completed",
        "progress": 1.0,
        "result": {"document_id": UUID, "filename": TEXT, "chunks_created": int},
        "total_time_seconds": float,
    },
    "failed task": {
        "success": False,
        "task_id": UUID,
        "status": "failed",
        "error": CODE,
        "message": TEXT,
        "elapsed_time_seconds": float,
    },
    "protocol error": {
        "jsonrpc": "2.0",
        "id": (str, int, None),
        "error": {"code": int, "message": TEXT, "data": {"error_type": CODE}},
    },
    "progress": {
        "jsonrpc": "2.0",
        "method": "notifications/progress",
        "params": {"progressToken": TEXT, "progress": float, "total": 1.0, "message": TEXT},
    },
    "tool result": {"jsonrpc": "2.0", "id": "1", "result": {"content": [{"type": "text", "text": TEXT}]}},
    "initialize": {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {"listChanged": True}, "prompts": {"listChanged": False}},
        "serverInfo": {"name": "knowledge-server", "version": re.compile(r"\d+\.\d+\.\d+")},
    },
}

# Answers where the contract has none.
SHAPES |= {
    "file not found": {"success": False, "error": "file_not_found", "message": TEXT, "file_path": TEXT},
    "path not allowed": {"success": False, "error": "path_not_allowed", "message": TEXT, "file_path": TEXT},
    "file not readable": {"success": False, "error": "file_not_readable", "message": TEXT, "file_path": TEXT},
    "failed add": {"success": False, "error": CODE, "message": TEXT, "task_id": UUID},
    "queued task": {**SHAPES["running task"], "status": "queued", "progress": 0.0},
    "cancelled task": {
        "success": True,
        "task_id": UUID,
        "status": "cancelled",
        "progress": float,
        "elapsed_time_seconds": float,
    },
    "task not found": {"success": False, "error": "task_not_found", "message": TEXT, "task_id": UUID},
    "task cancellation": {"taskId": UUID, "status": "cancelled"},
    "missing parameter": {
        "success": False,
        "error": "missing_required_parameter",
        "message": TEXT,
        "parameter": TEXT,
        "missing_parameters": [TEXT],
    },
    "wrong parameter": {"success": False, "error": "invalid_parameter", "message": TEXT, "parameter": TEXT},
    "empty status": {
        **SHAPES["status"],
        "knowledge_base": {**_KNOWLEDGE_BASE, "document_count": 0, "average_chunks_per_document": 0.0},
        "last_updated": None,
    },
}

_CONTINUATION: Shape = {"truncated": True, "next_offset": int, "continue_with": TEXT}

# Fields that an answer may have beyond its shape.
ADDITIONS: dict[str, Shape] = {
    "sync add": {"duplicate": True},
    "search": {
        "results": [
            {"metadata": {"title": TEXT, "heading": (TEXT, None), "tags": [TEXT], "pages": int, "author": TEXT}}
        ],
        "degraded": True,
        "suggestion": TEXT,
        **_CONTINUATION,
    },
    "no results": {"degraded": True, "suggestion": TEXT},
    "show": _CONTINUATION,
    "unhealthy status": {"configuration": _CONFIGURATION, "last_updated": (TIME, None)},
    "completed task": {"result": {"duplicate": True}},
    "protocol error": {"error": {"data": {"details": dict, "parameter": TEXT, "tool": TEXT, "task_id": str}}},
    "tool result": {"result": {"structuredContent": dict, "isError": bool, "_meta": {"kb/untrusted": str}}},
    "initialize": {
        "capabilities": {"experimental": {}, "resources": dict, "logging": {}},
        "serverInfo": {"title": TEXT},
        "instructions": TEXT,
    },
}
