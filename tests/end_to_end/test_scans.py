"""A scan on its way through engine, worker, reader and the processes that read its pages."""

import asyncio
import contextlib
from pathlib import Path

import psutil
from tests.amounts import amount
from tests.engine_program import EngineProgram
from tests.following_jobs import find_page, find_readers, follow_job, newest_event, wait_until_no_reader_is_left
from tests.reading import PICTURE_READER
from tests.scanned_pages import write_scan

from kb.client import EngineClient, Json
from kb.engine.ingestion.extraction.recognition import MAX_PROCESSES, PICTURES_PER_PROCESS

CANCELLED_AT_PAGE = 4
PAGES_TO_CANCEL = 15


def tell_of_nests(page_count: int, *, lines_a_page: int) -> list[list[str]]:
    return [
        [f"Page {page} tells in line {line + 1} of curlew nest {page * 100 + line}." for line in range(lines_a_page)]
        for page in range(1, page_count + 1)
    ]


def test_i3_a_scanned_pdf_is_read_straight_after_install_and_says_how_well(
    running_engine: EngineProgram, tmp_path: Path
) -> None:
    path = write_scan(tmp_path / "nests.pdf", tell_of_nests(5, lines_a_page=4))

    async def run() -> tuple[list[Json], Json, Json]:
        async with asyncio.timeout(120), EngineClient(running_engine.url) as client:
            after = await newest_event(client)
            told = await follow_job(client, await client.submit_file(path), after)
            document = await client.get_document(told[-1]["document_id"])
            return told, document, await client.search("curlew nest 302")

    told, document, found = asyncio.run(run())

    assert told[-1]["status"] == "completed"
    assert 5 in map(find_page, told)
    assert document["processing_method"] == "ocr"
    assert document["metadata"]["ocr_pages"] == ["1-5"]
    assert 0.9 < document["metadata"]["ocr_confidence"] <= 1
    assert [chunk["page_num"] for chunk in document["chunks"]] == [1, 2, 3, 4, 5]
    assert "Page 3 tells in line 3 of curlew nest 302." in document["chunks"][2]["text"]
    assert found["results"][0]["filename"] == "nests.pdf"
    assert found["results"][0]["page_num"] == 3


def test_i4_a_scan_is_cancelled_in_the_middle_of_a_page(running_engine: EngineProgram, tmp_path: Path) -> None:
    path = write_scan(tmp_path / "many-nests.pdf", tell_of_nests(PAGES_TO_CANCEL, lines_a_page=12))

    async def run() -> tuple[list[Json], Json]:
        async with asyncio.timeout(120), EngineClient(running_engine.url) as client:
            after = await newest_event(client)
            told = await follow_job(client, await client.submit_file(path), after, cancel_at_page=CANCELLED_AT_PAGE)
            return told, await client.list_documents(q="many-nests")

    told, listed = asyncio.run(run())

    wait_until_no_reader_is_left(running_engine)
    assert told[-1]["status"] == "cancelled"
    assert max(map(find_page, told)) < PAGES_TO_CANCEL
    running = [job for job in told if job["status"] == "running" and find_page(job) > 1]
    assert all(job["estimated_remaining_seconds"] > 0 for job in running)
    assert listed["total"] == 0


def test_i5_a_long_scan_takes_no_more_processes_and_memory_than_a_short_one(
    running_engine: EngineProgram, tmp_path: Path
) -> None:
    page_count = amount(selection=25, full=200)
    path = write_scan(tmp_path / "long.pdf", tell_of_nests(page_count, lines_a_page=1))
    at_once, seen, largest = 0, set[int](), 0

    async def run() -> tuple[Json, Json]:
        nonlocal at_once, largest
        async with asyncio.timeout(600), EngineClient(running_engine.url) as client:
            job = await client.submit_file(path)
            following = asyncio.create_task(client.wait_for_job(job["id"]))
            while not following.done():
                await asyncio.wait([following], timeout=0.2)
                weights = weigh_readers_of_pictures(running_engine)
                at_once, largest = max(at_once, len(weights)), max(largest, *weights.values(), 0)
                seen.update(weights)
            job = await following
            return job, await client.get_document(job["document_id"])

    job, document = asyncio.run(run())

    assert job["status"] == "completed"
    assert document["metadata"]["ocr_pages"] == [f"1-{page_count}"]
    assert document["chunk_count"] == page_count
    assert 1 <= at_once <= MAX_PROCESSES
    assert len(seen) >= page_count / PICTURES_PER_PROCESS / 2
    assert largest < 1024**3


def weigh_readers_of_pictures(engine: EngineProgram) -> dict[int, int]:
    """What each takes of memory, by its number."""
    weights = {}
    for process in find_readers(engine, PICTURE_READER):
        with contextlib.suppress(psutil.NoSuchProcess):
            weights[process.pid] = process.memory_info().rss
    return weights
