"""E8: what the worker does in its process is told by the engine in another."""

import asyncio
import time

import httpx
import pytest
from tests.engine_program import EngineProgram

from kb.client import EngineClient, Json
from kb.engine.processes.engine_process import SHUTDOWN_WITHIN_SECONDS

# Long enough that the worker is still at it when it is cancelled.
LONG_TEXT = " ".join(f"Sentence {number} tells of harbour crane {number * 7}." for number in range(6_000))


async def wait_for(client: EngineClient, kind: str, last_event_id: int, **fields: object) -> Json:
    """The first event of that kind with these fields in its data."""
    async for event in client.stream_events(last_event_id):
        if event["event"] == kind and fields.items() <= event["data"].items():
            return event
    raise AssertionError(f"The stream ended before {kind} with {fields}.")


async def number_of_next_event(client: EngineClient) -> int:
    """Any that was told is one to go on from."""
    job = await client.submit_note("Just to begin with.")
    event = await wait_for(client, "job", 0, id=job["id"])
    return int(event["id"])


def test_e8_progress_and_result_of_the_workers_job_are_told(running_engine: EngineProgram) -> None:
    async def run() -> tuple[Json, Json, Json, Json]:
        async with asyncio.timeout(60), EngineClient(running_engine.url) as client:
            first = await number_of_next_event(client)
            job = await client.submit_note(LONG_TEXT)
            progress = await wait_for(client, "job", first, id=job["id"], current_step="Generating embeddings")
            await client.cancel_job(job["id"])
            cancelled = await wait_for(client, "job", first, id=job["id"], status="cancelled")
            short = await client.submit_note("A gannet dries its wings.")
            completed = await wait_for(client, "job", cancelled["id"], id=short["id"], status="completed")
            document_id = completed["data"]["document_id"]
            added = await wait_for(client, "document_added", cancelled["id"], id=document_id)
            return progress, cancelled, completed, added

    progress, cancelled, completed, added = asyncio.run(run())

    assert progress["data"]["status"] == "running"
    assert 0 <= progress["data"]["progress"] < 1
    assert "chunk" in progress["data"]["message"]
    assert cancelled["id"] > progress["id"]
    assert (completed["data"]["progress"], completed["data"]["chunks_created"]) == (1, 1)
    assert added["data"]["title"] == "A gannet dries its wings."


def test_m24_events_of_an_engine_that_refuses_raise_its_answer(running_engine: EngineProgram) -> None:
    async def run() -> None:
        async with EngineClient(running_engine.url) as client:
            await wait_for(client, "job", -1)

    with pytest.raises(httpx.HTTPStatusError) as caught:
        asyncio.run(run())

    assert caught.value.response.json()["code"] == "invalid_request"


def test_e8_the_engine_stops_at_once_although_somebody_listens(running_engine: EngineProgram) -> None:
    with (
        httpx.Client(base_url=running_engine.url, trust_env=False, timeout=60) as http,
        http.stream("GET", "/api/v1/events") as response,
    ):
        started = time.monotonic()
        code = running_engine.stop()
        seconds = time.monotonic() - started
        rest = list(response.iter_lines())

    running_engine.start()
    assert code == 0
    assert rest[0].startswith("id: ")
    assert seconds < SHUTDOWN_WITHIN_SECONDS, "It waited in vain for the stream to end."
