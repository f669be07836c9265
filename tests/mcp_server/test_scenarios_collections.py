"""The toolset kb-collections, scenario by scenario: one collection a document, kept as a tag and shown as a field."""

import uuid

import httpx
import pytest
from tests.engine_program import EngineProgram
from tests.mcp_clients import Agent
from tests.mcp_server.recording import RecordingProxy
from tests.mcp_server.shared_programs import ENGINE_KEY, add_file, add_note, completed_document, get_document
from tests.mcp_server.staging import encoded

from kb.client import EngineClient, Json

NOBODY = 999_999_999
"""The id of no document."""


def collection_tags(document: Json) -> list[str]:
    return [tag for tag in document["tags"] if tag.startswith("collection:")]


def test_search_with_collection_filter(
    collections_agent: Agent, collections_proxy: RecordingProxy, engine_http: httpx.Client
) -> None:
    """M15."""
    wanted = add_note(engine_http, "Email preferences: plain text only.", "collection:memory")
    other = add_note(engine_http, "Email preferences: HTML allowed.", "collection:workspace")

    answer = collections_agent.call("kb_search", query="email preferences", collection="memory")

    [sent] = collections_proxy.find("POST", "/api/v1/search")
    assert sent.json() == {"query": "email preferences", "tags": ["collection:memory"]}
    found = {hit["document_id"] for hit in answer["results"]}
    assert wanted["id"] in found
    assert other["id"] not in found


def test_search_with_tags_and_collection(collections_agent: Agent, collections_proxy: RecordingProxy) -> None:
    """M15: both limit the search."""
    collections_agent.call("kb_search", query="feedback", tags=["email"], collection="memory")

    [sent] = collections_proxy.find("POST", "/api/v1/search")
    assert sent.json()["tags"] == ["email", "collection:memory"]


def test_search_results_strip_collection_tags(collections_agent: Agent, engine_http: httpx.Client) -> None:
    """M15."""
    marker = str(uuid.uuid4())
    add_note(engine_http, "Feedback on mails", "collection:memory", "feedback", "email", marker)

    [hit] = collections_agent.call("kb_search", query="feedback", tags=[marker])["results"]

    assert hit["collection"] == "memory"
    assert hit["tags"] == ["feedback", "email", marker]


def test_collection_field_in_search_results(collections_agent: Agent, engine_http: httpx.Client) -> None:
    """M15: a search without a collection searches everything; a document in none has a null there."""
    marker = str(uuid.uuid4())
    inside = add_note(engine_http, "Inside a collection", "collection:workspace", marker)
    outside = add_note(engine_http, "Outside of any", marker)

    results = collections_agent.call("kb_search", query="collection", tags=[marker])["results"]

    shown = {hit["document_id"]: (hit["collection"], hit["tags"]) for hit in results}
    assert shown == {inside["id"]: ("workspace", [marker]), outside["id"]: (None, [marker])}


def test_add_a_note_with_default_collection(
    collections_agent: Agent, collections_proxy: RecordingProxy, engine_http: httpx.Client
) -> None:
    """M15, default collection on addnote."""
    answer = collections_agent.call("kb_addnote", text="User prefers concise responses")

    [sent] = collections_proxy.find("POST", "/api/v1/jobs")
    assert sent.json()["tags"] == ["collection:documents"]
    assert completed_document(engine_http, answer["job_id"])["tags"] == ["collection:documents"]


def test_add_a_note_to_a_specific_collection(collections_agent: Agent, collections_proxy: RecordingProxy) -> None:
    """M15, explicit collection on addnote."""
    text = "User prefers concise responses"

    collections_agent.call("kb_addnote", text=text, collection="memory", tags=["feedback"])

    [sent] = collections_proxy.find("POST", "/api/v1/jobs")
    assert sent.json() == {"type": "note", "text": text, "tags": ["collection:memory", "feedback"]}


def test_add_a_note_to_a_collection_replaces_existing_collection_tag(
    collections_agent: Agent, engine_http: httpx.Client
) -> None:
    """M15: once ingested the document has exactly one such tag."""
    source_path = f"memory/{uuid.uuid4()}.md"
    old = add_note(engine_http, "some older note", "collection:workspace", "kept", source_path=source_path)

    answer = collections_agent.call(
        "kb_addnote", text="some note", collection="memory", source_path=source_path, wait=True
    )

    document = get_document(engine_http, old["id"])
    assert (document["text"], collection_tags(document)) == ("some note", ["collection:memory"])
    assert answer["document"]["id"] == old["id"]
    assert (answer["document"]["collection"], answer["document"]["tags"]) == ("memory", ["kept"])


def test_start_and_finish_an_upload_in_a_collection(
    collections_agent: Agent, collections_proxy: RecordingProxy, engine_http: httpx.Client
) -> None:
    """M15: the tags of the beginning go along, the collection's among them."""
    content = f"The house is insured, policy {uuid.uuid4()}.".encode()
    start = {"filename": "report.txt", "total_size": len(content), "tags": ["insurance"], "collection": "documents"}

    upload_id = collections_agent.call("kb_upload_start", **start)["upload_id"]
    collections_agent.call("kb_upload_chunk", upload_id=upload_id, data=encoded(content), chunk_index=0)
    answer = collections_agent.call("kb_upload_finish", upload_id=upload_id)

    assert uuid.UUID(upload_id).version == 4
    [sent] = collections_proxy.find("POST", "/api/v1/jobs")
    assert [value for name, value in sent.form() if name == "tags"] == [b"collection:documents", b"insurance"]
    assert completed_document(engine_http, answer["job_id"])["tags"] == ["collection:documents", "insurance"]


def test_get_results_strip_collection_tags(collections_agent: Agent, engine_http: httpx.Client) -> None:
    """M15: by id and by source path."""
    note = add_note(engine_http, "Named as sentences", "collection:memory", "tests", source_path=f"m/{uuid.uuid4()}.md")

    by_id = collections_agent.call("kb_get", document_id=note["id"])
    [by_path] = collections_agent.call("kb_get", source_path=note["source_path"])["documents"]

    assert by_id == {**note, "tags": ["tests"], "collection": "memory"}
    assert (by_path["collection"], by_path["tags"]) == ("memory", ["tests"])


def test_an_updated_note_shows_its_collection(collections_agent: Agent, engine_http: httpx.Client) -> None:
    """M15."""
    note = add_note(engine_http, "before", "collection:memory", "kept")

    answer = collections_agent.call("kb_update_note", document_id=note["id"], text="after")

    assert (answer["text"], answer["collection"], answer["tags"]) == ("after", "memory", ["kept"])


def test_exclusive_collection_enforcement(
    collections_agent: Agent, collections_proxy: RecordingProxy, engine_http: httpx.Client
) -> None:
    """M15: the old tag goes and the new one comes through the engine's tag API, in one step."""
    note = add_note(engine_http, "moves", "collection:documents", "kept")

    collections_agent.call("kb_set_collection", document_id=note["id"], collection="memory")

    [sent] = collections_proxy.find("PATCH", f"/api/v1/documents/{note['id']}/tags")
    assert sent.json() == {"add": ["collection:memory"], "remove": ["collection:documents"]}
    assert get_document(engine_http, note["id"])["tags"] == ["kept", "collection:memory"]


def test_assign_untagged_document_to_a_collection(collections_agent: Agent, engine_http: httpx.Client) -> None:
    """M15."""
    note = add_note(engine_http, "untagged")

    answer = collections_agent.call("kb_set_collection", document_id=note["id"], collection="workspace")

    assert (answer["id"], answer["collection"], answer["tags"]) == (note["id"], "workspace", [])
    assert get_document(engine_http, note["id"])["tags"] == ["collection:workspace"]


def test_change_document_from_one_collection_to_another(collections_agent: Agent, engine_http: httpx.Client) -> None:
    """M15: out of every former one, even if there were several."""
    note = add_note(engine_http, "moves", "collection:documents", "collection:elsewhere", "kept")

    answer = collections_agent.call("kb_set_collection", document_id=note["id"], collection="memory")

    assert (answer["collection"], answer["tags"]) == ("memory", ["kept"])
    assert collection_tags(get_document(engine_http, note["id"])) == ["collection:memory"]


@pytest.mark.parametrize("arguments", [{}, {"collection": None}], ids=["omitted", "null"])
def test_remove_document_from_all_collections(
    collections_agent: Agent, engine_http: httpx.Client, arguments: Json
) -> None:
    """M15."""
    note = add_note(engine_http, "leaves", "collection:documents", "collection:memory", "kept")

    answer = collections_agent.call("kb_set_collection", document_id=note["id"], **arguments)

    assert (answer["collection"], answer["tags"]) == (None, ["kept"])
    assert get_document(engine_http, note["id"])["tags"] == ["kept"]


def test_document_not_found_when_its_collection_is_set(collections_agent: Agent) -> None:
    """M15."""
    refused = collections_agent.fail("kb_set_collection", document_id=NOBODY, collection="memory")

    assert refused["error"] == "document_not_found"
    assert str(NOBODY) in refused["message"]


def test_successful_deletion(collections_agent: Agent, engine_http: httpx.Client, keyed_engine: EngineProgram) -> None:
    """M11: document, chunks, vectors, tags and the stored file go."""
    marker = str(uuid.uuid4())
    file = add_file(engine_http, "secret.txt", f"Of no use any more: {marker}".encode(), marker)
    stored = file["content_hash"].removeprefix("sha256:")
    assert any(stored in path.name for path in keyed_engine.data_dir.rglob("*"))
    before = engine_http.get("/status").json()

    answer = collections_agent.call("kb_delete", document_id=file["id"])

    after = engine_http.get("/status").json()
    assert answer.items() >= {"status": "deleted", "document_id": file["id"], "title": file["title"]}.items()
    assert engine_http.get(f"/documents/{file['id']}").status_code == 404
    assert (before["chunks"] - after["chunks"], before["vectors"] - after["vectors"]) == (1, 1)
    assert collections_agent.call("kb_search", query=marker, fts_only=True)["results"] == []
    assert marker not in [tag["name"] for tag in engine_http.get("/tags").json()["tags"]]
    assert not any(stored in path.name for path in keyed_engine.data_dir.rglob("*"))


def test_document_not_found_when_it_is_deleted(collections_agent: Agent) -> None:
    """M11."""
    refused = collections_agent.fail("kb_delete", document_id=NOBODY)

    assert refused["error"] == "document_not_found"
    assert str(NOBODY) in refused["message"]


@pytest.mark.anyio
async def test_successful_engine_client_delete_call(
    collections_proxy: RecordingProxy, engine_http: httpx.Client
) -> None:
    """M24: it answers the parsed JSON."""
    note = add_note(engine_http, "goes")

    async with EngineClient(collections_proxy.url, ENGINE_KEY) as client:
        answer = await client.delete_document(note["id"])

    assert [sent.method for sent in collections_proxy.sent if sent.path == f"/api/v1/documents/{note['id']}"] == [
        "DELETE"
    ]
    assert answer == {"status": "deleted", "document_id": note["id"], "title": "goes", "chunks_removed": 1}


@pytest.mark.anyio
async def test_engine_client_delete_for_missing_document(keyed_engine: EngineProgram) -> None:
    """M24."""
    async with EngineClient(keyed_engine.url, ENGINE_KEY) as client:
        with pytest.raises(httpx.HTTPStatusError) as missing:
            await client.delete_document(NOBODY)

    assert missing.value.response.status_code == 404
