"""The toolset `knowledge`: documents, chunks and tasks are named by UUIDs, and every answer says whether it succeeded.

Parameters and shapes are a contract of others, kept to the letter. What is more than that: `offset` of
`knowledge-search`, so that a long answer can be continued, `tags` among its filters, and `wait` of
`knowledge-task-status`.
"""

from kb.client import CONFIRMATION_PHRASE
from kb.mcp.tools import Effect, Schema, Tool
from kb.mcp.toolsets.knowledge.adding import add
from kb.mcp.toolsets.knowledge.documents import DOCUMENTS_AT_ONCE, clear, remove, show
from kb.mcp.toolsets.knowledge.searching import TOP_K, search
from kb.mcp.toolsets.knowledge.state import tell_status, tell_task_status
from kb.mcp.toolsets.parameters import CONTINUATION, FILTERS, OFFSET, TAGS, TEXT_PATTERN, TITLE, UNTRUSTED

UUID_PATTERN = "^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$"

_COUNT: Schema = {"type": "integer"}
_NUMBER: Schema = {"type": "number"}
_TEXT: Schema = {"type": "string"}
_OBJECT: Schema = {"type": "object"}
_OBJECTS: Schema = {"type": "array", "items": _OBJECT}
_DOCUMENT_ID: Schema = {"type": "string", "description": "the document's UUID"}
_TASK_ID: Schema = {"type": "string", "description": "the task's UUID"}

_SEARCH = Tool(
    name="knowledge-search",
    title="Search the knowledge base",
    description=(
        "Search the knowledge base using natural language query. Use it before you answer from memory on anything the "
        "user may have stored; not for a list of what there is: that is knowledge-show. Each result is a passage with "
        "its document, page and relevance. For a complex question search in 2-3 phrasings and merge the results by "
        "chunk_id. " + UNTRUSTED
    ),
    effect=Effect.READS,
    run=search,
    parameters={
        "query": {
            "type": "string",
            "minLength": 1,
            "maxLength": 500,
            "pattern": TEXT_PATTERN,
            "description": "Natural language search query.",
        },
        "top_k": {
            "type": "integer",
            "minimum": 1,
            "maximum": 50,
            "default": TOP_K,
            "description": "Number of results to return.",
        },
        "min_relevance": {
            "type": "number",
            "minimum": 0.0,
            "maximum": 1.0,
            "default": 0.0,
            "description": "Minimum relevance score (0.0 to 1.0).",
        },
        "filters": {
            **FILTERS,
            "properties": {
                **FILTERS["properties"],
                "tags": {**TAGS, "maxItems": 100, "description": "Only documents that have all of these tags."},
            },
        },
        "offset": {**OFFSET, "description": "Skip so many results: next_offset of the answer before."},
    },
    required=("query",),
    answers={
        "query": _TEXT,
        "results": {**_OBJECTS, "description": "the passages found, best first"},
        "total_results": _COUNT,
        "search_time_ms": _COUNT,
        "degraded": {"type": "boolean", "description": "true if only one way of finding worked: by keyword, mostly"},
        "suggestion": {"type": "string", "description": "a likely correction of the query"},
        "document_count": _COUNT,
        **CONTINUATION,
    },
)

_ADD = Tool(
    name="knowledge-add",
    title="Add a file",
    description=(
        "Add a document or image to the knowledge base for semantic search: PDF, DOCX, PPTX, XLSX, HTML, JPG, PNG, "
        "SVG, plain text and more; scans are recognised. The file must lie on the machine of this server, in a folder "
        "that it may read. Answers a task_id at once: ask knowledge-task-status whether it is done. With async false "
        "it answers when the document can be found, which may take minutes for a scan. A file that was added before "
        "is replaced if it has changed; one that has not gets the new tags, nothing else."
    ),
    effect=Effect.ADDS,
    run=add,
    parameters={
        "file_path": {
            "type": "string",
            "minLength": 1,
            "maxLength": 4096,
            "description": "Path to the document or image file.",
        },
        "metadata": {
            "type": "object",
            "properties": {
                "title": {**TITLE, "description": "Default: the document's own title, or its file name."},
                "tags": {**TAGS, "description": "Become tags of the document."},
            },
            "description": "Additional metadata (author, title, tags), any fields.",
        },
        "force_ocr": {
            "type": "boolean",
            "default": False,
            "description": "Force OCR even if text extraction available.",
        },
        "async": {
            "type": "boolean",
            "default": True,
            "description": "Process asynchronously and return task ID.",
        },
    },
    required=("file_path",),
    answers={
        "task_id": _TASK_ID,
        "estimated_time_seconds": _NUMBER,
        "document_id": _DOCUMENT_ID,
        "filename": _TEXT,
        "chunks_created": _COUNT,
        "processing_method": {"type": "string", "description": "text_extraction, ocr or image_analysis"},
        "processing_time_seconds": _NUMBER,
        "duplicate": {"type": "boolean", "description": "true if the same file was there already"},
    },
    is_idempotent=True,
)

_REMOVE = Tool(
    name="knowledge-remove",
    title="Remove a document",
    description=(
        "Remove a specific document from the knowledge base, with its text and stored file. It cannot be undone: do it "
        "only if the user wants it. Without confirm=true it removes nothing and shows which document it would be. To "
        "remove everything use knowledge-clear."
    ),
    effect=Effect.CHANGES,
    run=remove,
    parameters={
        "document_id": {
            "type": "string",
            "minLength": 1,
            "maxLength": 100,
            "description": "ID of document to remove: a UUID, as knowledge-search and knowledge-show tell it.",
        },
        "confirm": {"type": "boolean", "default": False, "description": "Confirmation flag for safety."},
    },
    required=("document_id",),
    answers={
        "document_id": _DOCUMENT_ID,
        "filename": _TEXT,
        "chunks_removed": _COUNT,
        "document": {**_OBJECT, "description": "what would be removed"},
    },
    is_idempotent=True,
)

_SHOW = Tool(
    name="knowledge-show",
    title="List the documents",
    description=(
        "List all documents in the knowledge base with metadata: file name, format, size, when it was added. Use it to "
        "see what there is or to find a document's ID; to find what documents say use knowledge-search. " + UNTRUSTED
    ),
    effect=Effect.READS,
    run=show,
    parameters={
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": 1000,
            "default": DOCUMENTS_AT_ONCE,
            "description": "Max documents to return.",
        },
        "offset": {**OFFSET, "maximum": 2**53, "description": "Pagination offset."},
        "sort_by": {
            "type": "string",
            "enum": ["date_added", "filename", "size"],
            "default": "date_added",
            "description": "Sort field.",
        },
        "sort_order": {"type": "string", "enum": ["asc", "desc"], "default": "desc", "description": "Sort order."},
    },
    answers={
        "documents": _OBJECTS,
        "total_count": _COUNT,
        "limit": _COUNT,
        "offset": _COUNT,
        **CONTINUATION,
    },
)

_CLEAR = Tool(
    name="knowledge-clear",
    title="Remove all documents",
    description=(
        "Remove all documents from the knowledge base. It cannot be undone: do it only if the user asked for exactly "
        "this. Anything but both right values removes nothing and tells how many documents there are. To remove one "
        "document use knowledge-remove."
    ),
    effect=Effect.CHANGES,
    run=clear,
    parameters={
        "confirm": {"type": "boolean", "description": "Must be true to clear."},
        "confirmation_phrase": {"type": "string", "description": f'Must be "{CONFIRMATION_PHRASE}".'},
    },
    required=("confirm", "confirmation_phrase"),
    answers={
        "documents_removed": _COUNT,
        "embeddings_removed": _COUNT,
        "storage_freed_mb": _NUMBER,
        "current_document_count": _COUNT,
    },
    is_idempotent=True,
    judges_values=True,
)

_STATUS = Tool(
    name="knowledge-status",
    title="See the state of the knowledge base",
    description=(
        "Get knowledge base statistics and health status: how many documents, how large, which embedding model, and "
        "what is wrong if something is. Use it when something does not work or the user asks about the knowledge base "
        "itself; not before every search."
    ),
    effect=Effect.READS,
    run=tell_status,
    answers={
        "knowledge_base": _OBJECT,
        "health": _OBJECT,
        "configuration": _OBJECT,
        "last_updated": {"type": ["string", "null"]},
    },
)

_TASK_STATUS = Tool(
    name="knowledge-task-status",
    title="Look at a task",
    description=(
        "Get status of an async processing task that knowledge-add has begun: how far it is and how long it may still "
        "take, the document it has become, or why it failed. With wait=true it answers when the task has ended, or "
        "after 50 seconds if you are not told of progress."
    ),
    effect=Effect.READS,
    run=tell_task_status,
    parameters={
        "task_id": {
            "type": "string",
            "format": "uuid",
            "pattern": UUID_PATTERN,
            # No line end behind it, which the pattern lets through.
            "maxLength": 36,
            "description": "Task ID returned from async operation.",
        },
        "wait": {"type": "boolean", "default": False, "description": "Answer only when the task has ended."},
    },
    required=("task_id",),
    answers={
        "task_id": _TASK_ID,
        "status": {"type": "string", "description": "queued, running, completed, failed or cancelled"},
        "progress": _NUMBER,
        "current_step": _TEXT,
        "completed_steps": _COUNT,
        "total_steps": _COUNT,
        "elapsed_time_seconds": {"type": ["number", "null"]},
        "estimated_remaining_seconds": _NUMBER,
        "result": {**_OBJECT, "description": "the document that the task has become"},
        "total_time_seconds": _NUMBER,
    },
)

KNOWLEDGE_TOOLS: tuple[Tool, ...] = (_SEARCH, _ADD, _TASK_STATUS, _SHOW, _REMOVE, _CLEAR, _STATUS)
