"""Following a job to its end by the engine's events, and seeing who works on it."""

import re

import psutil
from tests.engine_program import EngineProgram
from tests.reading import find_readers_of
from tests.waiting import wait_until

from kb.client import FINISHED, EngineClient, Json

PAGE_MESSAGE = re.compile(r"Processing page (\d+) of (\d+)")


async def follow_job(client: EngineClient, job: Json, after: int, *, cancel_at_page: int | None = None) -> list[Json]:
    """What the stream tells of the job until it ends; cancelled when it comes to that page."""
    told: list[Json] = []
    is_cancelled = False
    async for event in client.stream_events(after):
        if event["event"] != "job" or event["data"]["id"] != job["id"]:
            continue
        told.append(event["data"])
        if event["data"]["status"] in FINISHED:
            return told
        page = find_page(event["data"])
        if cancel_at_page is not None and page >= cancel_at_page and not is_cancelled:
            is_cancelled = True
            await client.cancel_job(job["id"])
    raise AssertionError("The stream ended before the job.")


def find_page(job: Json) -> int:
    found = PAGE_MESSAGE.fullmatch(job["message"])
    return int(found[1]) if found else 0


def find_readers(engine: EngineProgram, *kinds: str) -> list[psutil.Process]:
    """Processes of the engine that read a document; or those of these kinds alone."""
    return find_readers_of(psutil.Process(engine.process.pid), *kinds)


async def newest_event(client: EngineClient) -> int:
    job = await client.submit_note("A note that is told of.")
    async for event in client.stream_events(0):
        if event["event"] == "job" and event["data"]["id"] == job["id"]:
            return int(event["id"])
    raise AssertionError("The stream ended.")


def wait_until_no_reader_is_left(engine: EngineProgram) -> None:
    """E7, I4: within two seconds, where nothing else is running; here another test is, on two cores."""
    wait_until(lambda: not find_readers(engine), "no reader is left", within_seconds=5)
