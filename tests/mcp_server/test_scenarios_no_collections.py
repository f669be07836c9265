"""The tools without collections, scenario by scenario: tags go in and come out as they are."""

import uuid

import httpx
import mcp
import pytest
from tests.keys import bearer
from tests.mcp_clients import ERAS, Agent, Era, RawClient, sdk_client
from tests.mcp_program import McpProgram
from tests.mcp_server.recording import RecordingProxy
from tests.mcp_server.shared_programs import AGENT_KEY, add_note, completed_document, get_document
from tests.mcp_server.staging import encoded

TAGS = ["agent:mybot", "collection:documents", "draft"]


def test_search_results_show_all_tags(agent: Agent, engine_http: httpx.Client) -> None:
    """M7."""
    note = add_note(engine_http, "A draft of the bot's quarterly summary.", *TAGS)

    results = agent.call("kb_search", query="quarterly summary draft", top=50)["results"]

    [hit] = [hit for hit in results if hit["document_id"] == note["id"]]
    assert hit["tags"] == TAGS
    assert "collection" not in hit


def test_kb_set_collection_no_longer_exists(kb_program: McpProgram) -> None:
    """M7: it is not found, and not listed."""
    with RawClient(kb_program.url, headers=bearer(AGENT_KEY)) as client:
        error = client.request("tools/call", {"name": "kb_set_collection", "arguments": {"document_id": 1}})["error"]
        listed = client.request("tools/list")["result"]["tools"]

    assert error["code"] == -32602
    assert error["data"]["error_type"] == "unknown_tool"
    assert "kb_set_collection" not in [tool["name"] for tool in listed]
    assert not any("collection" in tool["inputSchema"]["properties"] for tool in listed)


@pytest.mark.anyio
@pytest.mark.parametrize("era", ERAS)
async def test_kb_set_collection_no_longer_exists_for_the_official_client(kb_program: McpProgram, era: Era) -> None:
    """M7."""
    async with sdk_client(kb_program.url, era, key=AGENT_KEY) as client:
        with pytest.raises(mcp.MCPError) as refused:
            await client.call_tool("kb_set_collection", {"document_id": 1})

    assert refused.value.error.code == -32602


def test_filter_by_tag_instead_of_collection(agent: Agent, proxy: RecordingProxy, engine_http: httpx.Client) -> None:
    """M7: only documents with the tag, and no collection in the answer."""
    tag = f"agent:{uuid.uuid4()}"
    note = add_note(engine_http, "A test of the bot.", tag, "collection:memory")
    add_note(engine_http, "A test of nobody.", "collection:memory")

    answer = agent.call("kb_search", query="test", tags=[tag])

    [sent] = proxy.find("POST", "/api/v1/search")
    assert sent.json()["tags"] == [tag]
    assert [hit["document_id"] for hit in answer["results"]] == [note["id"]]
    assert "collection" not in {*answer, *answer["results"][0]}


def test_a_collection_is_a_tag_like_any_other(agent: Agent, engine_http: httpx.Client) -> None:
    """M7: whoever used the parameter gives the tag."""
    tag = f"collection:{uuid.uuid4()}"
    note = add_note(engine_http, "The user likes short mails.", tag)

    answer = agent.call("kb_search", query="mails", tags=[tag])

    assert [hit["document_id"] for hit in answer["results"]] == [note["id"]]


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("kb_search", {"query": "test"}),
        ("kb_addnote", {"text": "hello"}),
        ("kb_upload_start", {"filename": "a.txt", "total_size": 1}),
    ],
)
def test_there_is_no_collection_parameter(
    agent: Agent, proxy: RecordingProxy, tool: str, arguments: dict[str, object]
) -> None:
    """M7, M8, M13: kb_search, kb_addnote and kb_upload_start refuse it, and do nothing."""
    refused = agent.fail(tool, **arguments, collection="memory")

    assert (refused["error"], refused["parameter"]) == ("invalid_parameter", "collection")
    assert proxy.sent_for_agents == []


def test_add_note_with_explicit_tags(agent: Agent, engine_http: httpx.Client) -> None:
    """M8: exactly those two."""
    answer = agent.call("kb_addnote", text="hello", tags=["agent:mybot", "memory"])

    assert completed_document(engine_http, answer["job_id"])["tags"] == ["agent:mybot", "memory"]


@pytest.mark.parametrize("tags", [["agent:mybot"], []])
def test_an_upload_gets_no_default_collection(agent: Agent, engine_http: httpx.Client, tags: list[str]) -> None:
    """M13."""
    content = f"hello {uuid.uuid4()}".encode()
    upload_id = agent.call("kb_upload_start", filename="a.txt", total_size=len(content), tags=tags)["upload_id"]
    agent.call("kb_upload_chunk", upload_id=upload_id, data=encoded(content), chunk_index=0)

    answer = agent.call("kb_upload_finish", upload_id=upload_id)

    assert completed_document(engine_http, answer["job_id"])["tags"] == tags


def test_an_updated_note_is_returned_as_the_engine_has_it(agent: Agent, engine_http: httpx.Client) -> None:
    """M9: all tags visible, no collection field."""
    note = add_note(engine_http, "before", *TAGS)

    answer = agent.call("kb_update_note", document_id=note["id"], text="after")

    assert answer == get_document(engine_http, note["id"])
    assert answer["tags"] == TAGS
    assert "collection" not in answer


def test_a_document_is_returned_as_the_engine_has_it(agent: Agent, engine_http: httpx.Client) -> None:
    """M10: by id and by source path, all tags visible, no collection field."""
    note = add_note(engine_http, "as it is", *TAGS, source_path=f"notes/{uuid.uuid4()}.md")

    by_id = agent.call("kb_get", document_id=note["id"])
    [by_path] = agent.call("kb_get", source_path=note["source_path"])["documents"]

    assert by_id == note
    assert by_path["tags"] == TAGS
    assert "collection" not in {*by_id, *by_path}
