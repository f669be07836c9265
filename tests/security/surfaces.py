"""What there is to get at: both programs with their keys, every address of theirs, and the base behind them.

Each request is whole and valid, so that it does something unless a key, or the want of one, keeps it from it.
"""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import httpx
from fastapi.routing import iter_route_contexts
from tests.engine_program import EngineProgram
from tests.keys import bearer
from tests.security.wire import Header, Request, request_to
from tests.waiting import wait_for_job

from kb.engine.api.app import create_routes
from kb.engine.api.bodies import CONFIRMATION_PHRASE
from kb.mcp.app import PATH
from kb.settings.programs import McpSettings

Json = dict[str, Any]
ProgramName = Literal["engine", "mcp"]

# Letters of either case, so that another case is another key; long enough to be found again wherever they turn up.
KEYS = {
    "KB_API_KEY": "Canary-Engine-Present-7Q\nCanary-Engine-Previous-2H",
    "KB_API_KEY_READONLY": "Canary-Engine-Reading-5V\nCanary-Engine-Formerly-Reading-9D",
    "KB_MCP_API_KEY": "Canary-Agents-Present-4W\nCanary-Agents-Previous-8R",
    "KB_MCP_API_KEY_READONLY": "Canary-Agents-Reading-6T\nCanary-Agents-Formerly-Reading-3Z",
}
EVERY_KEY = tuple(key for keys in KEYS.values() for key in keys.split())
NOTE_TEXT = "Quokkas of the canary text graze on Rottnest."
TAG = "canary-tag"
V1 = "/api/v1"
PUBLIC_PATHS = frozenset({"/health/live", "/health/ready", "/health"})
MCP_PATHS = (PATH, *(f"{PATH}/{toolset}" for toolset in McpSettings.model_fields["mcp_toolsets"].default))
CLEARING = {"confirm": True, "confirmation_phrase": CONFIRMATION_PHRASE}


@dataclass(frozen=True)
class Program:
    """One that listens, as an attacker knows it, and the keys that he does not know."""

    name: ProgramName
    address: str
    public_path: str

    @property
    def key(self) -> str:
        return self._keys()[0]

    @property
    def previous_key(self) -> str:
        return self._keys()[1]

    @property
    def foreign_key(self) -> str:
        """Of the other program."""
        return KEYS["KB_MCP_API_KEY" if self.name == "engine" else "KB_API_KEY"].split()[0]

    def _keys(self) -> list[str]:
        return KEYS["KB_API_KEY" if self.name == "engine" else "KB_MCP_API_KEY"].split()


def as_basic(key: str) -> str:
    """The key as the password of basic authentication."""
    return base64.b64encode(f"kb:{key}".encode()).decode()


def keys_in(text: str) -> list[str]:
    return [key for key in EVERY_KEY if key.lower() in text.lower() or as_basic(key) in text]


def files_with_keys(program: EngineProgram) -> list[Path]:
    files = [path for path in program.data_dir.rglob("*") if path.is_file()]
    assert files
    return [path for path in files if keys_in(path.read_bytes().decode("latin-1"))]


def both_programs(program: EngineProgram) -> tuple[Program, Program]:
    engine, mcp = (url.removeprefix("http://") for url in (program.url, program.mcp_url))
    return Program("engine", engine, "/health/live"), Program("mcp", mcp, "/health")


@dataclass(frozen=True)
class Planted:
    """A note with an earlier text, and a job that failed: something for every route to work on."""

    note_id: int
    note_uuid: str
    task_uuid: str
    """Of the job that added the note."""
    job_id: int
    job_uuid: str
    bundle: bytes
    """What the engine exports, to be imported again."""


@contextmanager
def open_api(program: EngineProgram, key: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=program.url + V1, headers=bearer(key), trust_env=False, timeout=60) as http:
        yield http


def plant(http: httpx.Client) -> Planted:
    added = http.post("/jobs", json={"type": "note", "text": "An earlier text.", "tags": [TAG]}).json()
    note = wait_for_job(http, added["id"])
    document = http.patch(f"/notes/{note['document_id']}", json={"text": NOTE_TEXT}).raise_for_status().json()
    broken = http.post("/jobs", files={"file": ("broken.pdf", b"%PDF-1.7 and no more")}).json()
    failed = wait_for_job(http, broken["id"])
    assert failed["status"] == "failed", failed
    bundle = http.get("/export").raise_for_status().content
    return Planted(document["id"], document["uuid"], note["uuid"], failed["id"], failed["uuid"], bundle)


def read_base(http: httpx.Client) -> Json:
    """All of it, as the API shows it: every document with its ETag, the tags, the jobs, the audit."""
    listed = http.get("/documents", params={"limit": 1000}).raise_for_status().json()["documents"]
    documents = [http.get(f"/documents/{document['id']}").raise_for_status() for document in listed]
    return {
        "documents": [(one.headers["etag"], one.json()) for one in documents],
        "tags": http.get("/tags").raise_for_status().json()["tags"],
        "jobs": http.get("/jobs", params={"limit": 1000}).raise_for_status().json()["jobs"],
        "audit": http.get("/audit", params={"limit": 1000}).raise_for_status().json(),
    }


@dataclass(frozen=True)
class Door:
    """A request that does something if its sender is let in."""

    program: Program
    method: str
    path: str
    headers: tuple[Header, ...] = ()
    body: bytes = b""

    def request(self, *more: Header) -> Request:
        return request_to(self.program.address, self.method, self.path, *self.headers, *more, body=self.body)

    @property
    def name(self) -> str:
        return f"{self.program.name} {self.method} {self.path}"


_JSON_BODIES: dict[tuple[str, str], Json] = {
    ("post", "/jobs"): {"type": "note", "text": "Let in."},
    ("delete", "/documents"): CLEARING,
    ("patch", "/documents/{id}"): {"title": "Let in"},
    ("patch", "/notes/{id}"): {"text": "Let in."},
    ("post", "/notes/{id}/revert"): {"version": 1},
    ("patch", "/documents/{id}/tags"): {"add": ["let-in"]},
    ("put", "/documents/{id}/tags"): {"tags": ["let-in"]},
    ("post", "/documents/{id}/tags"): {"tags": ["let-in"]},
    ("post", "/search"): {"query": "quokkas"},
}
_FORM = b'--x\r\nContent-Disposition: form-data; name="file"; filename="let-in.txt"\r\n\r\nLet in.\r\n--x--\r\n'


def engine_doors(engine: Program, planted: Planted) -> list[Door]:
    """Every operation that the engine describes, every route that it does not, and addresses beside them."""
    app = create_routes()
    doors = [
        _engine_door(engine, method, path.removeprefix(V1), operation, planted)
        for path, operations in app.openapi()["paths"].items()
        if path.startswith(V1)
        for method, operation in operations.items()
    ]
    doors += [
        Door(engine, method, route.path or "/")
        for route in iter_route_contexts(app.routes)
        # A folder of files, such as those of the web page, is no operation and has no methods of its own.
        # The page itself is for everybody, and holds nothing of the base: tests/api/test_page.py.
        if route.path != "/" and not (getattr(route, "include_in_schema", False) and (route.path or "").startswith(V1))
        for method in sorted(getattr(route, "methods", None) or {"GET"})
    ]
    form = (("Content-Type", "multipart/form-data; boundary=x"),)
    doors.append(Door(engine, "POST", f"{V1}/jobs", form, _FORM))
    beside = ["/api", f"{V1}/nothing", "/docs", "/metrics"]
    return [*doors, *(Door(engine, "GET", path) for path in beside)]


def _engine_door(engine: Program, method: str, path: str, operation: Json, planted: Planted) -> Door:
    id_meant = planted.job_id if path.startswith("/jobs") else planted.note_id
    filled = path.replace("{id}", str(id_meant)).replace("{tag}", TAG).replace("{n}", "1")
    assert not re.search(r"[{}]", filled), f"{path} takes something that nobody has planted"
    types = operation.get("requestBody", {}).get("content", {})
    if "application/json" in types:
        body = json.dumps(_JSON_BODIES[method, path]).encode()
        return Door(engine, method.upper(), V1 + filled, (("Content-Type", "application/json"),), body)
    headers = tuple(("Content-Type", one) for one in types)
    return Door(engine, method.upper(), V1 + filled, headers, planted.bundle if types else b"")


def mcp_doors(mcp: Program, planted: Planted) -> list[Door]:
    """Every method on every address that the MCP server has by default, and addresses beside them."""
    calls: dict[str, tuple[str, Json]] = {
        "/mcp": ("kb_delete", {"document_id": planted.note_id}),
        "/mcp/kb": ("kb_addnote", {"text": "Let in."}),
        "/mcp/knowledge": ("knowledge-clear", CLEARING),
    }
    doors = []
    for path in MCP_PATHS:
        tool, arguments = calls[path]
        doors += [
            Door(mcp, "POST", path, (("Content-Type", "application/json"),), call_body(tool, arguments)),
            Door(mcp, "GET", path, (("Accept", "text/event-stream"),)),
            Door(mcp, "DELETE", path, (("Mcp-Session-Id", "0" * 32),)),
        ]
    return [*doors, *(Door(mcp, "GET", path) for path in ("/health", "/", "/mcp/kb-collections", "/nothing"))]


def call_body(tool: str, arguments: Json) -> bytes:
    params = {"name": tool, "arguments": arguments}
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
