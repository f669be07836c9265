"""A long PDF on its way through engine, worker and reader: three processes, and each page is told of."""

import asyncio
import re
import time
from pathlib import Path

import psutil
from tests.engine_program import EngineProgram
from tests.pdf_files import make_text_pdf
from tests.reading import is_reader

from kb.client import EngineClient, Json

PAGE_MESSAGE = re.compile(r"Processing page (\d+) of (\d+)")


def write_pdf(path: Path, page_count: int, sentences_a_page: int) -> Path:
    pages = [
        " ".join(
            f"Page {page} tells in sentence {number} of tern colony {page * 1000 + number}." for number in sentences
        )
        for page in range(1, page_count + 1)
        for sentences in [range(sentences_a_page)]
    ]
    path.write_bytes(make_text_pdf(pages, title=f"Terns on {page_count} pages"))
    return path


async def follow_job(client: EngineClient, job: Json, after: int, *, cancel_at_page: int | None = None) -> list[Json]:
    """What the stream tells of the job until it ends; cancelled when it comes to that page."""
    told: list[Json] = []
    is_cancelled = False
    async for event in client.events(after):
        if event["event"] != "job" or event["data"]["id"] != job["id"]:
            continue
        told.append(event["data"])
        if event["data"]["status"] in ("completed", "failed", "cancelled"):
            return told
        page = find_page(event["data"])
        if cancel_at_page is not None and page >= cancel_at_page and not is_cancelled:
            is_cancelled = True
            await client.cancel_job(job["id"])
    raise AssertionError("The stream ended before the job.")


def find_page(job: Json) -> int:
    found = PAGE_MESSAGE.fullmatch(job["message"])
    return int(found[1]) if found else 0


def find_readers(engine: EngineProgram) -> list[psutil.Process]:
    """Processes of the engine that read a document."""
    return [process for process in psutil.Process(engine.process.pid).children(recursive=True) if is_reader(process)]


async def newest_event(client: EngineClient) -> int:
    job = await client.submit_note("A note that is told of.")
    async for event in client.events(0):
        if event["event"] == "job" and event["data"]["id"] == job["id"]:
            return int(event["id"])
    raise AssertionError("The stream ended.")


def test_i4_a_long_pdf_tells_of_its_pages_and_leaves_nothing_when_it_is_cancelled(
    running_engine: EngineProgram, tmp_path: Path
) -> None:
    path = write_pdf(tmp_path / "long.pdf", page_count=300, sentences_a_page=30)

    async def run() -> tuple[list[Json], Json, Json]:
        async with asyncio.timeout(120), EngineClient(running_engine.url) as client:
            after = await newest_event(client)
            job = await client.submit_file(path)
            told = await follow_job(client, job, after, cancel_at_page=100)
            found = await client.search("tern colony 1001")
            listed = await client.list_documents(q="Terns on 300 pages")
            return told, found, listed

    told, found, listed = asyncio.run(run())

    pages = [page for page in map(find_page, told) if page]
    assert pages == sorted(pages)
    assert len(set(pages)) >= 5
    assert 100 <= pages[-1] < 300
    assert told[-1]["status"] == "cancelled"
    running = [job for job in told if job["status"] == "running" and find_page(job) > 1]
    assert all(job["estimated_remaining_seconds"] > 0 for job in running)
    assert listed["total"] == 0
    assert not any(hit["filename"] == "long.pdf" for hit in found["results"])
    wait_until_no_reader_is_left(running_engine)


def wait_until_no_reader_is_left(engine: EngineProgram) -> None:
    """E7, I4: within two seconds."""
    deadline = time.monotonic() + 2
    while find_readers(engine):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_i4_the_last_page_is_always_told_of(running_engine: EngineProgram, tmp_path: Path) -> None:
    path = write_pdf(tmp_path / "short.pdf", page_count=12, sentences_a_page=3)

    async def run() -> tuple[list[Json], Json]:
        async with asyncio.timeout(60), EngineClient(running_engine.url) as client:
            after = await newest_event(client)
            told = await follow_job(client, await client.submit_file(path), after)
            return told, await client.get_document(told[-1]["document_id"])

    told, document = asyncio.run(run())

    assert 12 in map(find_page, told)
    assert told[-1]["status"] == "completed"
    assert document["title"] == "Terns on 12 pages"
    assert document["metadata"]["pages"] == 12
    assert [chunk["page_num"] for chunk in document["chunks"]] == list(range(1, 13))
