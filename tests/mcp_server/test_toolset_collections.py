import asyncio
from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

import httpx
import pytest
from jsonschema import Draft202012Validator
from tests.mcp_server.conftest import COLLECTIONS, MISTYPED, Use, add_note, unique, upload
from tests.waiting import until

from kb.client import EngineClient, Json
from kb.mcp.errors import ToolError
from kb.mcp.tools import Call
from kb.mcp.toolsets.collections import collection_tools
from kb.mcp.toolsets.kb import KB_TOOLS

pytestmark = pytest.mark.anyio


async def stored_tags(engine: EngineClient, document_id: int) -> list[str]:
    tags: list[str] = (await engine.get_document(document_id, chunks=False))["tags"]
    return tags


def test_the_tools_are_those_of_kb_and_one_more() -> None:
    """M15"""
    tools = {tool.name: tool for tool in collection_tools(COLLECTIONS)}

    names = [tool.name for tool in KB_TOOLS]
    names.insert(names.index("kb_tag") + 1, "kb_set_collection")
    assert list(tools) == names
    takes_collection = [name for name, tool in tools.items() if "collection" in tool.parameters]
    assert takes_collection == ["kb_search", "kb_addnote", "kb_set_collection", "kb_upload_start"]
    assert all("documents, memory, workspace" in tools[name].description for name in ("kb_addnote", "kb_upload_start"))
    for tool in tools.values():
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)


def test_the_default_is_the_first_collection_where_there_are_no_documents() -> None:
    tools = {tool.name: tool for tool in collection_tools(("inbox", "archive"))}

    assert "Default: inbox." in tools["kb_addnote"].parameters["collection"]["description"]


async def test_a_note_without_a_collection_goes_to_documents(collections: Use, engine: EngineClient) -> None:
    """M15"""
    note = await add_note(collections, "User prefers concise responses")

    assert note["collection"] == "documents"
    assert await stored_tags(engine, note["id"]) == ["collection:documents"]


async def test_a_note_goes_to_its_collection_with_its_tags(collections: Use, engine: EngineClient) -> None:
    """M15"""
    note = await add_note(collections, "Concise, please", collection="memory", tags=["feedback"])

    assert (note["collection"], note["tags"]) == ("memory", ["feedback"])
    assert await stored_tags(engine, note["id"]) == ["collection:memory", "feedback"]


async def test_a_search_is_limited_to_a_collection_or_not_at_all(collections: Use) -> None:
    """M15"""
    tag = unique()
    remembered = await add_note(collections, "Email preferences: brief", collection="memory", tags=[tag, "email"])
    filed = await add_note(collections, "Email preferences: filed", tags=[tag])

    in_memory = await collections("kb_search", query="email preferences", collection="memory", tags=[tag])
    anywhere = await collections("kb_search", query="email preferences", tags=[tag])

    (hit,) = in_memory["results"]
    assert (hit["document_id"], hit["collection"], hit["tags"]) == (remembered["id"], "memory", [tag, "email"])
    assert {hit["document_id"] for hit in anywhere["results"]} == {remembered["id"], filed["id"]}
    assert {hit["collection"] for hit in anywhere["results"]} == {"memory", "documents"}


async def test_documents_are_shown_with_their_collection_wherever_they_appear(
    collections: Use, engine: EngineClient
) -> None:
    """M15"""
    source_path = unique("memory/")
    note = await add_note(collections, "Shown", source_path=source_path, collection="memory", tags=["x"])
    outside = await engine.wait_for_job((await engine.submit_note("Added by other means", tags=["y"]))["id"])

    shown = [
        await collections("kb_get", document_id=note["id"]),
        (await collections("kb_get", source_path=source_path))["documents"][0],
        await collections("kb_update_note", document_id=note["id"], text="Changed"),
        await collections("kb_tag", document_id=note["id"], add=["x"]),
    ]

    assert [(document["collection"], document["tags"]) for document in shown] == [("memory", ["x"])] * 4
    unassigned = await collections("kb_get", document_id=outside["document_id"])
    assert (unassigned["collection"], unassigned["tags"]) == (None, ["y"])


@pytest.mark.parametrize(("tool", "arguments"), MISTYPED)
async def test_an_unknown_collection_is_told_with_the_nearest(collections: Use, tool: str, arguments: Json) -> None:
    """M15"""
    with pytest.raises(ToolError, match="Did you mean 'memory'") as refused:
        await collections(tool, **arguments)

    assert refused.value.code == "unknown_collection"
    assert refused.value.details == {"collections": [*COLLECTIONS], "nearest": "memory"}


async def test_even_an_empty_name_has_a_nearest_collection(collections: Use) -> None:
    with pytest.raises(ToolError) as refused:
        await collections("kb_search", query="x", collection="")

    assert refused.value.details["nearest"] in COLLECTIONS


async def test_a_raw_tag_counts_as_the_collection(collections: Use, engine: EngineClient) -> None:
    """M15"""
    note = await add_note(collections, "Raw", tags=["a", " collection:workspace "])
    same = await add_note(collections, "Raw", tags=["collection:memory"], collection="memory")

    assert await stored_tags(engine, note["id"]) == ["collection:workspace", "a"]
    assert await stored_tags(engine, same["id"]) == ["collection:memory"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"tags": ["collection:memory", "collection:workspace"]},
        {"tags": ["collection:memory"], "collection": "workspace"},
    ],
)
async def test_contradicting_collections_are_refused(collections: Use, arguments: Json) -> None:
    """M15"""
    with pytest.raises(ToolError, match="memory, workspace") as refused:
        await collections("kb_addnote", text="x", **arguments)

    assert refused.value.code == "invalid_parameter"


async def test_a_raw_tag_moves_a_document(collections: Use, engine: EngineClient) -> None:
    """M15"""
    note = await add_note(collections, "Moved by tag", tags=["a", "b"])

    moved = await collections("kb_tag", document_id=note["id"], add=["collection:memory", "c"], remove=["a"])

    assert (moved["collection"], moved["tags"]) == ("memory", ["b", "c"])
    assert await stored_tags(engine, note["id"]) == ["b", "c", "collection:memory"]


async def test_set_collection_assigns_moves_and_removes(collections: Use, engine: EngineClient) -> None:
    """M15"""
    added = await engine.wait_for_job((await engine.submit_note("Unassigned", tags=["x"]))["id"])
    document_id = added["document_id"]

    seen = []
    for arguments in ({"collection": "workspace"}, {"collection": "memory"}, {}, {"collection": "memory"}):
        document = await collections("kb_set_collection", document_id=document_id, **arguments)
        seen.append((document["collection"], document["tags"], await stored_tags(engine, document_id)))
    removed = await collections("kb_set_collection", document_id=document_id, collection=None)

    assert seen == [
        ("workspace", ["x"], ["x", "collection:workspace"]),
        ("memory", ["x"], ["x", "collection:memory"]),
        (None, ["x"], ["x"]),
        ("memory", ["x"], ["x", "collection:memory"]),
    ]
    assert (removed["id"], removed["collection"]) == (document_id, None)


async def test_set_collection_of_a_missing_document_is_an_error(collections: Use) -> None:
    """M15"""
    with pytest.raises(httpx.HTTPStatusError) as refused:
        await collections("kb_set_collection", document_id=2**62, collection="memory")

    assert refused.value.response.json()["code"] == "document_not_found"


async def test_a_document_is_in_one_collection_whoever_moves_it_at_once(collections: Use, engine: EngineClient) -> None:
    """M15"""
    note = await add_note(collections, "Wanted everywhere")

    moves = [collections("kb_set_collection", document_id=note["id"], collection=name) for name in COLLECTIONS]
    await asyncio.gather(*moves)

    (tag,) = await stored_tags(engine, note["id"])
    assert tag.removeprefix("collection:") in COLLECTIONS


async def test_a_note_added_again_elsewhere_has_moved_when_the_answer_comes(
    collections: Use, engine: EngineClient
) -> None:
    """M15"""
    source_path = unique("memory/")
    first = await add_note(collections, "Version one", source_path=source_path, tags=["a"])

    second = await add_note(collections, "Version two", source_path=source_path, collection="memory", tags=["b"])

    assert (second["id"], second["collection"], second["tags"]) == (first["id"], "memory", ["a", "b"])
    assert await stored_tags(engine, first["id"]) == ["a", "collection:memory", "b"]


async def test_a_note_added_again_without_waiting_moves_soon_after(collections: Use, engine: EngineClient) -> None:
    """M15"""
    source_path = unique("memory/")
    first = await add_note(collections, "Version one", source_path=source_path)

    await collections("kb_addnote", text="Version two", source_path=source_path, collection="memory")

    async def has_moved() -> bool:
        return await stored_tags(engine, first["id"]) == ["collection:memory"]

    await until(has_moved)


async def test_an_uploaded_file_goes_to_one_collection_also_if_it_was_there_before(
    collections: Use, engine: EngineClient
) -> None:
    """M15"""
    content = unique("The same bytes ").encode()
    first = await engine.wait_for_job((await upload(collections, content, tags=["a"]))["job_id"])
    assert await stored_tags(engine, first["document_id"]) == ["collection:documents", "a"]

    second = await engine.wait_for_job((await upload(collections, content, collection="workspace"))["job_id"])

    async def has_moved() -> bool:
        return await stored_tags(engine, first["document_id"]) == ["a", "collection:workspace"]

    assert second["duplicate"] is True
    await until(has_moved)


async def add_note_and_keep_the_rest_for_later(call: Call, **note: object) -> tuple[Json, Coroutine[Any, Any, None]]:
    """The job of a note that is not waited for, and what the server would do behind its answer."""
    (add,) = [tool for tool in collection_tools(COLLECTIONS) if tool.name == "kb_addnote"]
    left: list[Coroutine[Any, Any, None]] = []
    answer = await add.run(replace(call, later=left.append), note)
    job = await call.engine.wait_for_job(answer["job_id"])
    (rest,) = left
    return job, rest


async def test_what_was_moved_meanwhile_is_not_moved_back(collections: Use, call: Call) -> None:
    note = {"text": "Where?", "source_path": unique("memory/"), "collection": "memory"}
    job, rest = await add_note_and_keep_the_rest_for_later(call, **note)
    await collections("kb_set_collection", document_id=job["document_id"], collection="workspace")

    await rest

    assert await stored_tags(call.engine, job["document_id"]) == ["collection:workspace"]


async def test_what_was_deleted_meanwhile_is_only_logged(call: Call, caplog: pytest.LogCaptureFixture) -> None:
    note = {"text": "Gone", "source_path": unique("memory/")}
    job, rest = await add_note_and_keep_the_rest_for_later(call, **note)
    await call.engine.delete_document(job["document_id"])

    await rest

    assert f"What job {job['id']} adds" in caplog.text


async def test_of_several_collections_given_by_other_means_the_last_is_shown(
    collections: Use, engine: EngineClient
) -> None:
    tags = ["collection:memory", "x", "collection:elsewhere"]
    added = await engine.wait_for_job((await engine.submit_note("By hand", tags=tags))["id"])

    shown = await collections("kb_get", document_id=added["document_id"])
    settled = await collections("kb_set_collection", document_id=added["document_id"], collection="memory")

    assert (shown["collection"], shown["tags"]) == ("elsewhere", ["x"])
    assert (settled["collection"], settled["tags"]) == ("memory", ["x"])


async def test_jobs_status_and_deletion_are_those_of_kb(collections: Use) -> None:
    note = await add_note(collections, "Short-lived")

    deleted = await collections("kb_delete", document_id=note["id"])

    assert deleted["status"] == "deleted"
    assert "jobs" in await collections("kb_jobs")
    assert "health" in await collections("kb_status")


async def test_the_collection_is_shown_however_many_tags_are_cut(collections: Use) -> None:
    """M5, M15"""
    note = await add_note(
        collections, "Tagged beyond measure", tags=[f"{number:03}-{'x' * 190}" for number in range(300)]
    )

    moved = await collections("kb_set_collection", document_id=note["id"], collection="workspace")
    read = await collections("kb_get", document_id=note["id"])

    assert moved["truncated"] is True
    assert (moved["collection"], read["collection"]) == ("workspace", "workspace")


async def test_a_note_added_again_by_its_source_path_has_moved_before_its_job_is_done(
    collections: Use, engine: EngineClient, call: Call
) -> None:
    """M15"""
    source_path = unique("path")
    first = await add_note(collections, "In documents", source_path=source_path)
    left: list[Coroutine[Any, Any, None]] = []
    tools = {tool.name: tool for tool in collection_tools(COLLECTIONS)}

    # A server that is stopped at once, so that nothing is done later.
    arguments: Json = {"text": "In memory", "source_path": source_path, "collection": "memory"}
    job = await tools["kb_addnote"].run(replace(call, later=left.append), arguments)
    left[0].close()

    await engine.wait_for_job(job["job_id"])
    assert await stored_tags(engine, first["id"]) == ["collection:memory"]
