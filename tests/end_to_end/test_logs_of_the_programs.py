"""The logs of all processes, as a program reads them: one JSON object a line, with the ids of requests and jobs."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.engine_program import EngineProgram

KEY, SECRET = "sesame-open", "xyzzy"


@pytest.fixture
def program(model_folder: Path, tmp_path: Path) -> Iterator[EngineProgram]:
    with EngineProgram(tmp_path, {"KB_LOG_FORMAT": "json", "KB_API_KEY": KEY}).running() as program:
        yield program


def read_log(program: EngineProgram) -> list[dict[str, Any]]:
    return [json.loads(line) for line in program.log.read_text().splitlines()]


def test_every_program_logs_as_json_with_its_ids_and_without_keys_texts_and_queries(program: EngineProgram) -> None:
    with httpx.Client(
        base_url=f"{program.url}/api/v1", trust_env=False, timeout=60, headers={"Authorization": f"Bearer {KEY}"}
    ) as http:
        note = http.post("/jobs", json={"type": "note", "text": SECRET, "title": SECRET}).json()
        with http.stream("GET", "/events", headers={"Last-Event-ID": "0"}) as events:
            assert any('"completed"' in line for line in events.iter_lines())
        http.post("/search", json={"query": SECRET}).raise_for_status()
        # An upload has nowhere to go now: trouble that the log has to tell of.
        shutil.rmtree(program.data_dir / "originals")
        (program.data_dir / "originals").touch()
        failed = http.post("/jobs", files={"file": (f"{SECRET}.txt", SECRET)}, headers={"X-Request-ID": "upload-1"})
    program.stop()

    log = read_log(program)
    assert {line["program"] for line in log} == {"engine", "worker", "mcp"}
    assert [line["program"] for line in log if line.get("job_id") == note["id"]] == ["worker"]
    assert failed.status_code >= 500
    (trouble,) = [line for line in log if line.get("request_id") == "upload-1"]
    assert "/api/v1/jobs" in trouble["message"]
    assert "Traceback" in trouble["exception"]
    assert KEY not in program.log.read_text()
    assert SECRET not in program.log.read_text()
