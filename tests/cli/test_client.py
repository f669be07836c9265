import asyncio
import io
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

import httpx
import pytest
from tests.cli.conftest import Pretend
from tests.engine_program import EngineProgram

from kb.client import EngineClient, EngineTooOld, Json, NamedFile, NotAnEngine
from kb.engine.api.app import create_routes

Answer = TypeVar("Answer")


def call(engine: EngineProgram, work: Callable[[EngineClient], Awaitable[Answer]]) -> Answer:
    async def run() -> Answer:
        async with EngineClient(engine.url) as client:
            return await work(client)

    return asyncio.run(run())


async def add_note(client: EngineClient, text: str) -> Json:
    job = await client.submit_note(text, tags=["first", "second"], metadata={"pages": 2})
    finished = await client.wait_for_job(job["uuid"])
    return await client.get_document(finished["document_id"])


def test_there_is_a_method_for_every_route() -> None:
    """M24"""
    named_otherwise = {"submit_job": "submit_note", "events": "stream_events"}
    paths = create_routes().openapi()["paths"]
    operations = [operation for path in paths if path.startswith("/api/v1") for operation in paths[path].values()]
    routes = [operation["operationId"] for operation in operations]

    missing = [name for name in routes if not hasattr(EngineClient, named_otherwise.get(name, name))]

    assert missing == []
    assert len(routes) >= 19


def test_a_client_can_look_after_a_base(running_engine: EngineProgram) -> None:
    """M24, E18, E20, E21"""

    async def work(client: EngineClient) -> tuple[Json, Json, Json, Json, Json, str]:
        note = await add_note(client, "A bittern hides in the reeds")
        await client.update_note(note["id"], "The bittern has flown")
        revisions = await client.list_revisions(note["id"], limit=1, offset=1)
        reverted = await client.revert_note(note["id"], 1, expected_version=2)
        audit = await client.list_audit_log(document_id=note["id"], limit=1)
        job = await client.wait_for_job((await client.reindex())["id"])
        return revisions, reverted, audit, job, await client.check_integrity(), await client.get_metrics()

    revisions, reverted, audit, job, integrity, metrics = call(running_engine, work)

    assert [one["text"] for one in revisions["revisions"]] == ["A bittern hides in the reeds"]
    assert (reverted["text"], reverted["version"]) == ("A bittern hides in the reeds", 3)
    assert [entry["action"] for entry in audit["entries"]] == ["note_rewritten"]
    assert (job["type"], job["status"]) == ("reindex", "completed")
    assert integrity["status"] == "ok"
    assert "kb_documents " in metrics


def test_a_note_lives_through_every_change(running_engine: EngineProgram) -> None:
    async def work(client: EngineClient) -> tuple[Json, bytes, Json, Json]:
        note = await add_note(client, "A heron stands in the reeds")
        number, version = note["id"], note["version"]
        await client.change_tags(number, add=["third"], remove=["first"], expected_version=version)
        await client.remove_tag(number, "second")
        await client.add_tags(number, ["a/b?c#d"])
        await client.remove_tag(number, "a/b?c#d")
        await client.update_note(number, "The heron has flown", title="Heron")
        await client.update_document(number, metadata={"pages": 3})
        changed = await client.get_document(number, chunks=False)
        file = await client.get_document_file(number)
        replaced = await client.replace_tags(number, [])
        return changed, file, replaced, await client.delete_document(note["uuid"])

    changed, file, replaced, deleted = call(running_engine, work)

    assert (changed["title"], changed["tags"], changed["metadata"]) == ("Heron", ["third"], {"pages": 3})
    assert "chunks" not in changed
    assert file == b"The heron has flown"
    assert replaced["tags"] == []
    assert deleted["status"] == "deleted"


def test_what_is_deleted_is_missing_and_the_error_passes_through(running_engine: EngineProgram) -> None:
    async def work(client: EngineClient) -> Json:
        note = await add_note(client, "Soon gone")
        await client.delete_document(note["id"])
        return await client.delete_document(note["id"])

    with pytest.raises(httpx.HTTPStatusError) as caught:
        call(running_engine, work)

    assert caught.value.response.json()["code"] == "document_not_found"


def test_a_change_to_another_version_is_refused(running_engine: EngineProgram) -> None:
    async def work(client: EngineClient) -> Json:
        note = await add_note(client, "Version one")
        return await client.update_note(note["id"], "Version ten", expected_version=9)

    with pytest.raises(httpx.HTTPStatusError) as caught:
        call(running_engine, work)

    assert caught.value.response.status_code == 412


def test_an_id_cannot_lead_to_another_route(running_engine: EngineProgram) -> None:
    async def work(client: EngineClient) -> Json:
        note = await add_note(client, "Guarded by its id")
        return await client.delete_document(f"{note['id']}/tags/first")

    with pytest.raises(httpx.HTTPStatusError) as caught:
        call(running_engine, work)

    assert caught.value.response.status_code in {404, 422}


@pytest.mark.parametrize("kind", ["path", "bytes", "open file"])
def test_a_file_is_sent_from_where_it_is(running_engine: EngineProgram, tmp_path: Path, kind: str) -> None:
    content = f"Sent as {kind}: żółw".encode()
    path = tmp_path / "żółw 🐢.txt"
    path.write_bytes(content)
    sources: dict[str, Path | NamedFile] = {
        "path": path,
        "bytes": (path.name, content),
        "open file": (path.name, io.BytesIO(content)),
    }

    async def work(client: EngineClient) -> tuple[Json, bytes]:
        job = await client.submit_file(sources[kind], title="Turtle", tags=["a", "b"], metadata={"n": 1})
        finished = await client.wait_for_job(job["id"])
        document = await client.get_document(finished["document_id"])
        return document, await client.get_document_file(document["id"])

    document, original = call(running_engine, work)

    assert (document["filename"], document["title"], document["tags"]) == (path.name, "Turtle", ["a", "b"])
    assert document["metadata"] == {"n": 1}
    assert original == content


def test_repeating_a_submission_with_its_key_makes_no_second_job(running_engine: EngineProgram) -> None:
    async def work(client: EngineClient) -> tuple[Json, Json]:
        first = await client.submit_note("Once only", idempotency_key="only-once")
        return first, await client.submit_note("Once only", idempotency_key="only-once")

    first, second = call(running_engine, work)

    assert first["id"] == second["id"]


def test_waiting_tells_each_state_and_ends_with_the_last(running_engine: EngineProgram) -> None:
    seen: list[Json] = []

    async def work(client: EngineClient) -> Json:
        job = await client.submit_note("Watched all the way")
        return await client.wait_for_job(job["id"], on_progress=seen.append)

    finished = call(running_engine, work)

    assert finished["status"] == "completed"
    assert seen[-1] == finished


def test_lists_jobs_tags_and_health_are_answered(running_engine: EngineProgram) -> None:
    async def work(client: EngineClient) -> tuple[Json, Json, Json, Json, Json]:
        note = await add_note(client, "A listed albatross")
        listed = await client.list_documents(tags=["first", "second"], q="albatross", sort="title", limit=5)
        found = await client.search("albatross", filters={"metadata": {"pages": 2}}, group_by="document")
        assert found["results"][0]["document_id"] == note["id"]
        jobs = await client.list_jobs(status="completed", limit=1)
        return listed, jobs, await client.list_tags(), await client.check_live(), await client.check_ready()

    listed, jobs, tags, live, ready = call(running_engine, work)

    assert [document["title"] for document in listed["documents"]] == ["A listed albatross"]
    assert len(jobs["jobs"]) == 1
    assert {"first", "second"} <= {tag["name"] for tag in tags["tags"]}
    assert (live["status"], ready["status"]) == ("live", "ready")


def test_w1_a_new_document_is_soon_on_the_map_and_whoever_listens_is_told(running_engine: EngineProgram) -> None:
    """E8: the worker makes the map when there is nothing else to do."""

    async def work(client: EngineClient) -> tuple[Json, Json]:
        note = await add_note(client, "A mapped albatross")
        async with asyncio.timeout(60):
            async for event in client.stream_events(last_event_id=0):
                found = await client.get_map(limit=50_000) if event["event"] == "map_changed" else {"documents": []}
                if note["id"] in [one["id"] for one in found["documents"]]:
                    return note, found
        raise AssertionError("The events ended.")

    note, found = call(running_engine, work)

    assert found["total"] >= found["placed"] >= len(found["documents"]) > 0
    (placed,) = [one for one in found["documents"] if one["id"] == note["id"]]
    assert max(abs(placed["x"]), abs(placed["y"])) <= 1


def test_a_finished_job_can_neither_be_cancelled_nor_retried(running_engine: EngineProgram) -> None:
    async def work(client: EngineClient) -> list[str]:
        job = await client.submit_note("Finished")
        await client.wait_for_job(job["id"])
        codes = []
        for attempt in (client.cancel_job, client.retry_job):
            with pytest.raises(httpx.HTTPStatusError) as caught:
                await attempt(job["id"])
            codes.append(caught.value.response.json()["code"])
        return codes

    codes = call(running_engine, work)

    assert codes[0] == "job_finished"


def test_a_job_that_is_to_forget_cannot_be_retried(running_engine: EngineProgram) -> None:
    """E7"""

    async def work(client: EngineClient) -> tuple[Json, httpx.Response]:
        job = await client.submit_file(("blank.txt", b" "))
        await client.wait_for_job(job["id"])
        forgotten = await client.cancel_job(job["id"], forget=True)
        with pytest.raises(httpx.HTTPStatusError) as caught:
            await client.retry_job(job["id"])
        return forgotten, caught.value.response

    forgotten, refused = call(running_engine, work)

    assert (forgotten["status"], forgotten["filename"]) == ("failed", "blank.txt")
    assert (refused.status_code, refused.json()["code"]) == (409, "job_finished")


def test_everything_is_cleared_only_with_the_exact_phrase(running_engine: EngineProgram) -> None:
    with pytest.raises(httpx.HTTPStatusError) as caught:
        call(running_engine, lambda client: client.clear_documents(confirm=True, confirmation_phrase="delete all"))

    assert caught.value.response.json()["code"] == "confirmation_required"


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b'{"version": "2.9.9"}', EngineTooOld),
        (b'{"version": "soon"}', EngineTooOld),
        (b"{}", NotAnEngine),
        (b"<html>", NotAnEngine),
        (b"[" * 100_000, NotAnEngine),
    ],
)
def test_an_engine_of_no_use_is_refused(pretend: Pretend, body: bytes, error: type[Exception]) -> None:
    """E26"""
    url = pretend(200, body)

    async def work() -> None:
        async with EngineClient(url) as client:
            await client.require_supported_engine()

    with pytest.raises(error):
        asyncio.run(work())


@pytest.mark.parametrize("version", ["3.0.0", "3.0.1rc1", "3.10.0", "12.0"])
def test_this_version_and_newer_ones_are_accepted(pretend: Pretend, version: str) -> None:
    url = pretend(200, f'{{"version": "{version}"}}'.encode())

    async def work() -> None:
        async with EngineClient(url) as client:
            await client.require_supported_engine()

    asyncio.run(work())


@pytest.mark.parametrize("tag", ["..", ".", "a/b", "100%", "?x#y", "new\nline", "🦫"])
def test_a_tag_of_any_shape_is_removed_and_nothing_else(running_engine: EngineProgram, tag: str) -> None:
    """E16: `DELETE .../tags/..` would be `DELETE .../`, the document itself."""

    async def work(client: EngineClient) -> tuple[Json, Json]:
        note = await add_note(client, "A note with an odd tag.")
        added = await client.add_tags(note["id"], [tag])
        return added, await client.remove_tag(note["id"], tag)

    added, removed = call(running_engine, work)

    assert added["tags"] == ["first", "second", tag]
    assert removed["tags"] == ["first", "second"]


@pytest.mark.parametrize("odd_id", ["..", ".", "1/tags/x", "../jobs"])
def test_an_odd_id_leads_to_no_other_route(running_engine: EngineProgram, odd_id: str) -> None:
    with pytest.raises(httpx.HTTPStatusError) as failure:
        call(running_engine, lambda client: client.delete_document(odd_id))

    assert failure.value.response.status_code in (404, 422)
