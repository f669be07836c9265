"""The toolset `kb`: the knowledge base as it is, each answer the engine's JSON.

The functions of tools that tell of documents take a `show`, by which another toolset shows them in its own way.
"""

from collections.abc import Callable
from typing import TypeAlias

from kb.client import Json
from kb.mcp.answers import fit_document, fit_list
from kb.mcp.errors import ToolError
from kb.mcp.tools import Call, Effect, Tool
from kb.mcp.toolsets.jobs import accept_job, wait_for_document
from kb.mcp.toolsets.kb_uploads import UPLOAD_TOOLS
from kb.mcp.toolsets.parameters import (
    DOCUMENT,
    DOCUMENT_ID,
    DOCUMENT_WITH_TEXT,
    DOCUMENTS,
    FILTERS,
    HITS,
    ID,
    JOB,
    JOBS,
    NOTE_TEXT,
    OFFSET,
    SOURCE_PATH,
    TAGS,
    TEXT_PATTERN,
    TITLE,
    UNTRUSTED,
)

# More would hardly fit into an answer.
PAGE_SIZE = 100
JOBS_AT_ONCE = 20


Show: TypeAlias = Callable[[Json], Json]


def as_it_is(answer: Json) -> Json:
    return answer


async def search(call: Call, arguments: Json, *, show: Show = as_it_is) -> Json:
    answer = show(await call.engine.search(**arguments))
    return fit_list(answer, "results", tool="kb_search", offset=arguments.get("offset", 0))


async def get(call: Call, arguments: Json, *, show: Show = as_it_is) -> Json:
    offset = arguments.get("chunk_offset", 0)
    match arguments:
        case {"document_id": _, "source_path": _}:
            message = "Give document_id or source_path, not both."
            raise ToolError("invalid_parameter", message, parameter="source_path")
        case {"document_id": document_id}:
            document = await call.engine.get_document(document_id, chunk_limit=PAGE_SIZE, chunk_offset=offset)
            return fit_document(show(document), chunk_offset=offset)
        case {"source_path": source_path}:
            found = await call.engine.list_documents(source_path=source_path, limit=PAGE_SIZE, offset=offset)
            end = found["total"]
            return fit_list(show(found), "documents", tool="kb_get", offset=offset, parameter="chunk_offset", end=end)
        case _:
            message = "kb_get needs document_id or source_path."
            raise ToolError("missing_required_parameter", message, parameter="document_id")


async def _add_note(call: Call, arguments: Json) -> Json:
    job = await call.engine.submit_note(**{name: value for name, value in arguments.items() if name != "wait"})
    return await wait_for_document(call, job) if arguments.get("wait") else accept_job(job)


async def update_note(call: Call, arguments: Json, *, show: Show = as_it_is) -> Json:
    document = await call.engine.update_note(
        arguments["document_id"],
        arguments["text"],
        title=arguments.get("title"),
        expected_version=arguments.get("version"),
    )
    return fit_document(show(document))


async def change_tags(call: Call, arguments: Json, *, show: Show = as_it_is) -> Json:
    return fit_document(show(await call.engine.change_tags(**arguments)))


async def _delete(call: Call, arguments: Json) -> Json:
    return await call.engine.delete_document(arguments["document_id"])


async def _jobs(call: Call, arguments: Json) -> Json:
    if "job_id" in arguments:
        return {"jobs": [await call.engine.get_job(arguments["job_id"])]}
    answer = await call.engine.list_jobs(**{"limit": JOBS_AT_ONCE, **arguments})
    offset = arguments.get("offset", 0)
    return fit_list(answer, "jobs", tool="kb_jobs", offset=offset, end=answer["total"])


async def _status(call: Call, arguments: Json) -> Json:
    return await call.engine.get_status()


_DOCUMENT_TOOLS = (
    Tool(
        name="kb_search",
        title="Search the knowledge base",
        description=(
            "Search the user's documents and notes by words and by meaning. Use it before you answer from memory on "
            "anything the user may have stored. Not for reading a document whose id you know: that is kb_get. Each "
            "result is a chunk of a document, with its text, score, tags and document_id, and the title, heading and "
            "page_num to name in your answer, so that the user can look it up. For a complex question expand it into "
            "2-3 phrasings, call this tool once for each, merge the results by chunk_id, and rerank them with your own "
            'judgement. Words in "double quotes" must stand together; -word excludes. ' + UNTRUSTED
        ),
        effect=Effect.READS,
        run=search,
        parameters={
            "query": {
                "type": "string",
                "minLength": 1,
                "maxLength": 10_000,
                "pattern": TEXT_PATTERN,
                "description": "A question or words, in any language.",
            },
            "top": {
                "type": "integer",
                "minimum": 1,
                "maximum": 200,
                "default": 10,
                "description": "How many results at most.",
            },
            "offset": {**OFFSET, "description": "Skip so many results: next_offset of the answer before."},
            "tags": {**TAGS, "maxItems": 100, "description": "Only documents that have all of these tags."},
            "mode": {
                "type": "string",
                "enum": ["hybrid", "fts", "vector"],
                "description": "hybrid (default): words and meaning; fts: words only; vector: meaning only.",
            },
            "fts_only": {"type": "boolean", "description": "The same as mode fts: for error codes, names, ids."},
            "vec_only": {"type": "boolean", "description": "The same as mode vector."},
            "filters": FILTERS,
            "min_relevance": {
                "type": "number",
                "minimum": 0,
                "maximum": 1,
                "default": 0,
                "description": "Leave out results that are less likely right than this.",
            },
        },
        required=("query",),
        answers=HITS,
    ),
    Tool(
        name="kb_get",
        title="Read a document",
        description=(
            "Read one document by document_id, with tags, metadata, version and its text in chunks; or list the "
            "documents of a source_path (without their text). Give exactly one of the two. Use it after kb_search to "
            "read around a result; to find something use kb_search. A long document comes in parts: continue with "
            "chunk_offset. " + UNTRUSTED
        ),
        effect=Effect.READS,
        run=get,
        parameters={
            "document_id": DOCUMENT_ID,
            "source_path": {**SOURCE_PATH, "description": "Where the document came from, exactly as it was given."},
            "chunk_offset": {
                **OFFSET,
                "maximum": 2**53,
                "description": "Begin with this chunk, or by source_path with this document: next_offset of the "
                "answer before.",
            },
        },
        answers={**DOCUMENT_WITH_TEXT, **DOCUMENTS},
    ),
    Tool(
        name="kb_addnote",
        title="Add a note",
        description=(
            "Store a text as a new note: a fact, a decision, a preference worth remembering. To change a note that "
            "exists use kb_update_note; to store a file use kb_upload_start. Answers a job_id at once; the note can "
            "be found when the job is completed, usually within a second. With wait it answers the stored document."
        ),
        effect=Effect.ADDS,
        run=_add_note,
        parameters={
            "text": {**NOTE_TEXT, "description": "The note, plain text or Markdown."},
            "tags": {**TAGS, "description": "Tags of the new note, exactly these."},
            "title": {**TITLE, "description": "Default: the first line of the text."},
            "source_path": {
                **SOURCE_PATH,
                "description": "A name of your own for it. Adding with the same one again replaces the document.",
            },
            "wait": {
                "type": "boolean",
                "default": False,
                "description": "Answer only when the note is stored and can be found.",
            },
        },
        required=("text",),
        answers={**JOB, "document": {"type": "object"}},
    ),
    Tool(
        name="kb_update_note",
        title="Rewrite a note",
        description=(
            "Replace the whole text of an existing note; id and tags stay. Use it instead of adding a second note on "
            "the same matter. Read the note first (kb_get) and give its version, so that nobody's change is lost. "
            "Only for notes: a changed file is uploaded anew."
        ),
        effect=Effect.CHANGES,
        run=update_note,
        parameters={
            "document_id": DOCUMENT_ID,
            "text": {**NOTE_TEXT, "description": "The new text, whole."},
            "title": {**TITLE, "description": "Default: a title given before stays, else the first line."},
            "version": {
                "type": "integer",
                "minimum": 1,
                "maximum": 10**18 - 1,
                "description": "The version you have read. If the note has changed since, nothing is done.",
            },
        },
        required=("document_id", "text"),
        answers=DOCUMENT_WITH_TEXT,
        is_idempotent=True,
    ),
    Tool(
        name="kb_tag",
        title="Change a document's tags",
        description=(
            "Add tags to a document and remove others, in one step. Answers the document as it is then. To find "
            "documents by tag use kb_search with tags."
        ),
        effect=Effect.CHANGES,
        run=change_tags,
        parameters={
            "document_id": DOCUMENT_ID,
            "add": {**TAGS, "description": "Tags to add."},
            "remove": {**TAGS, "description": "Tags to remove; one that is not there is no error."},
        },
        required=("document_id",),
        answers=DOCUMENT,
        is_idempotent=True,
    ),
    Tool(
        name="kb_delete",
        title="Delete a document",
        description=(
            "Delete a document for good, with its text, tags and stored file. It cannot be undone: do it only if the "
            "user wants it. To correct a note use kb_update_note."
        ),
        effect=Effect.CHANGES,
        run=_delete,
        parameters={"document_id": DOCUMENT_ID},
        required=("document_id",),
        answers={
            "status": {"type": "string"},
            "document_id": {"type": "integer"},
            "title": {"type": "string"},
            "chunks_removed": {"type": "integer"},
        },
        is_idempotent=True,
    ),
)

_STATE_TOOLS = (
    Tool(
        name="kb_jobs",
        title="Look at jobs",
        description=(
            "See how far added notes and files are: one job by job_id, or the newest ones. A completed job names its "
            "document_id, a failed one its error. Not needed before kb_search unless you look for what was just added."
        ),
        effect=Effect.READS,
        run=_jobs,
        parameters={
            "status": {
                "type": "string",
                "enum": ["queued", "running", "completed", "failed", "cancelled"],
                "description": "Only jobs in this state.",
            },
            "job_id": {**ID, "description": "This job alone, whatever else is given."},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": 1000,
                "default": JOBS_AT_ONCE,
                "description": "How many jobs at most.",
            },
            "offset": {**OFFSET, "maximum": 2**53, "description": "Skip so many jobs."},
        },
        answers=JOBS,
    ),
    Tool(
        name="kb_status",
        title="See the state of the knowledge base",
        description=(
            "The engine's version, model, number of documents, queue and health. Use it when something does not work "
            "or the user asks about the knowledge base itself; not before every search."
        ),
        effect=Effect.READS,
        run=_status,
        answers={
            "version": {"type": "string"},
            "model": {"type": "object"},
            "device": {"type": "string"},
            "documents": {"type": "object"},
            "queue": {"type": "object"},
            "health": {"type": "object"},
        },
    ),
)

KB_TOOLS: tuple[Tool, ...] = (*_DOCUMENT_TOOLS, *UPLOAD_TOOLS, *_STATE_TOOLS)
