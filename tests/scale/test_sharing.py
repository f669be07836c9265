"""Several engines and workers on one base, as those who use them see them."""

import asyncio
import io
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import psutil
import psycopg
import pytest
from tests.engine_program import EngineProgram
from tests.pdf_files import make_text_pdf
from tests.reading import PICTURE_READER, find_readers_of
from tests.scale.cluster import Cluster, Host, open_cluster, settings_of
from tests.scanned_pages import write_scan
from tests.servers.postgres import PostgresServer
from tests.servers.seaweedfs import SeaweedFs
from tests.waiting import wait_until

from kb.client import EngineClient, Json

RECOVERED_WITHIN_SECONDS = 30.0


@pytest.fixture(scope="module")
def cluster(
    postgres: PostgresServer, seaweedfs: SeaweedFs, model_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Cluster]:
    database = postgres.create_database()
    settings = settings_of(postgres, database, seaweedfs)
    with open_cluster(tmp_path_factory.mktemp("cluster"), settings, engines=2, workers=2) as cluster:
        yield cluster
    postgres.drop_database(database)


async def found_by(client: EngineClient, query: str) -> list[int]:
    answer = await client.search(query, mode="fts")
    return [hit["document_id"] for hit in answer["results"]]


def test_s5_what_one_engine_was_told_every_other_knows_when_the_call_has_answered(cluster: Cluster) -> None:
    async def run() -> None:
        async with EngineClient(cluster.engines[0].url) as one, EngineClient(cluster.engines[1].url) as other:
            job = await one.wait_for_job((await one.submit_note("The gannet dives for mackerel."))["id"])
            note = job["document_id"]
            for number in range(10):
                await one.update_note(note, f"The gannet dives for mackerel, time gq{number}z.")
                assert await found_by(other, f"gq{number}z") == [note]
                assert await found_by(other, f"gq{number - 1}z") == []
            await other.add_tags(note, ["birds"])
            assert (await one.get_document(note))["tags"] == ["birds"]
            await one.update_document(note, title="Plunging")
            assert await found_by(other, "plunging") == [note]
            await other.delete_document(note)
            assert await found_by(one, "gannet") == []

    asyncio.run(run())


def test_e8_what_a_worker_does_on_one_host_is_told_by_engines_on_others(cluster: Cluster) -> None:
    async def run() -> tuple[Json, bytes]:
        async with (
            asyncio.timeout(60),
            EngineClient(cluster.engines[0].url) as one,
            EngineClient(cluster.engines[1].url) as other,
        ):
            content = make_text_pdf(["The puffin nests in a burrow."])
            job = await one.submit_file(("puffin.pdf", content))
            async for event in other.stream_events(0):
                if event["event"] == "document_added" and event["data"]["filename"] == "puffin.pdf":
                    break
            assert (await other.get_job(job["id"]))["status"] in ("running", "completed")
            return event["data"], await other.get_document_file(event["data"]["id"])

    document, content = asyncio.run(run())

    assert document["format"] == "pdf"
    assert content == make_text_pdf(["The puffin nests in a burrow."])


def test_e24_a_worker_that_is_told_to_stop_leaves_its_job_to_another(cluster: Cluster, tmp_path: Path) -> None:
    scan = write_scan(tmp_path / "nests.pdf", [["The curlew nests on the ground."]] * 3)

    async def run() -> Json:
        async with asyncio.timeout(120), EngineClient(cluster.engines[0].url) as client:
            job = await client.submit_file(scan)
            worker, reader = await asyncio.to_thread(find_reading_worker, cluster)
            # However fast the machine is, it has not finished when it is told to stop.
            reader.suspend()
            assert await asyncio.to_thread(worker.stop) == 0
            worker.start()
            await asyncio.to_thread(worker.wait_until_ready)
            return await client.wait_for_job(job["id"])

    job = asyncio.run(run())

    assert (job["status"], job["attempts"]) == ("completed", 2)


def find_reading_worker(cluster: Cluster) -> tuple[Host, psutil.Process]:
    """The worker that has a picture read, and the process that reads it."""
    found: list[tuple[Host, psutil.Process]] = []

    def is_found() -> bool:
        for worker in cluster.workers:
            readers = find_readers_of(psutil.Process(worker.process.pid), PICTURE_READER)
            found.extend((worker, reader) for reader in readers)
        return bool(found)

    wait_until(is_found, "a worker has a picture read")
    return found[0]


@pytest.mark.parametrize("trouble", ["a restart of the server", "connections that are cut"])
def test_e24_when_the_database_comes_back_everything_goes_on_without_a_restart(
    cluster: Cluster, postgres: PostgresServer, trouble: str
) -> None:
    with cluster.connect(cluster.engines[0]) as http:
        if trouble == "a restart of the server":
            postgres.stop()
            refused = http.post("/jobs", json={"type": "note", "text": "While it is away."})
            searched = http.post("/search", json={"query": "puffin"})
            postgres.start()
            assert (refused.status_code, refused.json()["code"]) == (503, "unavailable")
            assert (searched.status_code, searched.headers["Retry-After"]) == (503, "1")
        else:
            with psycopg.connect(postgres.url(), autocommit=True) as connection:
                connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'kb%'")
        job = submit_when_possible(http, f"Back again after {trouble}.")

    async def finish(job_id: int) -> Json:
        async with asyncio.timeout(60), EngineClient(cluster.engines[1].url) as client:
            return await client.wait_for_job(job_id)

    assert asyncio.run(finish(job["id"]))["status"] == "completed"
    assert all(host.process.poll() is None for host in cluster.hosts)


def submit_when_possible(http: httpx.Client, text: str) -> Json:
    deadline = time.monotonic() + RECOVERED_WITHIN_SECONDS
    while True:
        answer = http.post("/jobs", json={"type": "note", "text": text})
        if answer.status_code == 202:
            job: Json = answer.json()
            return job
        assert answer.status_code == 503, answer.text
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_e21_a_base_moves_to_sqlite_and_back_with_nothing_lost(cluster: Cluster, running_engine: EngineProgram) -> None:
    async def run() -> None:
        async with EngineClient(cluster.engines[0].url) as shared, EngineClient(running_engine.url) as own:
            job = await shared.wait_for_job((await shared.submit_note("A tern flies from pole to pole."))["id"])
            await shared.update_note(job["document_id"], "A tern flies from pole to pole and back.")
            await shared.add_tags(job["document_id"], ["birds"])
            there, back = io.BytesIO(), io.BytesIO()
            await shared.export_bundle(there)
            there.seek(0)
            arrived = await own.import_bundle(there)
            await own.export_bundle(back)
            back.seek(0)
            returned = await shared.import_bundle(back)
            (note,) = [one for one in (await own.list_documents(q="A tern flies"))["documents"]]
            revisions = await own.list_revisions(note["id"])
            hits = await own.search("a tern that flies from pole to pole", mode="vector")

        assert (arrived["documents_added"] > 0, arrived["reindexing"]) == (True, False)
        assert returned["documents_unchanged"] >= arrived["documents_added"]
        assert note["tags"] == ["birds"]
        assert [one["text"] for one in revisions["revisions"]] == [
            "A tern flies from pole to pole and back.",
            "A tern flies from pole to pole.",
        ]
        assert note["id"] in [hit["document_id"] for hit in hits["results"]]

    asyncio.run(run())
