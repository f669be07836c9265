"""The toolset `kb-collections`: the tools of `kb`, in which every document lies in at most one collection.

A collection is a tag, `collection:<name>`, to the engine. Here it is a parameter and a field of its own. The engine
unites the tags when an added file or source path is there already. So a document whose source path is added again is
moved before that; and whatever was added is looked at once more when its job is completed, because only then is it
known whether the file was there: the collection that it was in before is taken away. A server that is stopped in
between leaves such a file in both, says so in its log, and shows the one that was added last.
"""

import asyncio
import difflib
import logging
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import httpx

from kb.client import EngineClient, Json
from kb.mcp.answers import fit_document
from kb.mcp.errors import ToolError
from kb.mcp.tools import Call, Effect, Properties, Schema, Tool
from kb.mcp.toolsets.kb import KB_TOOLS, change_tags, get, search, update_note
from kb.mcp.toolsets.parameters import DOCUMENT, DOCUMENT_ID

log = logging.getLogger(__name__)

TAG_PREFIX = "collection:"
DEFAULT_COLLECTION = "documents"
# Each means that somebody else changed the document in the moment between our reading and our writing.
MAX_ATTEMPTS = 20
LONGEST_PAUSE_SECONDS = 0.1
# A job can stand behind a long queue, and nobody is kept waiting by this.
SETTLE_WITHIN_SECONDS = 24 * 3600
# Each asks twice a second. Jobs end in about the order they began, so it is enough to ask after the first ones.
SETTLING_AT_ONCE = 16
ENGINE_RETRY_SECONDS = 5.0

_RUN = {tool.name: tool.run for tool in KB_TOOLS}
_FIELD: Properties = {
    "collection": {"type": ["string", "null"], "description": "the collection it is in, null if in none"}
}


def collection_tools(names: Sequence[str]) -> tuple[Tool, ...]:
    """The tools for the collections called `names`, of which there is at least one."""
    collections = _Collections(names)
    tools = [_adapt(tool, collections) for tool in KB_TOOLS]
    after_kb_tag = [tool.name for tool in tools].index("kb_tag") + 1
    return (*tools[:after_kb_tag], _set_collection_tool(collections), *tools[after_kb_tag:])


class _Collections:
    """The known collections, and what the tools do that are to respect them."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.default = DEFAULT_COLLECTION if DEFAULT_COLLECTION in names else names[0]
        self._settling = asyncio.Semaphore(SETTLING_AT_ONCE)

    async def search(self, call: Call, arguments: Json) -> Json:
        scope = {name: value for name, value in arguments.items() if name != "collection"}
        if "collection" in arguments:
            scope["tags"] = [*arguments.get("tags", ()), self._tag_of(arguments["collection"])]
        return await search(call, scope, show=_show_collections)

    async def add_note(self, call: Call, arguments: Json) -> Json:
        tag, note = self._place(arguments)
        # Without a source path a note is always a new document.
        if "source_path" not in arguments:
            return _show_collections(await _RUN["kb_addnote"](call, note))
        found = await call.engine.list_documents(source_path=arguments["source_path"])
        for document in found["documents"]:
            await _assign(call.engine, document["id"], tag)
        answer = await _RUN["kb_addnote"](call, note)
        if "document" not in answer:
            call.later(self._settle_later(call.engine, answer["job_id"], tag))
            return answer
        document = await _settle(call.engine, answer["document"]["id"], tag)
        return {**answer, "document": fit_document(_show_collection(document))}

    async def start_upload(self, call: Call, arguments: Json) -> Json:
        _, upload = self._place(arguments)
        return await _RUN["kb_upload_start"](call, upload)

    async def finish_upload(self, call: Call, arguments: Json) -> Json:
        tags = call.uploads.get_upload(call.caller, arguments["upload_id"]).tags
        job = await _RUN["kb_upload_finish"](call, arguments)
        for tag in filter(_is_collection_tag, tags):
            call.later(self._settle_later(call.engine, job["job_id"], tag))
        return job

    async def change_tags(self, call: Call, arguments: Json) -> Json:
        added = arguments.get("add", ())
        tag = self._find_tag(added)
        if tag is None:
            return await change_tags(call, arguments, show=_show_collections)
        removed = arguments.get("remove", ())
        document = await _assign(call.engine, arguments["document_id"], tag, add=_plain(added), remove=removed)
        return fit_document(_show_collection(document))

    async def set_collection(self, call: Call, arguments: Json) -> Json:
        name = arguments.get("collection")
        tag = None if name is None else self._tag_of(name)
        return fit_document(_show_collection(await _assign(call.engine, arguments["document_id"], tag)))

    def _place(self, arguments: Json) -> tuple[str, Json]:
        """The tag of the collection that something is to be added to, and the arguments with it among the tags."""
        given = arguments.get("tags", ())
        tag = self._find_tag(given, arguments.get("collection")) or self._tag_of(self.default)
        rest = {name: value for name, value in arguments.items() if name != "collection"}
        return tag, {**rest, "tags": [tag, *_plain(given)]}

    def _find_tag(self, tags: Iterable[str], named: str | None = None) -> str | None:
        """The tag of the collection that is meant by name or by a tag, if any is.

        Raises `ToolError` if there are several, or one that is not known.
        """
        meant = {tag.strip().removeprefix(TAG_PREFIX) for tag in tags if _is_collection_tag(tag)}
        if named is not None:
            meant.add(named)
        if len(meant) > 1:
            raise ToolError(
                "invalid_parameter",
                f"A document is in one collection at most, and several are given: {', '.join(sorted(meant))}. "
                "Give one of them.",
                parameter="tags",
            )
        return next((self._tag_of(name) for name in meant), None)

    def _tag_of(self, name: str) -> str:
        if name in self.names:
            return TAG_PREFIX + name
        nearest = difflib.get_close_matches(name, self.names, n=1, cutoff=0.0)[0]
        raise ToolError(
            "unknown_collection",
            f"There is no collection {name!r}. Did you mean {nearest!r}? Known are: {', '.join(self.names)}.",
            collections=[*self.names],
            nearest=nearest,
        )

    async def _settle_later(self, engine: EngineClient, job_id: int, tag: str) -> None:
        try:
            async with asyncio.timeout(SETTLE_WITHIN_SECONDS), self._settling:
                await _settle_when_completed(engine, job_id, tag)
        except (httpx.HTTPError, TimeoutError, asyncio.CancelledError) as error:
            log.warning("What job %s adds may be in another collection than %s as well.", job_id, tag)
            if isinstance(error, asyncio.CancelledError):
                raise


async def _settle_when_completed(engine: EngineClient, job_id: int, tag: str) -> None:
    while True:
        try:
            job = await engine.wait_for_job(job_id)
            if job["status"] == "completed":
                await _settle(engine, job["document_id"], tag)
        except httpx.HTTPError as error:
            # The engine may be busy, or starting again; its jobs outlive that.
            if isinstance(error, httpx.HTTPStatusError) and not _is_passing(error.response):
                raise
            await asyncio.sleep(ENGINE_RETRY_SECONDS)
        else:
            return


def _is_passing(response: httpx.Response) -> bool:
    busy = (httpx.codes.TOO_MANY_REQUESTS, httpx.codes.PRECONDITION_FAILED)
    return response.is_server_error or response.status_code in busy


async def _settle(engine: EngineClient, document_id: int, tag: str) -> Json:
    """Leave what was added to a collection in that one alone; unless somebody has moved it since."""
    document = await engine.get_document(document_id, chunks=False)
    return await _assign(engine, document_id, tag) if tag in document["tags"] else document


async def _assign(
    engine: EngineClient, document_id: int, tag: str | None, *, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> Json:
    """Put the document into the collection with this tag alone, or into none; change its other tags as told."""
    failures = 0
    while True:
        document = await engine.get_document(document_id, chunks=False)
        unwanted = [other for other in document["tags"] if _is_collection_tag(other) and other != tag]
        try:
            return await engine.change_tags(
                document_id,
                add=[*add, *([] if tag is None else [tag])],
                remove=[*remove, *unwanted],
                expected_version=document["version"],
            )
        except httpx.HTTPStatusError as error:
            failures += 1
            if error.response.status_code != httpx.codes.PRECONDITION_FAILED or failures == MAX_ATTEMPTS:
                raise
            await asyncio.sleep(random.uniform(0, LONGEST_PAUSE_SECONDS))  # noqa: S311 - no secret


def _is_collection_tag(tag: str) -> bool:
    # The engine takes away the spaces around a tag.
    return tag.strip().startswith(TAG_PREFIX)


def _plain(tags: Iterable[str]) -> list[str]:
    return [tag for tag in tags if not _is_collection_tag(tag)]


def _show_collections(answer: Json) -> Json:
    """The answer with the field `collection` in place of such tags, wherever it tells of documents."""
    shown = _show_collection(answer)
    for name in {"results", "documents"} & shown.keys():
        shown[name] = [_show_collection(item) for item in shown[name]]
    if "document" in shown:
        shown["document"] = _show_collection(shown["document"])
    return shown


def _show_collection(item: Json) -> Json:
    if "tags" not in item:
        return {**item}
    names = [tag.removeprefix(TAG_PREFIX) for tag in item["tags"] if _is_collection_tag(tag)]
    return {**item, "tags": _plain(item["tags"]), "collection": names[-1] if names else None}


def _adapt(tool: Tool, collections: _Collections) -> Tool:
    known = ", ".join(collections.names)
    match tool.name:
        case "kb_search":
            collection = _collection_parameter(f"Search only this collection: {known}. Default: everything.")
            note = "Each result says in which collection its document is."
            tool = replace(tool, run=collections.search, parameters={**_with_one_tag_less(tool), **collection})
        case "kb_addnote" | "kb_upload_start":
            run = collections.add_note if tool.name == "kb_addnote" else collections.start_upload
            collection = _collection_parameter(
                f"Where it is put: {known}. Default: {collections.default}. What is there already moves."
            )
            note = f"It is put into exactly one collection ({known})."
            tool = replace(tool, run=run, parameters={**_with_one_tag_less(tool), **collection})
        case "kb_upload_finish":
            return replace(tool, run=collections.finish_upload)
        case "kb_tag":
            note = "The collection is a field of its own and not among the tags; kb_set_collection changes it."
            tool = replace(tool, run=collections.change_tags, answers={**tool.answers, **_FIELD})
        case "kb_get" | "kb_update_note":
            run = partial(get if tool.name == "kb_get" else update_note, show=_show_collections)
            note = "The field collection says in which collection a document is."
            tool = replace(tool, run=run, answers={**tool.answers, **_FIELD})
        case _:
            return tool
    return replace(tool, description=f"{tool.description} {note}")


def _with_one_tag_less(tool: Tool) -> Properties:
    # One place among the tags is the collection's.
    tags = tool.parameters["tags"]
    return {**tool.parameters, "tags": {**tags, "maxItems": tags["maxItems"] - 1}}


def _collection_parameter(description: str) -> Properties:
    # No enum: a wrong name is to be answered with the nearest right one.
    schema: Schema = {"type": "string", "maxLength": 200, "description": description}
    return {"collection": schema}


def _set_collection_tool(collections: _Collections) -> Tool:
    known = ", ".join(collections.names)
    return Tool(
        name="kb_set_collection",
        title="Put a document into a collection",
        description=(
            f"Put a document into a collection ({known}), move it to another, or, without collection, take it out of "
            "all. It is then in no other one. Answers the document. Not for other tags: those are kb_tag's."
        ),
        effect=Effect.CHANGES,
        run=collections.set_collection,
        parameters={
            "document_id": DOCUMENT_ID,
            "collection": {
                "type": ["string", "null"],
                "maxLength": 200,
                "description": f"One of: {known}. Left out or null: none.",
            },
        },
        required=("document_id",),
        answers={**DOCUMENT, **_FIELD},
        is_idempotent=True,
    )
