"""Every way by which something gets into a base, each given files that are almost right."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
from tests.engine_program import EngineProgram
from tests.hostile.fuzz_corpus import FuzzedFile, chance_of
from tests.hostile.fuzz_json import fuzzed_bundle, fuzzed_note, text_of
from tests.mcp_clients import RawClient
from tests.mcp_server.staging import encoded

REFUSALS = (400, 413, 415, 422)
"""The statuses that say that something is wrong with what was sent."""
REFUSED = "refused"
"""Instead of a code, which the command line does not tell."""

COMMAND = "kb add"
_SHARES = {
    "POST /jobs, a file": 9,
    "kb_upload": 3,
    "knowledge-add": 3,
    "POST /import": 2,
    "POST /jobs, a note": 1,
    "kb_addnote": 1,
    COMMAND: 1,
}
_ROUTE_OF = [route for route, share in _SHARES.items() for _ in range(share)]


@dataclass(frozen=True)
class Sent:
    """A file that was given to the engine."""

    file: FuzzedFile
    route: str
    job: str | None
    """Its id or UUID. None if it was refused or there was nothing left to do."""
    code: str = ""
    message: str = ""
    seconds: float = 0


class Routes:
    def __init__(self, engine: EngineProgram, files: Path, http: httpx.Client, agent: RawClient) -> None:
        self._engine = engine
        self._files = files
        self._http = http
        self._agent = agent
        self._by_name: dict[str, Callable[[FuzzedFile], Sent]] = {
            "POST /jobs, a file": self._post_file,
            "POST /jobs, a note": self._post_note,
            "POST /import": self._import,
            "kb_upload": self._upload,
            "kb_addnote": self._add_note,
            "knowledge-add": self._add_by_path,
        }

    def send(self, files: Sequence[FuzzedFile]) -> list[Sent]:
        """Each by the route that its number tells; those for the command line with one command."""
        chosen = [(file, _ROUTE_OF[file.number % len(_ROUTE_OF)]) for file in files]
        sent = [self._by_name[route](file) for file, route in chosen if route != COMMAND]
        return sent + self._run_command([file for file, route in chosen if route == COMMAND])

    def _post_file(self, file: FuzzedFile) -> Sent:
        answer = self._http.post("/jobs", files={"file": (file.filename, file.content)})
        return _of_answer(file, "POST /jobs, a file", answer)

    def _post_note(self, file: FuzzedFile) -> Sent:
        body = fuzzed_note(chance_of(file.number, "note"), file.content)
        answer = self._http.post("/jobs", content=body, headers={"Content-Type": "application/json"})
        return _of_answer(file, "POST /jobs, a note", answer)

    def _import(self, file: FuzzedFile) -> Sent:
        body = fuzzed_bundle(chance_of(file.number, "bundle"), file.number, file.content)
        began_at = time.monotonic()
        answer = self._http.post("/import", content=body, headers={"Content-Type": "application/x-tar"})
        return _of_answer(file, "POST /import", answer, time.monotonic() - began_at)

    def _upload(self, file: FuzzedFile) -> Sent:
        started = self._agent.call("kb_upload_start", filename=file.filename, total_size=len(file.content))
        upload_id, size = started["upload_id"], len(file.content) // 3 + 1
        for index in range(0, len(file.content), size):
            chunk = encoded(file.content[index : index + size])
            self._agent.call("kb_upload_chunk", upload_id=upload_id, chunk_index=index // size, data=chunk)
        return self._call(file, "kb_upload", "kb_upload_finish", upload_id=upload_id)

    def _add_note(self, file: FuzzedFile) -> Sent:
        text = text_of(file.content)
        return self._call(file, "kb_addnote", "kb_addnote", text=text, title=text[:100], tags=["fuzz", file.filename])

    def _add_by_path(self, file: FuzzedFile) -> Sent:
        return self._call(file, "knowledge-add", "knowledge-add", file_path=str(self._write(file)))

    def _call(self, file: FuzzedFile, route: str, tool: str, **arguments: Any) -> Sent:
        result = self._agent.call_for_result(tool, **arguments)
        answer = result["structuredContent"]
        if result["isError"]:
            return Sent(file, route, None, answer["error"], answer["message"])
        return Sent(file, route, str(answer.get("job_id") or answer["task_id"]))

    def _run_command(self, files: Sequence[FuzzedFile]) -> list[Sent]:
        if not files:
            return []
        paths = {str(self._write(file)): file for file in files}
        # What looks like an option must not become one.
        command = self._engine.run_kb("add", "--no-wait", "--json", "--", *paths)
        jobs = {job["filename"]: str(job["id"]) for job in map(json.loads, command.stdout.splitlines())}
        refused = {path: line for path in paths for line in command.stderr.splitlines() if f"{path}: " in line}
        told = {path: (REFUSED, refused[path]) if path in refused else (command.stderr, "") for path in paths}
        return [Sent(file, COMMAND, jobs.get(file.filename), *told[path]) for path, file in paths.items()]

    def _write(self, file: FuzzedFile) -> Path:
        path = self._files / file.filename
        path.write_bytes(file.content)
        return path


def _of_answer(file: FuzzedFile, route: str, answer: httpx.Response, seconds: float = 0) -> Sent:
    body = answer.json()
    if answer.is_success:
        return Sent(file, route, str(body["id"]) if "id" in body else None, "read", "", seconds)
    code = body["code"] if answer.status_code in REFUSALS else f"HTTP {answer.status_code}"
    return Sent(file, route, None, code, body["detail"], seconds)
