"""A key is changed without a break: for a while the old one and the new one both open."""

from pathlib import Path

import pytest
from tests.amounts import IS_FULL
from tests.engine_program import EngineAlone, EngineProgram
from tests.keys import bearer
from tests.mcp_clients import RawClient
from tests.mcp_program import McpProgram
from tests.security.surfaces import KEYS, open_api

NEW, OLD = KEYS["KB_API_KEY"].split()


def test_every_key_of_a_secret_opens_and_the_audit_tells_them_apart(guarded: EngineProgram) -> None:
    """E1: whoever takes the old one away can see whether somebody still uses it."""
    names = {}
    for key in (NEW, OLD):
        with open_api(guarded, key) as http:
            job_id = http.post("/jobs", json={"type": "note", "text": "Rotated."}).raise_for_status().json()["id"]
            submitted = [entry for entry in http.get("/audit").json()["entries"] if entry["job_id"] == job_id]
            names[key] = {entry["key_name"] for entry in submitted if entry["action"] == "job_submitted"}

    assert names == {NEW: {"KB_API_KEY"}, OLD: {"KB_API_KEY #2"}}


@pytest.mark.parametrize("key", KEYS["KB_API_KEY_READONLY"].split())
def test_every_reading_key_opens_for_reading(guarded: EngineProgram, key: str) -> None:
    """E1."""
    with open_api(guarded, key) as http:
        assert http.get("/status").json()["access"] == "read"
        assert http.post("/jobs", json={"type": "note", "text": "x"}).status_code == 403


@pytest.mark.parametrize("key", [*KEYS["KB_MCP_API_KEY"].split(), *KEYS["KB_MCP_API_KEY_READONLY"].split()])
def test_every_key_of_the_agents_opens(guarded: EngineProgram, key: str) -> None:
    """M2: and the server itself is let in by the engine, to which it sends the first of several."""
    with RawClient(guarded.mcp_url, headers=bearer(key)) as client:
        assert client.call("kb_status")["access"] == "write"


def test_a_command_sends_the_first_of_several_keys(guarded: EngineProgram, tmp_path: Path) -> None:
    """E1, C3: from a file too, as whoever changes keys leaves it."""
    key_file = tmp_path / "keys"
    key_file.write_text(f"\n{OLD}\nno-key-at-all\n", encoding="utf-8")

    ended = guarded.run_kb("list", "--json", settings={"KB_API_KEY": "", "KB_API_KEY_FILE": str(key_file)})

    assert ended.returncode == 0, ended.stderr


@pytest.mark.skipif(not IS_FULL, reason="starts the programs three times")
def test_programs_that_are_started_again_one_by_one_never_shut_anybody_out(model_folder: Path, tmp_path: Path) -> None:
    """E1, M2: the engine learns the new key first, then who calls it; then the old one goes."""
    key_file = tmp_path / "keys"
    key_file.write_text(OLD, encoding="utf-8")
    engine = EngineAlone(tmp_path, {"KB_API_KEY_FILE": str(key_file)})
    engine.start()
    with McpProgram(tmp_path / "old", engine.url, {"KB_API_KEY": OLD}) as old, RawClient(old.url) as client:
        assert client.call("kb_status")["access"] == "write"
        key_file.write_text(f"{NEW}\n{OLD}\n", encoding="utf-8")
        engine.restart()
        assert client.call("kb_status")["access"] == "write"
        settings = {"KB_API_KEY_FILE": str(key_file)}
        with McpProgram(tmp_path / "new", engine.url, settings) as new, RawClient(new.url) as other:
            key_file.write_text(NEW, encoding="utf-8")
            engine.restart()
            assert other.call("kb_status")["access"] == "write"
            assert client.fail("kb_status")["error"] == "engine_refused"
    engine.stop()
