"""What was asked of the MCP server, scenario by scenario: transport, keys, and the tools that know no collections.

Each runs against real processes, and those about tools in each way that an agent can speak.
"""

import uuid

import httpx
import pytest
from tests.engine_program import EngineProgram
from tests.keys import bearer
from tests.mcp_clients import Agent, RawClient
from tests.mcp_program import McpProgram
from tests.mcp_server.recording import RecordingProxy
from tests.mcp_server.shared_programs import (
    AGENT_KEY,
    ENGINE_KEY,
    add_file,
    add_note,
    completed_document,
    get_document,
    staged_by,
)
from tests.mcp_server.staging import encoded
from tests.waiting import wait_for_job

from kb.client import Json

NOBODY = 999_999_999
"""The id of no document."""
REQUESTS: dict[str, Json] = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "agent", "version": "1"},
    },
    "tools/list": {},
    "tools/call": {"name": "kb_jobs", "arguments": {}},
}


def test_mcp_server_starts_and_connects_to_engine(agent: Agent, proxy: RecordingProxy) -> None:
    """M1: it uses the configured URL and key for all calls of the engine, and the agent's key for none.

    C6: it asks without the key whether there is an engine.
    """
    agent.call("kb_status")
    agent.call("kb_search", query="anything")

    assert {sent.headers.get("authorization") for sent in proxy.sent_for_agents} == {f"Bearer {ENGINE_KEY}"}
    assert not any("authorization" in sent.headers for sent in proxy.find("GET", "/health/live"))
    assert AGENT_KEY not in repr(proxy.sent)


def test_valid_mcp_api_key(agent: Agent) -> None:
    """M2."""
    assert agent.call("kb_status")["version"] == "3.0.0"


@pytest.mark.parametrize("method", ["initialize", "tools/list", "tools/call"])
def test_missing_mcp_api_key_when_required(kb_program: McpProgram, proxy: RecordingProxy, method: str) -> None:
    """M2: refused before anything reaches the engine."""
    with RawClient(kb_program.url) as client:
        response = client.post(method, REQUESTS[method])

    assert_unauthorized(response)
    assert proxy.sent_for_agents == []


@pytest.mark.parametrize("method", ["initialize", "tools/list", "tools/call"])
@pytest.mark.parametrize("key", ["no-such-key", AGENT_KEY[:-1], ENGINE_KEY], ids=["unknown", "cut", "of the engine"])
def test_invalid_mcp_api_key(kb_program: McpProgram, proxy: RecordingProxy, key: str, method: str) -> None:
    """M2: the engine's key is as wrong as any other."""
    with RawClient(kb_program.url, headers=bearer(key)) as client:
        response = client.post(method, REQUESTS[method])

    assert_unauthorized(response)
    assert proxy.sent_for_agents == []


def assert_unauthorized(response: httpx.Response) -> None:
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"].startswith("Bearer")
    assert response.json()["error"]["data"]["error_type"] == "unauthorized"


def test_mcp_auth_disabled(keyed_engine: EngineProgram) -> None:
    """M2: the server of `kb up` was given no key of its own."""
    with RawClient(keyed_engine.mcp_url) as client:
        assert client.call("kb_status")["version"] == "3.0.0"


def test_basic_search(agent: Agent, proxy: RecordingProxy, engine_http: httpx.Client) -> None:
    """M7: results come with chunk text, scores, document metadata, and tags."""
    document = add_note(engine_http, "The pension revaluation of 2026 follows the price index.", "finance", "2026")

    answer = agent.call("kb_search", query="pension revaluation", top=5)

    [sent] = proxy.find("POST", "/api/v1/search")
    assert sent.json() == {"query": "pension revaluation", "top": 5, "tags": []}
    assert answer["results"] == engine_http.post("/search", json=sent.json()).json()["results"]
    [hit] = [hit for hit in answer["results"] if hit["document_id"] == document["id"]]
    assert hit["text"] == document["text"]
    assert hit["tags"] == ["finance", "2026"]
    assert hit["title"] == document["title"]
    assert {"chunk_id", "score", "scores", "relevance", "doc_type", "source_path", "metadata"} <= hit.keys()


def test_search_with_mode_override(agent: Agent, proxy: RecordingProxy) -> None:
    """M7: fts_only is passed on."""
    agent.call("kb_search", query="error log", fts_only=True)

    [sent] = proxy.find("POST", "/api/v1/search")
    assert sent.json() == {"query": "error log", "fts_only": True, "tags": []}


def test_add_a_note(agent: Agent, proxy: RecordingProxy, engine_http: httpx.Client) -> None:
    """M8: it is submitted as a job, whose id comes back."""
    answer = agent.call("kb_addnote", text="User prefers concise responses")

    [sent] = proxy.find("POST", "/api/v1/jobs")
    assert sent.json() == {"type": "note", "text": "User prefers concise responses", "tags": []}
    assert completed_document(engine_http, answer["job_id"])["text"] == "User prefers concise responses"


def test_start_an_upload(agent: Agent) -> None:
    """M13: the answer is a UUID that nobody can guess."""
    answer = agent.call("kb_upload_start", filename="report.pdf", total_size=5_242_880, tags=["insurance"])

    assert uuid.UUID(answer["upload_id"]).version == 4
    assert answer["chunk_size"] == 1_048_576


def test_upload_a_chunk(agent: Agent, kb_program: McpProgram) -> None:
    """M13: it is decoded and written to the staging area."""
    content = uuid.uuid4().bytes
    upload_id = agent.call("kb_upload_start", filename="a.txt", total_size=100)["upload_id"]

    answer = agent.call("kb_upload_chunk", upload_id=upload_id, data=encoded(content), chunk_index=0)

    assert answer == {"upload_id": upload_id, "chunk_index": 0, "received_bytes": 16}
    [staged] = [path for path in staged_by(kb_program) if path.parent.name == upload_id]
    assert staged.read_bytes() == content


def test_upload_multiple_chunks_in_sequence(agent: Agent, kb_program: McpProgram) -> None:
    """M13: each is stored, and the sequence is kept."""
    pieces = [b"first ", b"second ", b"third"]
    upload_id = agent.call("kb_upload_start", filename="a.txt", total_size=18)["upload_id"]

    received = [
        agent.call("kb_upload_chunk", upload_id=upload_id, data=encoded(piece), chunk_index=index)["received_bytes"]
        for index, piece in enumerate(pieces)
    ]

    assert received == [6, 13, 18]
    staged = [path for path in staged_by(kb_program) if path.parent.name == upload_id]
    assert {path.read_bytes() for path in staged} == set(pieces)


def test_finish_an_upload(
    agent: Agent, kb_program: McpProgram, proxy: RecordingProxy, engine_http: httpx.Client
) -> None:
    """M13: the chunks go to the engine in order, as one file, with the tags of the beginning; nothing stays staged."""
    content = f"# Insurance {uuid.uuid4()}\n\nThe house is insured against fire and water.".encode()
    start = {"filename": "report.md", "total_size": len(content), "tags": ["insurance", "house"]}
    upload_id = agent.call("kb_upload_start", **start)["upload_id"]
    agent.call("kb_upload_chunk", upload_id=upload_id, data=encoded(content[:20]), chunk_index=0)
    agent.call("kb_upload_chunk", upload_id=upload_id, data=encoded(content[20:]), chunk_index=1)

    answer = agent.call("kb_upload_finish", upload_id=upload_id)

    [sent] = proxy.find("POST", "/api/v1/jobs")
    assert [value for name, value in sent.form() if name == "tags"] == [b"insurance", b"house"]
    assert dict(sent.form())["file"] == content
    document = completed_document(engine_http, answer["job_id"])
    assert (document["filename"], document["tags"]) == ("report.md", ["insurance", "house"])
    assert engine_http.get(f"/documents/{document['id']}/file").content == content
    assert not any(path.parent.name == upload_id for path in staged_by(kb_program))


def test_upload_with_invalid_upload_id(agent: Agent) -> None:
    """M13."""
    unknown = str(uuid.uuid4())

    for tool, arguments in {"kb_upload_chunk": {"data": "QQ==", "chunk_index": 0}, "kb_upload_finish": {}}.items():
        refused = agent.fail(tool, upload_id=unknown, **arguments)

        assert refused["error"] == "upload_not_found"
        assert unknown in refused["message"]


def test_update_an_existing_note(agent: Agent, proxy: RecordingProxy, engine_http: httpx.Client) -> None:
    """M9: the updated document comes back."""
    note = add_note(engine_http, "User prefers long prose")
    text = "Updated preference: user prefers bullet points"

    answer = agent.call("kb_update_note", document_id=note["id"], text=text)

    [sent] = proxy.find("PATCH", f"/api/v1/notes/{note['id']}")
    assert sent.json() == {"text": text}
    assert answer == get_document(engine_http, note["id"])
    assert answer["text"] == text
    assert answer["updated_at"] is not None


def test_update_a_non_existent_document(agent: Agent) -> None:
    """M9."""
    refused = agent.fail("kb_update_note", document_id=NOBODY, text="x")

    assert refused["error"] == "document_not_found"
    assert str(NOBODY) in refused["message"]


def test_update_a_non_note_document(agent: Agent, engine_http: httpx.Client) -> None:
    """M9: only notes can be updated, and the file is as it was."""
    file = add_file(engine_http, "report.md", b"A report that is not a note.")

    refused = agent.fail("kb_update_note", document_id=file["id"], text="x")

    assert refused["error"] == "not_a_note"
    assert "Only notes can be updated" in refused["message"]
    assert get_document(engine_http, file["id"]) == file


def test_get_by_document_id(agent: Agent, proxy: RecordingProxy, engine_http: httpx.Client) -> None:
    """M10: the document with its chunks, as the engine has it."""
    note = add_note(engine_http, "The spare key is under the flower pot.", "home")

    answer = agent.call("kb_get", document_id=note["id"])

    assert len(proxy.find("GET", f"/api/v1/documents/{note['id']}")) == 1
    assert answer == note
    assert [chunk["text"] for chunk in answer["chunks"]] == ["The spare key is under the flower pot."]


def test_get_by_source_path(agent: Agent, proxy: RecordingProxy, engine_http: httpx.Client) -> None:
    """M10: the documents of that source path."""
    source_path = "memory/feedback_testing.md"
    note = add_note(engine_http, "Tests are named as sentences.", source_path=source_path)

    answer = agent.call("kb_get", source_path=source_path)

    [sent] = proxy.find("GET", "/api/v1/documents")
    assert sent.query["source_path"] == [source_path]
    assert [found["id"] for found in answer["documents"]] == [note["id"]]


def test_get_engine_status(agent: Agent) -> None:
    """M14: version, model, device, document counts, and queue state."""
    answer = agent.call("kb_status")

    assert answer["version"] == "3.0.0"
    assert answer["model"]["dimension"] == 384
    assert answer["device"]
    assert answer["documents"]["total"] >= 0
    assert answer["queue"].keys() >= {"queued", "running", "failed"}


def test_list_recent_jobs(agent: Agent, proxy: RecordingProxy, engine_http: httpx.Client) -> None:
    """M14: the newest first."""
    add_note(engine_http, "older")
    add_note(engine_http, "newer")

    answer = agent.call("kb_jobs")

    assert len(proxy.find("GET", "/api/v1/jobs")) == 1
    newest = engine_http.get("/jobs", params={"limit": 2}).json()["jobs"]
    assert [job["id"] for job in answer["jobs"][:2]] == [job["id"] for job in newest]


def test_filter_jobs_by_status(agent: Agent, proxy: RecordingProxy, engine_http: httpx.Client) -> None:
    """M14."""
    blank = engine_http.post("/jobs", files={"file": ("blank.txt", b" \n")}).json()["id"]
    wait_for_job(engine_http, blank)

    answer = agent.call("kb_jobs", status="failed")

    [sent] = proxy.find("GET", "/api/v1/jobs")
    assert sent.query["status"] == ["failed"]
    assert answer["jobs"][0]["id"] == blank
    assert {job["status"] for job in answer["jobs"]} == {"failed"}
