"""The two ways by which an agent reaches a base, straight on the engine and by the tools of the MCP server.

Both do the same, so that whoever goes through one can go through the other. Each call is timed. An answer that nobody
should get raises `Unexpected`; being told to wait, or that a note has changed meanwhile, is no error.
"""

import asyncio
import itertools
import random
from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

from bench.agents_at_work.connection import Answer, Connection, Json

API = "/api/v1"
# An agent is told to wait in words; this is what the engine tells its clients.
WAIT_SECONDS = 1.0


class Unexpected(Exception):
    """An answer that a client cannot do anything about."""


class Stale(Exception):
    """The note has changed since it was read: read it again."""


@dataclass
class Tally:
    """What all agents of a run have measured."""

    milliseconds: dict[str, list[float]] = field(default_factory=lambda: {"search": [], "read": [], "write": []})
    told_to_wait: int = 0
    stale: int = 0
    errors: Counter[str] = field(default_factory=Counter)


class Door(Protocol):
    async def search(self, query: str) -> list[Json]: ...

    async def get(self, document_id: int) -> Json:
        """The document, with its `text` and `version`."""

    async def look_around(self, document_id: int, chance: random.Random) -> None:
        """Any other way of reading."""

    async def add(self, text: str, tag: str) -> int:
        """The job's id."""

    async def document_of(self, job_id: int) -> int | None:
        """What the job has become; None as long as it is not done."""

    async def rewrite(self, document_id: int, text: str, version: int) -> None:
        """Raises `Stale`."""

    async def tag(self, document_id: int, tag: str) -> None: ...

    async def delete(self, document_id: int) -> None: ...

    def close(self) -> None: ...


class EngineDoor:
    def __init__(self, connection: Connection, tally: Tally) -> None:
        self._connection = connection
        self._tally = tally
        self.close = connection.close

    async def search(self, query: str) -> list[Json]:
        hits: list[Json] = (await self._ask("search", "POST", "/search", {"query": query})).json()["results"]
        return hits

    async def get(self, document_id: int) -> Json:
        return (await self._ask("read", "GET", f"/documents/{document_id}")).json()

    async def look_around(self, document_id: int, chance: random.Random) -> None:
        paths = (f"/documents/{document_id}/file", "/documents?limit=20", f"/documents/{document_id}?chunk_limit=3")
        await self._ask("read", "GET", chance.choice((*paths, "/tags", "/status")))

    async def add(self, text: str, tag: str) -> int:
        body = {"type": "note", "text": text, "tags": [tag]}
        job: int = (await self._ask("write", "POST", "/jobs", body, {"Idempotency-Key": text[:100]})).json()["id"]
        return job

    async def document_of(self, job_id: int) -> int | None:
        return _document_of((await self._ask("read", "GET", f"/jobs/{job_id}")).json())

    async def rewrite(self, document_id: int, text: str, version: int) -> None:
        await self._ask("write", "PATCH", f"/notes/{document_id}", {"text": text}, {"If-Match": f'"{version}"'})

    async def tag(self, document_id: int, tag: str) -> None:
        await self._ask("write", "PATCH", f"/documents/{document_id}/tags", {"add": [tag]})

    async def delete(self, document_id: int) -> None:
        await self._ask("write", "DELETE", f"/documents/{document_id}")

    async def list_tagged(self, tag: str) -> list[Json]:
        found: list[Json] = (await self._ask("read", "GET", f"/documents?limit=1000&tag={tag}")).json()["documents"]
        return found

    async def find_word(self, word: str) -> list[Json]:
        body = {"query": word, "mode": "fts", "group_by": "document"}
        hits: list[Json] = (await self._ask("search", "POST", "/search", body)).json()["results"]
        return hits

    async def _ask(
        self, kind: str, method: str, path: str, body: Json | None = None, headers: dict[str, str] | None = None
    ) -> Answer:
        while True:
            answer = await self._connection.ask(method, API + path, body, headers)
            if answer.status < 300:
                self._tally.milliseconds[kind].append(answer.milliseconds)
                return answer
            if answer.status == 412:
                self._tally.stale += 1
                raise Stale
            if answer.status != 429 or "retry-after" not in answer.headers:
                raise Unexpected(f"{method} {path.partition('?')[0].rstrip('0123456789')} {answer.status}")
            self._tally.told_to_wait += 1
            await asyncio.sleep(float(answer.headers["retry-after"]))


class McpDoor:
    def __init__(self, connection: Connection, tally: Tally) -> None:
        self._connection = connection
        self._tally = tally
        self._ids = itertools.count(1)
        self.close = connection.close

    async def search(self, query: str) -> list[Json]:
        hits: list[Json] = (await self._call("search", "kb_search", query=query))["results"]
        return hits

    async def get(self, document_id: int) -> Json:
        return await self._call("read", "kb_get", document_id=document_id)

    async def look_around(self, document_id: int, chance: random.Random) -> None:
        ways: list[tuple[str, Json]] = [
            ("kb_get", {"document_id": document_id, "chunk_offset": 5}),
            ("kb_get", {"source_path": "/nowhere"}),
            ("kb_jobs", {}),
            ("kb_status", {}),
        ]
        tool, arguments = chance.choice(ways)
        await self._call("read", tool, **arguments)

    async def add(self, text: str, tag: str) -> int:
        job: int = (await self._call("write", "kb_addnote", text=text, tags=[tag]))["job_id"]
        return job

    async def document_of(self, job_id: int) -> int | None:
        return _document_of((await self._call("read", "kb_jobs", job_id=job_id))["jobs"][0])

    async def rewrite(self, document_id: int, text: str, version: int) -> None:
        await self._call("write", "kb_update_note", document_id=document_id, text=text, version=version)

    async def tag(self, document_id: int, tag: str) -> None:
        await self._call("write", "kb_tag", document_id=document_id, add=[tag])

    async def delete(self, document_id: int) -> None:
        await self._call("write", "kb_delete", document_id=document_id)

    async def _call(self, kind: str, tool: str, **arguments: object) -> Json:
        while True:
            params = {"name": tool, "arguments": arguments}
            body = {"jsonrpc": "2.0", "id": next(self._ids), "method": "tools/call", "params": params}
            answer = await self._connection.ask("POST", "/mcp", body)
            if answer.status != 200:
                raise Unexpected(f"{tool} {answer.status}")
            result = answer.json()["result"]
            told: Json = result["structuredContent"]
            if not result["isError"]:
                self._tally.milliseconds[kind].append(answer.milliseconds)
                return told
            if told["error"] == "version_conflict":
                self._tally.stale += 1
                raise Stale
            if told["error"] != "too_many_requests":
                raise Unexpected(f"{tool} {told['error']}")
            self._tally.told_to_wait += 1
            await asyncio.sleep(WAIT_SECONDS)


def _document_of(job: Json) -> int | None:
    if job["status"] not in ("queued", "running", "completed"):
        raise Unexpected(f"job {job['status']}")
    document_id: int | None = job["document_id"]
    return document_id
