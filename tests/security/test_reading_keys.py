"""Keys that can only read: whatever is asked with one, the base stays as it is, and the refusal says why."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from tests.amounts import Tell
from tests.engine_program import EngineProgram
from tests.keys import bearer
from tests.mcp_clients import READING_TOOLS
from tests.mcp_program import McpProgram
from tests.security.speaking import WAYS, Way, open_speech, use
from tests.security.surfaces import CLEARING, KEYS, MCP_PATHS, TAG, V1, Planted, both_programs, engine_doors, read_base

from kb.client import Json

READING_KEYS = KEYS["KB_API_KEY_READONLY"].split()
AGENTS_KEY = KEYS["KB_MCP_API_KEY"].split()[0]
AGENTS_READING_KEYS = KEYS["KB_MCP_API_KEY_READONLY"].split()
REFUSALS = {"forbidden": "This key can only read", "engine_refused": "only read"}


def is_reading(method: str, path: str) -> bool:
    return method in ("GET", "HEAD") or path == f"{V1}/search"


@pytest.fixture
def file(shown_folder: Path) -> Path:
    path = shown_folder / "canary-to-be-read.txt"
    path.write_text("Let in.", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def collections(
    guarded: EngineProgram, shown_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[McpProgram]:
    """`kb mcp` with the other toolset, which itself has only the engine's reading key."""
    settings = {**KEYS, "KB_API_KEY": READING_KEYS[0], "KB_MCP_TOOLSETS": "kb-collections,knowledge"}
    settings |= {"KB_MCP_FILE_ROOTS": str(shown_folder)}
    del settings["KB_API_KEY_READONLY"]
    with McpProgram(tmp_path_factory.mktemp("collections"), guarded.url, settings) as program:
        yield program


def arguments_of_tools(planted: Planted, file: Path, upload_id: str) -> dict[str, Json]:
    """Something to do for every tool; those that take away what the others need come last."""
    chunk = base64.b64encode(b"Let in.").decode()
    return {
        "kb_search": {"query": "quokkas"},
        "kb_get": {"document_id": planted.note_id},
        "kb_jobs": {},
        "kb_status": {},
        "knowledge-search": {"query": "quokkas"},
        "knowledge-show": {},
        "knowledge-status": {},
        "knowledge-task-status": {"task_id": planted.task_uuid},
        "kb_addnote": {"text": "Let in."},
        "kb_update_note": {"document_id": planted.note_id, "text": "Let in."},
        "kb_tag": {"document_id": planted.note_id, "add": ["let-in"], "remove": [TAG]},
        "kb_set_collection": {"document_id": planted.note_id, "collection": "memory"},
        "kb_upload_start": {"filename": "let-in.txt", "total_size": 7},
        "kb_upload_chunk": {"upload_id": upload_id, "data": chunk, "chunk_index": 0},
        "kb_upload_finish": {"upload_id": upload_id},
        "knowledge-add": {"file_path": str(file)},
        "kb_delete": {"document_id": planted.note_id},
        "knowledge-remove": {"document_id": planted.note_uuid, "confirm": True},
        "knowledge-clear": CLEARING,
    }


def pick(answer: Json, name: str) -> Json:
    return {name: answer[name]} if name in answer else {}


@pytest.mark.parametrize("key", READING_KEYS, ids=["present", "former"])
def test_no_operation_changes_anything_for_a_reading_key(
    guarded: EngineProgram, api: httpx.Client, planted: Planted, key: str, tell: Tell
) -> None:
    """E1: every operation, with a body that is right, so that the refusal is the key's doing."""
    before = read_base(api)
    doors = [door for door in engine_doors(both_programs(guarded)[0], planted) if door.path.startswith(V1)]
    refused = 0

    with httpx.Client(base_url=guarded.url, headers=bearer(key), trust_env=False, timeout=60) as http:
        for door in doors:
            # Only the beginning is read: some answers have no end.
            with http.stream(door.method, door.path, headers=[*door.headers], content=door.body) as answer:
                if is_reading(door.method, door.path):
                    assert answer.status_code in (200, 404), door.name
                else:
                    refused += 1
                    problem = json.loads(answer.read())
                    assert (answer.status_code, problem["code"], problem["access"]) == (403, "forbidden", "read")
                    assert problem["detail"] == "This key can only read."

    assert refused >= 15
    assert read_base(api) == before
    tell(f"the engine's reading key: {len(doors)} operations, {refused} that write all refused, 0 changes")


def test_the_same_operations_are_done_for_the_writing_key(
    guarded: EngineProgram, api: httpx.Client, planted: Planted
) -> None:
    """E1: they are right, but for a job that has ended already."""
    doors = [door for door in engine_doors(both_programs(guarded)[0], planted) if not door.path.endswith("/nothing")]
    writing = [door for door in doors if not is_reading(door.method, door.path)]
    before = read_base(api)

    for door in sorted(writing, key=lambda door: (door.method == "DELETE", -len(door.path))):
        answer = api.request(door.method, door.path.removeprefix(V1), headers=[*door.headers], content=door.body)
        assert answer.is_success or answer.json()["code"] == "job_finished", (door.name, answer.text)

    assert read_base(api) != before


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_no_tool_changes_anything_for_a_reading_agent(
    guarded: EngineProgram, api: httpx.Client, planted: Planted, file: Path, way: Way, tell: Tell
) -> None:
    """M2: every tool at each address, with arguments that are right."""
    with open_speech(guarded.mcp_url, AGENTS_KEY, way) as speak:
        upload_id = use(speak, "kb_upload_start", {"filename": "a.txt", "total_size": 7})["upload_id"]
        tools = {tool["name"] for tool in speak("tools/list", {})["result"]["tools"]}
    arguments = arguments_of_tools(planted, file, upload_id)
    assert tools == {*arguments} - {"kb_set_collection"}
    before = read_base(api)
    calls = 0

    for path in MCP_PATHS:
        for key in AGENTS_READING_KEYS:
            with open_speech(guarded.mcp_url, key, way, path=path) as speak:
                for tool in [tool["name"] for tool in speak("tools/list", {})["result"]["tools"]]:
                    answer = use(speak, tool, arguments[tool])
                    calls += 1
                    assert_refused(tool, answer, "forbidden")

    # All tools at one address, and each toolset at its own, with either key.
    assert calls == 2 * 2 * len(tools)
    assert read_base(api) == before
    tell(f"the agents' reading key by {'-'.join(way)}: {calls} calls of {len(tools)} tools, 0 changes")


def assert_refused(tool: str, answer: Json, code: str) -> None:
    if tool in READING_TOOLS:
        assert not answer["is_error"], (tool, answer)
    else:
        assert (answer["is_error"], answer["error"]) == (True, code), (tool, answer)
        assert REFUSALS[code] in answer["message"], (tool, answer)


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_no_other_method_changes_anything_for_a_reading_agent(
    guarded: EngineProgram, api: httpx.Client, planted: Planted, way: Way
) -> None:
    """M2, M23."""
    before = read_base(api)

    with open_speech(guarded.mcp_url, AGENTS_READING_KEYS[0], way) as speak:
        cancelled = speak("tools/cancel", {"taskId": planted.job_uuid})
        for method in ("tasks/cancel", "tasks/delete", "tasks/update", "resources/write", "roots/set", "tools/delete"):
            assert "error" in speak(method, {"taskId": planted.job_uuid, "uri": f"kb://documents/{planted.note_id}"})
        assert speak("resources/list", {})["result"]["resources"]
        assert speak("resources/read", {"uri": f"kb://documents/{planted.note_id}"})["result"]["contents"]
        assert speak("prompts/list", {})["result"]["prompts"]

    assert cancelled["error"]["data"]["error_type"] == "forbidden"
    assert "only read" in cancelled["error"]["message"]
    assert read_base(api) == before


def test_a_reading_agent_ends_no_session_of_another_whose_name_it_knows(guarded: EngineProgram) -> None:
    """M2, M4."""
    named = {"Mcp-Session-Id": "0" * 32, "MCP-Protocol-Version": "2025-11-25"}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    with httpx.Client(base_url=guarded.mcp_url, headers=named, trust_env=False, timeout=60) as http:
        writer, reader = bearer(AGENTS_KEY), bearer(AGENTS_READING_KEYS[0])

        assert http.delete("/mcp", headers=reader).status_code == 204

        assert http.post("/mcp", json=ping, headers=reader).status_code == 404
        assert http.post("/mcp", json=ping, headers=writer).json()["result"] == {}


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_a_server_with_the_engine_s_reading_key_changes_nothing_for_anybody(
    collections: McpProgram, api: httpx.Client, planted: Planted, file: Path, way: Way
) -> None:
    """M2, M15: a right key of its own does not give an agent more than the server has."""
    arguments = arguments_of_tools(planted, file, upload_id="")
    uploading = [tool for tool in arguments if tool.startswith("kb_upload")]
    before = read_base(api)

    for key, code in ((AGENTS_KEY, "engine_refused"), (AGENTS_READING_KEYS[0], "forbidden")):
        with open_speech(collections.url, key, way) as speak:
            for tool in {*arguments} - {*uploading}:
                assert_refused(tool, use(speak, tool, arguments[tool]), code)
            # What an agent sends in chunks reaches the engine with the last step.
            upload: Json = {}
            for tool in uploading:
                upload = use(speak, tool, {**arguments[tool], **pick(upload, "upload_id")})
            assert_refused(tool, upload, code)

    assert read_base(api) == before
