"""A long PDF on its way through engine, worker and reader: three processes, and each page is told of."""

import asyncio
from pathlib import Path

from tests.engine_program import EngineProgram
from tests.following_jobs import find_page, follow_job, newest_event, wait_until_no_reader_is_left
from tests.pdf_files import make_text_pdf

from kb.client import EngineClient, Json


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


def test_i4_a_long_pdf_tells_of_its_pages_and_leaves_nothing_when_it_is_cancelled(
    running_engine: EngineProgram, tmp_path: Path
) -> None:
    path = write_pdf(tmp_path / "terns.pdf", page_count=1_000, sentences_a_page=30)

    async def run() -> tuple[list[Json], Json, Json]:
        async with asyncio.timeout(120), EngineClient(running_engine.url) as client:
            after = await newest_event(client)
            job = await client.submit_file(path)
            told = await follow_job(client, job, after, cancel_at_page=60)
            found = await client.search("tern colony 1001")
            listed = await client.list_documents(q="Terns on 1000 pages")
            return told, found, listed

    told, found, listed = asyncio.run(run())

    pages = [page for page in map(find_page, told) if page]
    assert pages == sorted(pages)
    # They are told a few times a second, however many were read meanwhile.
    assert len(set(pages)) >= min(5, told[-1]["elapsed_seconds"])
    assert 60 <= pages[-1] < 1_000
    assert told[-1]["status"] == "cancelled"
    running = [job for job in told if job["status"] == "running" and find_page(job) > 1]
    assert all(job["estimated_remaining_seconds"] > 0 for job in running)
    assert listed["total"] == 0
    assert not any(hit["filename"] == "terns.pdf" for hit in found["results"])
    wait_until_no_reader_is_left(running_engine)


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
