"""Clients that leave things behind: they hang up, change their mind, and begin what they never finish.

Each way of doing so is a function. It returns when nothing is left to do, and raises `Unexpected` for an answer that
even such a client should not get.
"""

import asyncio
import base64
import json
import random
from collections.abc import Awaitable, Callable

from websockets.asyncio.client import connect

from bench.agents_at_work.connection import Answer, Connection, Json, parse_head
from bench.agents_at_work.doors import API, Unexpected
from bench.agents_at_work.programs import AGENT_KEY, ENGINE_KEY, Programs
from kb.client import FINISHED

BOUNDARY = "-between-parts-"
FORM = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
# By then an upload that nobody goes on with is gone; at most 32 can be open.
UPLOAD_TTL_SECONDS = 10

Rough = Callable[[Programs, random.Random], Awaitable[None]]


async def live_and_die_as_a_file(programs: Programs, chance: random.Random) -> None:
    connection = programs.open_engine()
    job = (await _upload(connection, chance)).json()
    while job["status"] not in FINISHED:
        await asyncio.sleep(0.1)
        job = _require(await connection.ask("GET", f"{API}/jobs/{job['id']}"), 200).json()
    path = f"{API}/documents/{job['document_id']}"
    _require(await connection.ask("GET", f"{path}/file"), 200)
    _require(await connection.ask("DELETE", path), 200)
    connection.close()


async def cancel_a_job(programs: Programs, chance: random.Random) -> None:
    connection = programs.open_engine()
    job = (await _upload(connection, chance)).json()
    answer = await connection.ask("POST", f"{API}/jobs/{job['id']}/cancel?forget=true")
    if answer.status == 409:
        # It was quicker; then the document is to go.
        done = _require(await connection.ask("GET", f"{API}/jobs/{job['id']}"), 200).json()
        answer = await connection.ask("DELETE", f"{API}/documents/{done['document_id']}")
    _require(answer, 200)
    connection.close()


async def hang_up_within_an_upload(programs: Programs, chance: random.Random) -> None:
    content = _form(chance)
    promised = f"Content-Length: {len(content) + 1_000_000}\r\nContent-Type: {FORM['Content-Type']}\r\n"
    await _say_and_hang_up(programs, f"POST {API}/jobs", promised, content)


async def hang_up_before_the_answer(programs: Programs, chance: random.Random) -> None:
    body = json.dumps({"query": f"what about {chance.random()}"}).encode()
    head = f"Content-Length: {len(body)}\r\nContent-Type: application/json\r\n"
    await _say_and_hang_up(programs, f"POST {API}/search", head, body)


async def leave_a_stream_of_events(programs: Programs, chance: random.Random) -> None:
    reader, writer = await _say(programs, f"GET {API}/events", "", b"")
    status, _ = parse_head(await reader.readuntil(b"\r\n\r\n"))
    if status != 200:
        raise Unexpected(f"events {status}")
    await reader.read(1000)
    await asyncio.sleep(chance.random())
    writer.transport.abort()


async def leave_a_session(programs: Programs, chance: random.Random) -> None:
    connection = programs.open_mcp()
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "rough", "version": "1"}}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}
    accepted = {"Accept": "application/json, text/event-stream"}
    _require(await connection.ask("POST", "/mcp", body, accepted), 200)
    connection.close()


async def drop_a_websocket(programs: Programs, chance: random.Random) -> None:
    headers = {"Authorization": f"Bearer {AGENT_KEY}"}
    url = f"ws://127.0.0.1:{programs.ports['mcp']}/mcp"
    websocket = await connect(url, additional_headers=headers, proxy=None)
    await websocket.send(json.dumps(_call("kb_search", query=f"what about {chance.random()}")))
    if chance.random() < 0.5:
        await websocket.recv()
    websocket.transport.abort()


async def abandon_an_upload_in_pieces(programs: Programs, chance: random.Random) -> None:
    connection = programs.open_mcp()
    started = await _use(connection, "kb_upload_start", filename="rough.md", total_size=100_000)
    data = base64.b64encode(chance.randbytes(20_000)).decode()
    await _use(connection, "kb_upload_chunk", upload_id=started["upload_id"], chunk_index=0, data=data)
    connection.close()
    # Nobody else's uploads are to find too many open.
    await asyncio.sleep(1)


ROUGH: tuple[Rough, ...] = (
    live_and_die_as_a_file,
    live_and_die_as_a_file,
    cancel_a_job,
    hang_up_within_an_upload,
    hang_up_before_the_answer,
    leave_a_stream_of_events,
    leave_a_session,
    drop_a_websocket,
    abandon_an_upload_in_pieces,
)


async def _upload(connection: Connection, chance: random.Random) -> Answer:
    return _require(await connection.ask("POST", f"{API}/jobs", _form(chance), FORM), 202)


def _form(chance: random.Random) -> bytes:
    text = f"# {chance.random()}\n\n" + "A rough client's file, as Markdown.\n\n" * chance.choice([1, 100, 1000])
    head = 'Content-Disposition: form-data; name="file"; filename="rough.md"'
    return f"--{BOUNDARY}\r\n{head}\r\n\r\n{text}\r\n--{BOUNDARY}--\r\n".encode()


async def _use(connection: Connection, tool: str, **arguments: object) -> Json:
    result: Json = _require(await connection.ask("POST", "/mcp", _call(tool, **arguments)), 200).json()["result"]
    if result["isError"]:
        raise Unexpected(f"{tool} {result['structuredContent']['error']}")
    answer: Json = result["structuredContent"]
    return answer


def _call(tool: str, **arguments: object) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def _require(answer: Answer, status: int) -> Answer:
    if answer.status != status:
        raise Unexpected(f"a rough client got {answer.status}: {answer.content[:200]!r}")
    return answer


async def _say(
    programs: Programs, what: str, head: str, body: bytes
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    reader, writer = await asyncio.open_connection("127.0.0.1", programs.ports["engine"])
    writer.write(f"{what} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {ENGINE_KEY}\r\n{head}\r\n".encode())
    writer.write(body)
    await writer.drain()
    return reader, writer


async def _say_and_hang_up(programs: Programs, what: str, head: str, body: bytes) -> None:
    _, writer = await _say(programs, what, head, body)
    # Time to be taken seriously.
    await asyncio.sleep(0.02)
    writer.transport.abort()
