"""The decisions on which the MCP server was built, as far as they can be seen from outside.

D1: a program of its own with a key of its own. D2: collections are tags, one a document. D5: files come in chunks.
D6: searching well is taught to agents, not done by the engine.
"""

import subprocess
import sys
import uuid
from collections.abc import Iterator

import httpx
import pytest
from tests.engine_program import EngineProgram
from tests.keys import bearer
from tests.mcp_clients import Agent, RawClient
from tests.mcp_program import McpProgram
from tests.mcp_server.conftest import MISTYPED
from tests.mcp_server.recording import RecordingProxy
from tests.mcp_server.shared_programs import (
    AGENT_KEY,
    ENGINE_KEY,
    Agents,
    add_file,
    add_note,
    completed_document,
    get_document,
)
from tests.mcp_server.staging import encoded
from tests.waiting import wait_until

from kb.client import Json


@pytest.fixture
def client(kb_program: McpProgram) -> Iterator[RawClient]:
    with RawClient(kb_program.url, headers=bearer(AGENT_KEY)) as client:
        yield client


@pytest.fixture
def collector(agents_with_collections: Agents) -> Agent:
    return agents_with_collections["raw"]


def tools_of(client: RawClient) -> dict[str, Json]:
    return {tool["name"]: tool for tool in client.request("tools/list")["result"]["tools"]}


def test_d1_the_mcp_server_loads_nothing_of_the_engine() -> None:
    """D1, M1: they are two programs, and either can be updated without the other."""
    show = "import sys, kb.mcp.mcp_process; print(*sys.modules)"

    loaded = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True).stdout.split()

    assert "kb.mcp.app" in loaded
    assert [name for name in loaded if name.startswith(("kb.engine", "apsw", "onnxruntime", "fastapi"))] == []


def test_d1_the_engine_does_not_speak_mcp(keyed_engine: EngineProgram) -> None:
    """D1, M1."""
    with RawClient(keyed_engine.url, headers=bearer(ENGINE_KEY)) as client:
        assert client.post("tools/list").status_code == 404


def test_d1_each_program_has_its_own_key(keyed_engine: EngineProgram, kb_program: McpProgram) -> None:
    """D1, M2: neither opens the other."""
    of_agent = httpx.get(f"{keyed_engine.url}/api/v1/status", headers=bearer(AGENT_KEY), trust_env=False, timeout=60)
    with RawClient(kb_program.url, headers=bearer(ENGINE_KEY)) as client:
        of_engine = client.post("tools/list")

    assert (of_agent.status_code, of_engine.status_code) == (401, 401)


def test_d1_no_key_and_no_exception_is_told_to_anybody(kb_program: McpProgram) -> None:
    """D1, M2, M6: whatever goes wrong, neither an answer nor the log holds a key or the text of an exception."""
    with RawClient(kb_program.url) as stranger, RawClient(kb_program.url, headers=bearer(AGENT_KEY)) as client:
        told = [
            stranger.post("tools/list"),
            stranger.post("tools/list", headers=bearer("a-wrong-key")),
            client.http.post(client.path, content="{", headers={"Content-Type": "application/json"}),
            client.http.post(client.path, content="x"),
            client.post("no/such/method"),
            client.post("tools/call", {"name": 1}),
            client.post("tools/call", {"name": "no_such_tool"}),
            client.post("tools/call", {"name": "kb_search", "arguments": {"query": 7}}),
            client.post("tools/call", {"name": "kb_get", "arguments": {"document_id": 999_999_999}}),
            client.post(
                "tools/call", {"name": "kb_search", "arguments": {"query": "x", "mode": "fts", "vec_only": True}}
            ),
        ]

    for text in [*(response.text for response in told), kb_program.log.read_text()]:
        for secret in (ENGINE_KEY, AGENT_KEY, "a-wrong-key"):
            assert secret not in text
        for trace in ("Traceback", "Exception", "Error(", "httpx", "pydantic", ".py"):
            assert trace not in text


def test_d2_a_collection_is_an_ordinary_tag_of_the_engine(collector: Agent, engine_http: httpx.Client) -> None:
    """D2, M15: what others tag by hand is in the collection, and what agents add has the tag."""
    by_hand = add_note(engine_http, "tagged by hand", "collection:workspace", marker := str(uuid.uuid4()))

    by_agent = collector.call("kb_addnote", text="put by an agent", collection="workspace", tags=[marker], wait=True)

    found = collector.call("kb_search", query="tagged", collection="workspace", tags=[marker])["results"]
    listed = engine_http.get("/documents", params={"tag": ["collection:workspace", marker]}).json()["documents"]
    ids = {by_hand["id"], by_agent["document"]["id"]}
    assert {hit["document_id"] for hit in found} == ids
    assert {document["id"] for document in listed} == ids


@pytest.mark.parametrize(("tool", "arguments"), MISTYPED)
def test_d2_a_mistyped_collection_is_refused_with_the_nearest(
    collector: Agent, collections_proxy: RecordingProxy, tool: str, arguments: Json
) -> None:
    """D2, M15: a typing error makes no new collection."""
    refused = collector.fail(tool, **arguments)

    assert (refused["error"], refused["nearest"]) == ("unknown_collection", "memory")
    assert refused["collections"] == ["documents", "memory", "workspace"]
    assert {sent.method for sent in collections_proxy.sent} <= {"GET"}


def test_d2_a_note_with_a_raw_tag_goes_to_that_collection_alone(collector: Agent, engine_http: httpx.Client) -> None:
    """D2, M15."""
    note = collector.call("kb_addnote", text="raw", tags=["x", "collection:memory"], wait=True)["document"]

    assert get_document(engine_http, note["id"])["tags"] == ["collection:memory", "x"]


def test_d2_a_raw_tag_moves_a_document(collector: Agent, engine_http: httpx.Client) -> None:
    """D2, M15."""
    note = add_note(engine_http, "raw", "collection:documents", "x")

    collector.call("kb_tag", document_id=note["id"], add=["collection:memory"])

    assert get_document(engine_http, note["id"])["tags"] == ["x", "collection:memory"]


def test_d2_a_file_that_is_added_again_moves_to_the_new_collection(collector: Agent, engine_http: httpx.Client) -> None:
    """D2, M15: the engine unites the tags of equal files; the former collection is taken away."""
    content = f"The same file twice: {uuid.uuid4()}".encode()
    first = add_file(engine_http, "same.txt", content, "collection:documents", "kept")
    upload_id = collector.call("kb_upload_start", filename="same.txt", total_size=len(content), collection="memory")[
        "upload_id"
    ]
    collector.call("kb_upload_chunk", upload_id=upload_id, data=encoded(content), chunk_index=0)

    job_id = collector.call("kb_upload_finish", upload_id=upload_id)["job_id"]

    assert completed_document(engine_http, job_id)["id"] == first["id"]
    wait_until(lambda: get_document(engine_http, first["id"])["tags"] == ["kept", "collection:memory"])


def test_d5_a_file_comes_in_three_steps_and_there_is_no_shortcut(client: RawClient) -> None:
    """D5, M13: the descriptions carry the chunk's size and a worked example."""
    tools = tools_of(client)

    takes_bytes = [name for name, tool in tools.items() if "data" in tool["inputSchema"]["properties"]]
    assert takes_bytes == ["kb_upload_chunk"]
    assert {"kb_upload_start", "kb_upload_finish"} <= tools.keys()
    told = tools["kb_upload_start"]["description"]
    for word in ("1 MB", "base64", "kb_upload_chunk {", "kb_upload_finish {", '"chunk_index": 0'):
        assert word in told


def test_d5_upload_ids_cannot_be_guessed(client: RawClient) -> None:
    """D5, M13: each is random, and an upload is known to none but its own id."""
    ids = {client.call("kb_upload_start", filename="a.txt", total_size=1)["upload_id"] for _ in range(4)}

    assert len({uuid.UUID(upload_id) for upload_id in ids}) == 4
    assert {uuid.UUID(upload_id).version for upload_id in ids} == {4}


def test_d6_the_description_of_search_teaches_expansion_and_reranking(client: RawClient) -> None:
    """D6, M7: they are patterns for the agent; neither is a parameter."""
    search = tools_of(client)["kb_search"]

    for word in ("2-3 phrasings", "merge the results by chunk_id", "rerank"):
        assert word in search["description"]
    assert not {"expand", "expansion", "rerank", "reranker"} & search["inputSchema"]["properties"].keys()
